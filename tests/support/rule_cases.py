"""Cases of rules in Markdown: a heading for each case, and below it the text with its expected findings.

`tests/lint/README.md` describes the format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from promptls.lint.registry import RULES
from promptls.lint.rule import Finding, Fix
from promptls.lint.runner import RENDERING_RULES
from promptls.rendering.make import RENDERED_KINDS
from promptls.text.errors import UserError
from promptls.tokens import UnknownEncodingError
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace
from support.fixture import MAIN, SAVED, check_findings, found_in, parse
from support.rendered import rendered

LINT = Path(__file__).resolve().parents[1] / "lint"
_LANGUAGES = frozenset({"yaml", "json", "diff"})
_NAMES = frozenset(rule.name for rule in RULES)
_HEADING = re.compile(r"(#+) (.*)")
_FENCE = re.compile(r"(`{3,})(\w+)( crlf)?$")
_NO_FIX = "No fix is offered."
_ALL = "All fixed"
_SYNTAX = frozenset({"jinja-syntax", "yaml-syntax"})


class Block(NamedTuple):
    """A fenced block: its language, its text, and the last line of prose before it."""

    language: str
    text: str
    above: str


@dataclass(frozen=True)
class Case:
    """One heading with its blocks. `rule` is the subject of the file, if it has one."""

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
    """Assert that each block has the marked findings, and that every fix works.

    The next block is the text after a fix.
    """
    with_rendering = any(rule.name == case.rule for rule in RENDERING_RULES)
    for index, block in enumerate(case.blocks):
        fixture = fixture_of(block)
        snapshot = check_findings(fixture, root=root, hints=case.rule, fixable=case.offers_fix)
        name = SAVED if str(root / SAVED) in snapshot.open_files else MAIN
        path = str(root / name)
        template = snapshot.template(path)
        if template is None or not case.offers_fix:
            continue
        found = found_in(snapshot, path, with_rendering=with_rendering)
        offered = [
            (finding, fix) for finding in found if case.rule in {None, finding.rule} for fix in finding.fixes
        ]
        if index + 1 < len(case.blocks):
            following = case.blocks[index + 1]
            title = following.above.removesuffix(":")
            fixes = [fix for _, fix in offered if title in {"Fixed", fix.title}]
            if title == _ALL:
                firsts = dict(reversed(offered))
                fixes = [Fix(title, tuple(edit for fix in firsts.values() for edit in fix.edits))]
            assert fixes, "no fix is offered"
            assert _applied(template.source.text, fixes[0]) == parse(fixture_of(following))[name].text
        if case.rule and name == MAIN:
            for finding, fix in offered:
                _check_fix(snapshot, path, finding, fix, found, with_rendering=with_rendering)


def _check_fix(
    snapshot: Snapshot, path: str, finding: Finding, fix: Fix, before: list[Finding], *, with_rendering: bool
) -> None:
    """Assert that a fix removes its finding, causes no errors, and that the file still renders."""
    old = snapshot.open_files[path].template.source.text
    text = _applied(old, fix)
    after = _edited(snapshot, old, text)
    found = found_in(after, path, with_rendering=with_rendering)
    line = old.count("\n", 0, finding.span.start)
    is_gone = _same(found, finding) < _same(before, finding) or not any(
        (each.rule, each.message) == (finding.rule, finding.message)
        and text.count("\n", 0, each.span.start) == line
        for each in found
    )
    assert is_gone, (finding.message, fix.title, text)
    assert finding.rule in _SYNTAX or _broken(found) <= _broken(before), (fix.title, text, found)
    if text.strip() and not _renders(after, path):
        assert not _renders(snapshot, path), (fix.title, text)


def _applied(text: str, fix: Fix) -> str:
    for edit in sorted(fix.edits, key=lambda edit: edit.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def _edited(snapshot: Snapshot, old: str, new: str) -> Snapshot:
    roots = [Path(root) for root in snapshot.roots]
    workspace = Workspace(roots)
    for path, each in snapshot.open_files.items():
        text = each.template.source.text
        workspace.open(path, new if text == old else text, 1)
    if any(next(root.rglob("*.py"), None) for root in roots):
        workspace.scan_calls()
    return workspace.snapshot


def _same(findings: list[Finding], finding: Finding) -> int:
    return sum((each.rule, each.message) == (finding.rule, finding.message) for each in findings)


def _broken(findings: list[Finding]) -> int:
    return sum(each.rule in _SYNTAX for each in findings)


def _renders(snapshot: Snapshot, path: str) -> bool:
    if snapshot.kind(path) not in RENDERED_KINDS:
        return False
    try:
        return rendered(snapshot, path).rendering is not None
    except (UserError, UnknownEncodingError):  # the file names a sample or an encoding that there is not
        return False


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
