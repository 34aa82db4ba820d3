"""Run the rules on a file and collect its findings."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from promptls.facts.reads import Question, recording
from promptls.lint.analysis.suppression import silenced, silenced_names
from promptls.lint.fixes.text import json_fixes
from promptls.lint.registry import RULES
from promptls.lint.rule import File, Finding, Rule, Severity
from promptls.semantic.kind import Kind
from promptls.settings.project import Project
from promptls.syntax.chunk_list import Memo, Step
from promptls.syntax.facts import is_unchanged, summary
from promptls.syntax.language import Host
from promptls.text.packed import is_json_file
from promptls.text.positions import Span
from promptls.workspace.disk import has_prompt_name
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary
    from promptls.rendering.file_rendering import FileRendering

_LOG: Final = logging.getLogger(__name__)
_CONFLICT: Final = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)
_has_conflict: Final = summary(lambda chunk: _CONFLICT.search(chunk.text) is not None, any)
"""Whether a merge conflict is to be resolved, so that no fix can know what is meant."""
_UNUSED: Final = "invalid-suppression"
_SYNTAX: Final = frozenset({"jinja-syntax", "yaml-syntax", "invalid-header"})

RENDERING_RULES: Final = tuple(rule for rule in RULES if rule.needs == "rendering")
"""The rules that look at renderings."""
RUN_RULES: Final = tuple(rule for rule in RULES if rule.needs == "runs")
"""The rules that look at runs."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The rules for files of one kind under one project's settings, each with its severity.

    Two are equal only if they are the same object: findings are reused as long as their selection is the same.
    """

    project: Project
    kind: Kind
    rules: Mapping[Rule, Severity]


def check(snapshot: Snapshot, path: str, *, suppressed: bool = False) -> tuple[Finding, ...]:
    """Return the findings in the file at `path`, in the order of their places, with rule and severity.

    Empty for files that are no prompts; of a file that is not analysed, the reason. A rule that fails is logged
    and hides no other. Rules that the settings turn off, and findings that the file suppresses, are left out.
    With `suppressed`, the findings are those that the file suppresses instead. Rules that need a rendering or
    runs find nothing here.
    """
    file = _file(snapshot, path)
    if file is None:
        return ()
    selection = _selection(file.project, file.kind)
    asked: dict[Question, object] = {}
    findings = [
        finding
        for rule in selection.rules
        if rule.needs is None
        for finding in _findings(rule, file, selection, asked)
    ]
    source = file.template.source
    if findings and source.language.host is Host.JSON:
        findings = [replace(finding, fixes=json_fixes(finding.fixes, source)) for finding in findings]
    if findings and _has_conflict(file.chunks):
        findings = [replace(finding, fixes=()) for finding in findings]
    if suppressed:
        return _sorted(finding for finding in findings if _is_hidden(file, finding))
    if any(silenced(source)):
        unused = [*_unused_suppressions(file, selection, findings)]
        findings = [finding for finding in findings if not _is_hidden(file, finding)] + unused
    return _sorted(findings)


def check_rendering(snapshot: Snapshot, path: str, rendering: FileRendering) -> tuple[Finding, ...]:
    """Return the findings that need the `rendering` of the file at `path`, as `check` does the others.

    Empty if the file has been edited since.
    """
    file = _file(snapshot, path)
    if file is None or file.template.source.text != rendering.job.text:
        return ()
    found = check(snapshot, path)
    # Of several samples that fail at one place, the first is reported.
    at_places = {
        (finding.rule, finding.span): finding
        for each in reversed([rendering, *(rendering.failing or ())])
        for finding in _check_later(replace(file, rendering=each, found=found), RENDERING_RULES)
    }
    return _sorted(at_places.values())


def check_runs(snapshot: Snapshot, path: str, runs: Sequence[RunSummary]) -> tuple[Finding, ...]:
    """Return the findings that need the last `runs` of the file at `path`, as `check` does the others.

    Runs of a prompt that has changed since say nothing.
    """
    fresh = tuple(run for run in runs if not run.stale)
    file = _file(snapshot, path) if fresh else None
    return _check_later(replace(file, runs=fresh), RUN_RULES) if file is not None else ()


def needs_rendering(snapshot: Snapshot, path: str) -> bool:
    """Return whether a rule that looks at renderings is on for the file at `path`."""
    selection = _selection(snapshot.project(path).settings, snapshot.kind(path))
    return not selection.rules.keys().isdisjoint(RENDERING_RULES)


def severity_of(rule: Rule, project: Project) -> Severity | None:
    """Return the severity that the settings give a rule, or its own; None if it is off."""
    chosen = project.rules.get(rule.name, rule.severity)
    return None if chosen == "off" else chosen


def _file(snapshot: Snapshot, path: str) -> File | None:
    """Return the file to check; None if there is nothing in it to check."""
    template = snapshot.template(path)
    if template is None:
        return None
    kind = snapshot.kind(path)
    may_be_prompt = has_prompt_name(path) or is_json_file(path) or template.source.refusal is not None
    if kind is Kind.OTHER and not may_be_prompt:
        return None
    return File(snapshot, path, template, kind, snapshot.project(path).settings)


_MAX_SELECTIONS: Final = 64
_selections: list[Selection] = []


def _selection(project: Project, kind: Kind) -> Selection:
    for known in _selections:
        if known.project is project and known.kind is kind:
            return known
    rules = {
        rule: severity
        for rule in RULES
        if kind in rule.kinds and (severity := severity_of(rule, project)) is not None
    }
    selection = Selection(project, kind, rules)
    _selections.insert(0, selection)
    del _selections[_MAX_SELECTIONS:]
    return selection


def _findings(
    rule: Rule, file: File, selection: Selection, asked: dict[Question, object]
) -> tuple[Finding, ...]:
    """Return what a rule finds, reusing what it found before if all that it read is the same.

    `asked` holds the answers of questions that other rules have asked about the same snapshot.
    """
    chunks = file.chunks
    memo = chunks.memos.get(rule)
    if memo is not None and memo.value[0] is selection:
        steps = chunks.steps_since(memo.serial)
        if steps is not None and is_unchanged(memo, chunks) and memo.reads.hold(file.snapshot, asked):
            found = _moved(memo.value[1], steps, file.path)
            if found is not None:
                chunks.memos[rule] = Memo(chunks.serial, (selection, found), memo.reads)
                memo.reads.pass_on()
                return found
    with recording(file.snapshot.reads_about(file.path)) as reads:
        found = _run(rule, selection.rules[rule], file)
    chunks.memos[rule] = Memo(chunks.serial, (selection, found), reads)
    return found


def _run(rule: Rule, severity: Severity, file: File) -> tuple[Finding, ...]:
    """Return what a rule finds; nothing if it fails, which is logged.

    A finding's own severity counts as long as the settings leave the rule's as it is.
    """
    is_set = severity != rule.severity
    try:
        return tuple(
            [
                finding.of(rule.name, severity if is_set else finding.severity or severity)
                for finding in rule.check(file)
            ]
        )
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed on %s", rule.name, file.path)
        return ()


def _check_later(file: File, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Return the findings of rules that need a rendering or runs."""
    selected = _selection(file.project, file.kind).rules
    found = [finding for rule in rules if rule in selected for finding in _run(rule, selected[rule], file)]
    return _sorted(finding for finding in found if not _is_hidden(file, finding))


