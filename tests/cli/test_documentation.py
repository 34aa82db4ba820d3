"""Every page of the documentation: its links work, and its commands have valid options."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest

import promptls
from promptls.cli.arguments import Parser
from promptls.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("examples/*/README.md"),
    ROOT / "server" / "ARCHITECTURE.md",
    ROOT / "vscode-client" / "README.md",
]
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def _names(paths: list[Path]) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _commands(text: str) -> list[str]:
    """Return the commands in shell blocks that can be parsed as they are."""
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [re.split(r"\s+#\s| [|<>] ", line)[0].strip() for line in lines if line.startswith("promptls ")]


@pytest.mark.parametrize("name", _names(PAGES))
def test_the_links_of_each_page_lead_somewhere(name: str) -> None:
    page = ROOT / name
    broken = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", _FENCED.sub("", page.read_text("utf-8"))):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("name", _names(PAGES))
def test_the_commands_of_each_page_are_valid(name: str) -> None:
    for command in _commands((ROOT / name).read_text("utf-8")):
        _, subcommand, *words = shlex.split(command)
        assert subcommand in COMMANDS, command
        parser = Parser(prog=f"promptls {subcommand}")
        importlib.import_module(f"promptls.cli.commands.{subcommand}").add_arguments(parser)
        parser.parse_args(words)  # raises UsageError for anything else


def test_the_navigation_of_the_site_has_every_page() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2].partition("\nhooks:")[0]
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    assert pages - set(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)) == set()


def test_the_table_of_extras_has_every_extra_of_a_user() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = project.partition("[project.optional-dependencies]")[2].partition("[project.scripts]")[0]
    declared = re.findall(r"^(\w+) = \[", extras, re.MULTILINE)
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "install.md").read_text("utf-8"), re.MULTILINE)
    assert set(listed) == set(declared) - {"dev", "docs"}


def test_the_page_of_the_python_api_has_every_public_name() -> None:
    listed = re.findall(r"^::: promptls\.(\w+)$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE)
    assert set(listed) == set(promptls.__all__) - {"RAGAS_CACHE_HOME", "__version__"}
