"""Run the rules on a file and collect its findings."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from promptls.facts import Reads, recording
from promptls.lint.analysis.suppression import suppressed_names, suppressions_of
from promptls.lint.fixes.yaml_edits import json_fixes
from promptls.lint.registry import RULES
from promptls.lint.rule import MAX_FINDINGS, File, Finding, Rule, Severity, sort_findings
from promptls.semantic.kind import Kind
from promptls.settings.project import Project
from promptls.syntax.chunk import EditStep, Memo
from promptls.syntax.facts import Changes, summary
from promptls.syntax.language import Host
from promptls.text.filenames import is_json_file
from promptls.text.format import upper_first
from promptls.text.positions import Span
from promptls.text.steps import Steps, finish
from promptls.workspace.disk import has_prompt_name
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary
    from promptls.rendering.file_rendering import FileRendering
    from promptls.rendering.outcome import RenderFailure

_LOG: Final = logging.getLogger(__name__)
_CONFLICT: Final = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)
_has_conflict: Final = summary(lambda chunk: _is_in_conflict(chunk.text), any)
"""Whether the file contains merge conflict markers; findings then get no fixes."""
_UNUSED: Final = "invalid-suppression"
_SYNTAX: Final = frozenset({"jinja-syntax", "yaml-syntax", "invalid-header"})


def _is_in_conflict(text: str) -> bool:
    # A text of many megabytes is searched for words much faster than for the beginnings of its lines.
    return ("<<<<<<< " in text or ">>>>>>> " in text) and _CONFLICT.search(text) is not None


RENDERING_RULES: Final = tuple(rule for rule in RULES if rule.needs == "rendering")
RUN_RULES: Final = tuple(rule for rule in RULES if rule.needs == "runs")


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The rules that apply to one kind of file under a project's settings, each with its severity.

    Compared by identity, because findings are reused only while the selection is the same object.
    """

    project: Project
    kind: Kind
    rules: Mapping[Rule, Severity]


def check(snapshot: Snapshot, path: str, *, suppressed: bool = False) -> tuple[Finding, ...]:
    """Return the findings in the file at `path`, sorted by position, each with its rule and severity.

    Return nothing if the file is not a prompt; if a file is not analyzed, the reason is its only finding.
    Findings of rules that are turned off, and findings that the file suppresses, are left out; with
    `suppressed`, only the suppressed findings are returned. Rules that need a rendering or runs are skipped.
    An exception in one rule is logged and does not affect the others.
    """
    return finish(check_steps(snapshot, path, suppressed=suppressed))


def check_steps(snapshot: Snapshot, path: str, *, suppressed: bool = False) -> Steps[tuple[Finding, ...]]:
    """Return the same as `check`; each rule is a step."""
    file = file_to_check(snapshot, path)
    if file is None:
        return ()
    selection = _selection(file.project, file.kind)
    results = yield from _result_steps(file, selection)
    findings = [finding for found, _ in results.values() for finding in found]
    source = file.template.source
    if findings and source.language.host is Host.JSON:
        findings = [replace(finding, fixes=json_fixes(finding.fixes, source)) for finding in findings]
    if findings and _has_conflict(file.chunks):
        findings = [replace(finding, fixes=()) for finding in findings]
    if suppressed:
        return sort_findings(finding for finding in findings if _is_hidden(file, finding))
    if any(suppressions_of(source)):
        unused = [*_unused_suppressions(file, selection, findings)]
        findings = [finding for finding in findings if not _is_hidden(file, finding)] + unused
    return sort_findings(findings)


def explained(snapshot: Snapshot, path: str, failure: RenderFailure) -> RenderFailure:
    """Return the failure of a rendering; if a finding has a fix for what it names, with the finding's message."""
    from promptls.rendering.make import at_syntax_error

    failure = at_syntax_error(snapshot, failure)
    path = failure.path or path
    template = snapshot.template(path)
    if template is None or failure.line is None:
        return failure
    source = template.source
    for finding in check(snapshot, path):
        replaced = [source.slice(edit.span) for fix in finding.fixes[:1] for edit in fix.edits]
        is_here = source.line_column(finding.span.start).line == failure.line
        if is_here and any(text and text in failure.message for text in replaced):
            message = upper_first(finding.message)
            suggestion = "" if message.endswith("?") else f". {finding.fixes[0].title}."
            return replace(failure, message=message + suggestion)
    return failure


def check_rendering(snapshot: Snapshot, path: str, rendering: FileRendering) -> tuple[Finding, ...]:
    """Return the findings of the rules that need the `rendering` of the file at `path`.

    Return nothing if the file has been edited since it was rendered.
    """
    file = file_to_check(snapshot, path)
    if file is None or file.template.source.text != rendering.job.text:
        return ()
    found = check(snapshot, path)
    # If several samples fail at the same place, only the first is reported.
    at_places = {
        (finding.rule, finding.span): finding
        for each in reversed([rendering, *(rendering.failing or ())])
        for finding in _check_later(replace(file, rendering=each, found=found), RENDERING_RULES)
    }
    return sort_findings(at_places.values())


def check_runs(snapshot: Snapshot, path: str, runs: Sequence[RunSummary]) -> tuple[Finding, ...]:
    """Return the findings of the rules that need the latest `runs` of the file at `path`.

    Runs of an earlier version of the prompt are ignored.
    """
    fresh = tuple(run for run in runs if not run.stale)
    file = file_to_check(snapshot, path) if fresh else None
    return _check_later(replace(file, runs=fresh), RUN_RULES) if file is not None else ()