def _moved(findings: tuple[Finding, ...], steps: Iterable[Step], path: str) -> tuple[Finding, ...] | None:
    """Return the findings where they are after some edits; None if one of them has to do with an edit."""
    for step in steps:
        if not findings:
            break
        if not step.keeps_lines:  # messages name lines
            return None
        moved = []
        for finding in findings:
            start, end = _extent(finding, path)
            if end < step.edited.start:
                moved.append(finding)
            elif start > step.edited.end and not finding.related:
                moved.append(finding.shifted(step.growth))
            else:
                return None
        findings = tuple(moved)
    return findings


def _extent(finding: Finding, path: str) -> Span:
    """Return the span from the first to the last character that a finding has to do with."""
    spans = [
        finding.span,
        *[edit.span for fix in finding.fixes for edit in fix.edits],
        *[place.span for place in finding.related if place.path == path],
    ]
    return Span(min(span.start for span in spans), max(span.end for span in spans))


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.span, finding.rule)))


def _line(file: File, finding: Finding) -> int:
    return file.template.source.place(finding.span.start).line


def _is_hidden(file: File, finding: Finding) -> bool:
    """Return whether a comment in the file suppresses a finding."""
    return silenced(file.template.source).hides(finding.rule, _line(file, finding))


def _unused_suppressions(file: File, selection: Selection, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the names that silence nothing, as hints, where that is certain.

    Nothing is said where a syntax error may hide what a rule would find, nor of rules that are off, or that look
    at renderings and runs.
    """
    on = {rule.name for rule in selection.rules if rule.needs is None}
    if _UNUSED not in on or any(finding.rule in _SYNTAX for finding in findings):
        return
    found = {(finding.rule, _line(file, finding)) for finding in findings}
    rules = {rule for rule, _ in found}
    for each in silenced_names(file.template.source):
        is_used = each.name in rules if each.line is None else (each.name, each.line) in found
        if each.name in on and not is_used:
            where = "this file" if each.line is None else "that line"
            message = f"`{each.name}` finds nothing in {where}: there is nothing to silence"
            yield Finding(each.span, message, unnecessary=True, rule=_UNUSED, severity="hint")
