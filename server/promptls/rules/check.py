"""All findings of a file."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from promptls.meaning.kind import Kind
from promptls.rules.registry import RULES
from promptls.rules.rule import FileContext, Finding, Rule, Severity
from promptls.rules.suppression import suppressed_lines
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.workspace.snapshot import Snapshot

_LOG: Final = logging.getLogger(__name__)


def check(snapshot: Snapshot, path: str) -> tuple[Finding, ...]:
    """The findings in the file at `path`, in the order of their places, with rule and severity.

    Empty for files that are no prompts. A rule that fails is logged and hides no other. Rules that the settings turn off, and findings that
    the file suppresses, are left out.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    kind = snapshot.kind(path)
    if kind is Kind.OTHER:
        return ()
    project = snapshot.project(path).settings
    context = FileContext(snapshot, path, template, kind, project)
    rules = [rule for rule in RULES if kind in rule.kinds and severity_of(rule, project) is not None]
    findings = [finding for rule in rules for finding in _in_file(rule, context)]
    findings += _in_chunks(tuple(rule for rule in rules if rule.check_chunk is not None), context)
    silenced = suppressed_lines(template.source)
    if silenced:
        findings = [
            finding
            for finding in findings
            if finding.rule not in silenced.get(template.source.place(finding.span.start).line, ())
        ]
    return tuple(sorted(findings, key=lambda finding: (finding.span, finding.rule)))


def severity_of(rule: Rule, project: Project) -> Severity | None:
    """The severity that the settings give a rule, or its own; None where it is off."""
    chosen = project.rules.get(rule.name, rule.severity)
    return None if chosen == "off" else chosen


def _in_file(rule: Rule, context: FileContext) -> list[Finding]:
    """What a rule finds that looks at whole files; a rule that fails is logged and finds nothing."""
    if rule.check is None:
        return []
    try:
        return _named(rule.check(context), rule, context.project)
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed on %s", rule.name, context.path)
        return []


def _in_chunks(rules: tuple[Rule, ...], context: FileContext) -> Iterator[Finding]:
    source = context.template.source
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        for finding in _in_chunk(chunk, rules, context):
            fixes = tuple(fix.shifted(start) for fix in finding.fixes)
            yield replace(finding, span=finding.span.shifted(start), fixes=fixes)


def _in_chunk(chunk: Chunk, rules: tuple[Rule, ...], context: FileContext) -> tuple[Finding, ...]:
    """What the rules find in a chunk, kept with it as long as rules and settings stay the same."""
    kept = chunk.kept.get(_in_chunk)
    if isinstance(kept, tuple) and kept[0] is context.project and kept[1] is context.kind:
        return kept[2]  # type: ignore[no-any-return]  # put there below
    found: list[Finding] = []
    for rule in rules:
        assert rule.check_chunk is not None
        try:
            found += _named(rule.check_chunk(chunk, context.project), rule, context.project)
        except Exception:  # noqa: BLE001 - one rule that fails hides no other
            _LOG.exception("the rule %s failed on %s", rule.name, context.path)
    chunk.kept[_in_chunk] = (context.project, context.kind, tuple(found))
    return tuple(found)


def _named(findings: Iterable[Finding], rule: Rule, project: Project) -> list[Finding]:
    severity = severity_of(rule, project)
    return [replace(finding, rule=rule.name, severity=finding.severity or severity) for finding in findings]
