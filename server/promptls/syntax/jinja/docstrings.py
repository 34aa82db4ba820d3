"""Docstrings of jinja2 in Markdown. Its marks are those of reStructuredText, and few."""

from __future__ import annotations

import inspect
import re
from typing import Final

_ROLE: Final = re.compile(r":\w+:`(?:([^`<]*?)\s*<[^`>]*>|~?[\w.-]*?\.?([\w-]+(?:\(\))?))`")
_LITERAL: Final = re.compile(r"``([^`]+)``")
_LINK: Final = re.compile(r"`([^`<]+?)\s*(?:<[^>]*>)?`_+")
_CODE: Final = re.compile(r"\.\. (?:sourcecode|code-block|code)::\s*(\S*)\s*$")
_DIRECTIVE: Final = re.compile(r"\.\. ")
_FIELD: Final = re.compile(r":(?:param (?:[\w.]+ )?(?P<name>\w+)|returns?|raises \w+):\s*(?P<text>.*)$")
_BULLET: Final = re.compile(r"[-*]\s+")
_LANGUAGES: Final = {"jinja": "jinja", "html+jinja": "jinja", "python": "python", "pycon": "python"}


def markdown(docstring: str | None) -> str:
    """The docstring in Markdown, without its notes on versions; empty for none."""
    if not docstring:
        return ""
    blocks = _blocks(inspect.cleandoc(docstring).splitlines())
    return "\n\n".join(block for block in blocks if block)


def _blocks(lines: list[str]) -> list[str]:
    blocks: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        code = _CODE.match(line)
        if code:
            body, index = _indented(lines, index + 1)
            language = _LANGUAGES.get(code[1], "")
            blocks.append(f"```{language}\n" + "\n".join(body) + "\n```")
        elif _DIRECTIVE.match(line):
            _, index = _indented(lines, index + 1)
        elif not line.strip():
            index += 1
        elif field := _FIELD.match(line):
            rest, index = _indented(lines, index + 1, blank=False)
            words = " ".join([field["text"], *(each.strip() for each in rest)]).strip()
            item = f"- `{field['name']}`: {_inline(words)}" if field["name"] else _inline(words)
            if field["name"] and blocks and blocks[-1].startswith("- `"):
                blocks[-1] += f"\n{item}"
            else:
                blocks.append(item)
        else:
            paragraph, index = _paragraph(lines, index)
            blocks.append(paragraph)
    return blocks


def _paragraph(lines: list[str], index: int) -> tuple[str, int]:
    begin = index
    while index < len(lines) and lines[index].strip() and not _DIRECTIVE.match(lines[index]):
        if index > begin and _FIELD.match(lines[index]):
            break
        index += 1
    taken = lines[begin:index]
    if _BULLET.match(taken[0]):
        return "\n".join(_inline(each) for each in taken), index
    text = " ".join(each.strip() for each in taken)
    if text.endswith("::"):
        text = text[:-1]
        body, index = _indented(lines, index)
        return f"{_inline(text)}\n\n```\n" + "\n".join(body) + "\n```", index
    return _inline(text), index


def _indented(lines: list[str], index: int, *, blank: bool = True) -> tuple[list[str], int]:
    """The lines from `index` on that are indented, without the indentation, and what follows them."""
    taken: list[str] = []
    while index < len(lines) and (
        lines[index].startswith((" ", "\t")) or (blank and not lines[index].strip())
    ):
        taken.append(lines[index])
        index += 1
    return inspect.cleandoc("\n".join(["", *taken])).strip("\n").splitlines(), index


def _inline(text: str) -> str:
    text = _ROLE.sub(lambda found: f"`{found[1] or found[2]}`", text)
    text = _LITERAL.sub(lambda found: f"`{found[1]}`", text)
    return _LINK.sub(lambda found: found[1], text)
