"""Cases of rules in Markdown: a heading for each case, and below it the text with its expected findings.

`tests/lint/README.md` describes the format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from promptls.lint.registry import RULES
from support.fixture import MAIN, SAVED, check_findings, check_fix

LINT = Path(__file__).resolve().parents[1] / "lint"
_LANGUAGES = frozenset({"yaml", "json", "diff"})
_NAMES = frozenset(rule.name for rule in RULES)
_HEADING = re.compile(r"(#+) (.*)")
_FENCE = re.compile(r"(`{3,})(\w+)( crlf)?$")
_NO_FIX = "No fix is offered."


class Block(NamedTuple):
    """A fenced block: its language, its text, and the last line of prose ahead of it."""

    language: str
    text: str
    above: str


@dataclass(frozen=True)
class Case:
    """One heading with its blocks. `rule` is the one that the file is about, if it is about one."""

    name: str
    rule: str | None
    blocks: tuple[Block, ...]
    offers_fix: bool


def cases_in(path: Path) -> list[Case]:
    """Return the cases of a Markdown file."""
    rule = path.stem if path.stem in _NAMES else None
    found: list[Case] = []
    lines = iter(path.read_text("utf-8").splitlines())
    headings: list[str] = []
    blocks: list[Block] = []
    prose: list[str] = []

    def end() -> None:
        if blocks:
            name = " / ".join([path.stem, *headings[1:]])
            found.append(Case(name, rule, tuple(blocks), _NO_FIX not in prose))
        blocks.clear()
        prose.clear()

    for line in lines:
        if heading := _HEADING.match(line):
            end()
            headings[len(heading[1]) - 1 :] = [heading[2]]
        elif fence := _FENCE.match(line):
            text = []
            while (inside := next(lines)) != fence[1]:
                text.append(inside)
            ending = "\r\n" if fence[3] else "\n"
            above = prose[-1] if prose else ""
            if fence[2] in _LANGUAGES:
                blocks.append(Block(fence[2], "".join(each + ending for each in text), above))
        elif line:
            prose.append(line)
    end()
    return found


def all_cases() -> list[Case]:
    """Return the cases of all files below `tests/lint`."""
    return [case for path in sorted(LINT.rglob("*.md")) for case in cases_in(path)]


def check_case(case: Case, root: Path) -> None:
    """Assert that each block has the findings that are marked, and that the fix between two works."""
    fixtures = [fixture_of(block) for block in case.blocks]
    for fixture in fixtures:
        check_findings(fixture, root=root, hints=case.rule, fixable=case.offers_fix)
    for before, after, block in zip(fixtures, fixtures[1:], case.blocks[1:], strict=False):
        title = block.above.removesuffix(":")
        check_fix(before, after, None if title == "Fixed" else title, root=root, rule=case.rule)


def fixture_of(block: Block) -> str:
    """Return the files of a block as a fixture."""
    if block.language == "diff":
        return _planted(block.text)
    if block.language == "json":
        return f"-- {SAVED} --\n{block.text}"
    return block.text if block.text.startswith("-- ") else f"-- {MAIN} --\n{block.text}"


def _planted(diff: str) -> str:
    """Return the first template of the README with the lines of `diff` changed, and with its marks."""
    rest = cases_in(LINT / "README.md")[0].blocks[0].text.splitlines(keepends=True)
    made: list[str] = []
    for line in diff.splitlines(keepends=True):
        sign, text = line[0], line[1:]
        if sign == "+" or text.lstrip().startswith("^"):
            made.append(text)
            continue
        at = rest.index(text)
        made += rest[: at + (sign == " ")]
        rest = rest[at + 1 :]
    return "".join([*made, *rest])
