"""All findings of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from promptls.meaning.kind import Kind
from promptls.rules.registry import RULES
from promptls.rules.rule import FileContext, Finding, Rule, Severity
from promptls.rules.suppression import suppressed_lines
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.workspace.snapshot import Snapshot


def check(snapshot: Snapshot, path: str) -> tuple[Finding, ...]:
    """The findings in the file at `path`, in the order of their places, with rule and severity.

    Empty for files that are no prompts. Rules that the settings turn off, and findings that
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
    findings = [
        finding
        for rule in RULES
        if kind in rule.kinds and (severity := severity_of(rule, project)) is not None
        for finding in _found(rule, context, severity)
    ]
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


def _found(rule: Rule, context: FileContext, severity: Severity) -> Iterator[Finding]:
    if rule.check is not None:
        yield from _named(rule.check(context), rule, severity)
    if rule.check_chunk is not None:
        source = context.template.source
        for start, chunk in zip(source.starts, source.chunks, strict=False):
            for finding in _chunk_findings(rule, chunk, context.project, severity):
                yield replace(
                    finding,
                    span=finding.span.shifted(start),
                    fixes=tuple(fix.shifted(start) for fix in finding.fixes),
                )


def _named(findings: Iterable[Finding], rule: Rule, severity: Severity) -> Iterator[Finding]:
    for finding in findings:
        yield replace(finding, rule=rule.name, severity=finding.severity or severity)


def _chunk_findings(rule: Rule, chunk: Chunk, project: Project, severity: Severity) -> tuple[Finding, ...]:
    """The rule's findings in a chunk, kept with the chunk as long as the settings stay the same."""
    kept = chunk.kept.get(rule.name)
    if isinstance(kept, tuple) and kept[0] is project:
        return kept[1]  # type: ignore[no-any-return]  # put there below
    assert rule.check_chunk is not None
    findings = tuple(_named(rule.check_chunk(chunk, project), rule, severity))
    chunk.kept[rule.name] = (project, findings)
    return findings
