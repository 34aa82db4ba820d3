"""Extend the documentation site by pages from other folders, and by the reference of the commands.

A hook of MkDocs, named in `mkdocs.yml`.
"""

from __future__ import annotations

import argparse
import posixpath
import re
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from promptls.cli.arguments import Parser

ROOT: Final = Path(__file__).resolve().parents[1]
ELSEWHERE: Final = {
    "architecture.md": "server/ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "code-of-conduct.md": "CODE_OF_CONDUCT.md",
    "contributing.md": "CONTRIBUTING.md",
    "example.md": "examples/support_triage/README.md",
    "security-policy.md": "SECURITY.md",
}
"""Pages of the site that are not in `docs/`, and their files."""

_ITEM: Final = re.compile(r"\d+\. ")
_CODE: Final = re.compile(r"`[^`]*`")
_SPAN: Final = re.compile(r"`[^`]*`|(?P<option>(?<!\w)--[a-z][a-z-]*)|<")
COMMANDS_MARK: Final = "<!-- the commands -->"
# Fenced blocks come first, so that links in them are left alone.
_LINK: Final = re.compile(
    r"^ *(?P<fence>`{3,}).*?^ *(?P=fence) *$"
    r"|(?P<label>!?\[[^\]]*\])\((?!\w+:|#)(?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)",
    re.DOTALL | re.MULTILINE,
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from other folders."""
    for uri, path in ELSEWHERE.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adapt the links of a page to the site, and fill in the commands."""
    del files
    uri = page.file.src_uri
    folder = posixpath.dirname(ELSEWHERE.get(uri, f"docs/{uri}"))

    def adapted(link: re.Match[str]) -> str:
        if link["fence"]:
            return link[0]
        target = posixpath.normpath(posixpath.join(folder, link["path"]))
        at = _site_uri(target)
        if at is not None:
            path = posixpath.relpath(at, posixpath.dirname(uri) or ".")
        elif not (ROOT / target).exists():
            return link[0]  # MkDocs reports it
        elif config.repo_url:
            path = f"{config.repo_url.rstrip('/')}/blob/main/{target}"
        else:
            return link["label"].strip("[]")
        return f"{link['label']}({path}{link['anchor'] or ''})"

    adapted_page = nested(_LINK.sub(adapted, markdown))
    filled = adapted_page.replace(COMMANDS_MARK, _commands() if COMMANDS_MARK in markdown else "")
    return plain_pipes(filled)


def plain_pipes(markdown: str) -> str:
    """Return the page without the backslash before a `|` in the code of a table, which GitHub needs."""
    return "\n".join(
        _CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line
        for line in markdown.splitlines()
    )


def nested(markdown: str) -> str:
    """Indent what belongs to an item of a numbered list by four columns, where GitHub needs only three."""
    lines = []
    in_list = in_fence = False
    for line in markdown.splitlines():
        in_fence ^= line.startswith("```")
        if line and not line.startswith("   "):
            in_list = not in_fence and _ITEM.match(line) is not None
        lines.append(f" {line}" if in_list and line.startswith("   ") else line)
    return "\n".join(lines)


def _site_uri(path: str) -> str | None:
    """Return the site's path of a file of the repository; None if the site does not contain it."""
    uri = next((uri for uri, file in ELSEWHERE.items() if file == path), path.removeprefix("docs/"))
    return uri if uri != path and not (ROOT / path).is_dir() else None


def _commands() -> str:
    """Return every command with its description and options, from the declarations of its parser."""
    from promptls.cli.main import COMMANDS, parser_of

    return "\n\n".join(_command(name, parser_of(name)) for name in COMMANDS)


def _command(name: str, parser: Parser) -> str:
    said, _, rest = (parser.description or "").partition("\n\nexamples:\n")
    examples, _, codes = rest.partition("\n\n")
    usage = parser.format_usage().removeprefix("usage: ").strip()
    blocks = [
        f"## promptls {name}",
        prose(said),
        f"```text\n{re.sub(r' {2,}', '  ', usage)}\n```",
    ]
    if examples:
        blocks.append(f"```sh\n{commented(examples)}\n```")
    if codes:
        blocks.append(codes[0].upper() + codes[1:] + ".")
    options = [
        f"| {_names(action)} | {_cell(str(action.help or '') % _values(action))} |"
        for action in parser.declared()
        if action.help != argparse.SUPPRESS and action.dest != "help"
    ]
    if options:
        blocks.append("| option | effect |\n| --- | --- |\n" + "\n".join(options))
    return "\n\n".join(blocks)


def commented(examples: str) -> str:
    """Return the examples of a command for a shell, with their explanations as comments."""
    lines = (line.removeprefix("  ") for line in examples.splitlines())
    return "\n".join(re.sub(r"(?<=\S)( {2,})(?=\S)", r"\1# ", line) for line in lines)


def prose(text: str) -> str:
    """Return a description in Markdown: indented lines as blocks of code, and options as code."""
    blocks = []
    for is_code, lines in groupby(text.splitlines(), key=lambda line: line.startswith("  ")):
        block = "\n".join(lines)
        blocks.append(f"```text\n{dedent(block)}\n```" if is_code else _SPAN.sub(_as_code, block))
    return "\n\n".join(blocks)


def _as_code(span: re.Match[str]) -> str:
    if span[0] == "<":
        return "&lt;"
    return f"`{span[0]}`" if span["option"] else span[0]


def _names(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else None
    if value is None and action.choices:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    if value is None and action.nargs != 0:
        value = action.dest.upper()
    names = ", ".join(action.option_strings)
    words = " ".join(filter(None, (names, value if action.nargs != 0 else "")))
    return f"`{words}`".replace("|", "\\|")


def _values(action: argparse.Action) -> dict[str, object]:
    return {**vars(action), "prog": "promptls"}


def _cell(text: str) -> str:
    return _SPAN.sub(_as_code, text).replace("|", "\\|").replace("\n", " ")
