"""Each fix that a case offers takes its finding away, breaks nothing, and the file still renders."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import Finding, Fix
from promptls.lint.runner import RENDERING_RULES
from promptls.rendering.make import RENDERED_KINDS
from promptls.text.errors import UserError
from promptls.tokens import UnknownEncodingError
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace
from support.fixture import MAIN, found_in, opened
from support.rendered import rendered
from support.rule_cases import Case, all_cases, fixture_of

SYNTAX = frozenset({"jinja-syntax", "yaml-syntax"})
NEEDS_RENDERING = frozenset(rule.name for rule in RENDERING_RULES)
CASES = [case for case in all_cases() if case.rule and case.offers_fix]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_offered_fix_solves_its_problem(case: Case, tmp_path: Path) -> None:
    for index, block in enumerate(case.blocks):
        check_fixes(fixture_of(block), case.rule or "", tmp_path / str(index))


def check_fixes(fixture: str, rule: str, root: Path) -> None:
    snapshot, files = opened(fixture, root)
    if MAIN not in files:
        return
    path = str(root / MAIN)
    with_rendering = rule in NEEDS_RENDERING
    before = found_in(snapshot, path, with_rendering=with_rendering)
    for finding in before:
        for fix in finding.fixes if finding.rule == rule else ():
            text = applied(files[MAIN].text, fix)
            after = edited(fixture, files[MAIN].text, text, root)
            found = found_in(after, path, with_rendering=with_rendering)
            line = files[MAIN].text.count("\n", 0, finding.span.start)
            is_gone = same(found, finding) < same(before, finding) or not any(
                (each.rule, each.message) == (finding.rule, finding.message)
                and text.count("\n", 0, each.span.start) == line
                for each in found
            )
            assert is_gone, (finding.message, fix.title, text)
            assert rule in SYNTAX or broken(found) <= broken(before), (fix.title, text, found)
            if text.strip() and renders(snapshot, path):
                assert renders(after, path), (fix.title, text)


def applied(text: str, fix: Fix) -> str:
    for edit in sorted(fix.edits, key=lambda edit: edit.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def edited(fixture: str, old: str, new: str, root: Path) -> Snapshot:
    snapshot, _ = opened(fixture, root)
    workspace = Workspace([root])
    for path, each in snapshot.open_files.items():
        text = each.template.source.text
        workspace.open(path, new if text == old else text, 1)
    if any(root.rglob("*.py")):
        workspace.scan_calls()
    return workspace.snapshot


def same(findings: list[Finding], finding: Finding) -> int:
    return sum((each.rule, each.message) == (finding.rule, finding.message) for each in findings)


def broken(findings: list[Finding]) -> int:
    return sum(each.rule in SYNTAX for each in findings)


def renders(snapshot: Snapshot, path: str) -> bool:
    if snapshot.kind(path) not in RENDERED_KINDS:
        return False
    try:
        return rendered(snapshot, path).rendering is not None
    except (UserError, UnknownEncodingError):  # the file names a sample or an encoding that there is not
        return False