def needs_rendering(snapshot: Snapshot, path: str) -> bool:
    """Return whether a rule that needs a rendering is enabled for the file at `path`."""
    selection = _selection(snapshot.project(path).settings, snapshot.kind(path))
    return not selection.rules.keys().isdisjoint(RENDERING_RULES)


def severity_of(rule: Rule, project: Project) -> Severity | None:
    """Return the severity from the settings, or the rule's default; None if the rule is off."""
    chosen = project.rules.get(rule.name, rule.severity)
    return None if chosen == "off" else chosen


def file_to_check(snapshot: Snapshot, path: str) -> File | None:
    """Return the file to check, or None if the path is not a prompt."""
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


_Results = dict[Rule, tuple[tuple[Finding, ...], Reads]]
"""What each rule found, and what it read."""


def _result_steps(file: File, selection: Selection) -> Steps[_Results]:
    """Return the results of the rules; those whose reads have not changed are not computed again."""
    chunks = file.chunks
    memo = chunks.memos.get(_result_steps)
    steps = chunks.steps_since(memo.serial) if memo is not None and memo.value[0] is selection else None
    known: _Results = {}
    if memo is not None and steps is not None:
        changes = Changes(memo.reads, chunks, steps, file.snapshot)
        affects_any = changes.affect(memo.reads)
        for rule, (before, reads) in memo.value[1].items():
            found = _move(before, steps, file.path) if before else before
            if found is not None and not (affects_any and changes.affect(reads)):
                known[rule] = (found, reads)
    all_reads = file.snapshot.reads_about(file.path)
    results: _Results = {}
    for rule, severity in selection.rules.items():
        if rule in known:
            results[rule] = known[rule]
        elif rule.needs is None:
            with recording(Reads(all_reads.serial, all_reads.whole)) as reads:
                results[rule] = (_run(rule, severity, file), reads)
            yield
    if memo is not None and len(known) == len(results):
        all_reads = memo.reads.renewed(all_reads.serial, all_reads.whole)
    else:
        for _, reads in results.values():
            all_reads.add(reads, is_same_version=True)
    all_reads.pass_on()
    chunks.memos[_result_steps] = Memo(chunks.serial, (selection, results), all_reads)
    return results


def _run(rule: Rule, severity: Severity, file: File) -> tuple[Finding, ...]:
    """Return the findings of a rule; if it raises, log the exception and return nothing.

    A finding's own severity applies unless the settings change the severity of the rule.
    """
    is_set = severity != rule.severity
    try:
        return tuple(
            [
                finding.of(rule.name, severity if is_set else finding.severity or severity)
                for finding in _first(rule.check(file))
            ]
        )
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed on %s", rule.name, file.path)
        return ()


def _first(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the first findings, each once, and one that says that there are more.

    A rule may find the same in two experiments that share a declaration through a YAML alias.
    """
    seen: set[Finding] = set()
    for finding in findings:
        if len(seen) == MAX_FINDINGS:
            yield Finding(
                finding.span, f"the file has more than {MAX_FINDINGS} of these; others are left out"
            )
            return
        if finding not in seen:
            seen.add(finding)
            yield finding


def _check_later(file: File, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Return the unsuppressed findings of rules that need a rendering or runs."""
    selected = _selection(file.project, file.kind).rules
    found = [finding for rule in rules if rule in selected for finding in _run(rule, selected[rule], file)]
    return sort_findings(finding for finding in found if not _is_hidden(file, finding))


def _move(findings: tuple[Finding, ...], steps: Iterable[EditStep], path: str) -> tuple[Finding, ...] | None:
    """Return the findings at their positions after the edits; None if an edit may affect one of them."""
    for step in steps:
        if not findings:
            break
        if not step.keeps_lines:  # messages contain line numbers
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
    """Return the span that covers a finding, its fixes and its related places in this file."""
    spans = [
        finding.span,
        *[edit.span for fix in finding.fixes for edit in fix.edits],
        *[place.span for place in finding.related if place.path == path],
    ]
    return Span(min(span.start for span in spans), max(span.end for span in spans))


def _line(file: File, finding: Finding) -> int:
    return file.template.source.line_column(finding.span.start).line


def _is_hidden(file: File, finding: Finding) -> bool:
    return suppressions_of(file.template.source).hides(finding.rule, _line(file, finding))


def _unused_suppressions(file: File, selection: Selection, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield hints for the suppressed rule names that suppress no finding.

    Yield nothing if a syntax error may hide findings. Rules that are off or need a rendering or runs are
    skipped.
    """
    on = {rule.name for rule in selection.rules if rule.needs is None}
    if _UNUSED not in on or any(finding.rule in _SYNTAX for finding in findings):
        return
    found = {(finding.rule, _line(file, finding)) for finding in findings}
    rules = {rule for rule, _ in found}
    for each in suppressed_names(file.template.source):
        is_used = each.name in rules if each.line is None else (each.name, each.line) in found
        if each.name in on and not is_used:
            where = "this file" if each.line is None else "that line"
            message = f"`{each.name}` finds nothing in {where}: there is nothing to suppress"
            yield Finding(each.span, message, unnecessary=True, rule=_UNUSED, severity="hint")
