"""The findings of a file that need its rendering: what its text becomes, and how many tokens that has."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from promptls.lint.analysis.suppression import silenced
from promptls.lint.registry import RULES
from promptls.lint.rule import FileContext, Finding, Rule, Severity
from promptls.lint.runner import severity_of
from promptls.rendering.file_rendering import FileRendering
from promptls.semantic.kind import Kind
from promptls.workspace.snapshot import Snapshot

_LOG: Final = logging.getLogger(__name__)

RENDERING_RULES: Final = tuple(rule for rule in RULES if rule.check_rendering is not None)
"""The rules that look at renderings."""


def check_rendering(snapshot: Snapshot, path: str, rendering: FileRendering) -> tuple[Finding, ...]:
    """Return the findings in the file at `path` that need its `rendering`, in the order of their places.

    Severities, and what the settings and the file leave out, are as for every other rule. Empty
    where the file is no longer what was rendered.
    """
    template = snapshot.template(path)
    kind = snapshot.kind(path)
    if template is None or kind is Kind.OTHER or template.source.text != rendering.job.text:
        return ()
    project = snapshot.project(path).settings
    context = FileContext(snapshot, path, template, kind, project)
    findings: list[Finding] = []
    for rule in RENDERING_RULES:
        severity = severity_of(rule, project)
        if kind in rule.kinds and severity is not None:
            findings += _found(rule, severity, context, rendering)
    if not findings:
        return ()
    hidden = silenced(template.source)
    return tuple(
        sorted(
            (
                finding
                for finding in findings
                if not hidden.hides(finding.rule, template.source.place(finding.span.start).line)
            ),
            key=lambda finding: (finding.span, finding.rule),
        )
    )


def needs_rendering(snapshot: Snapshot, path: str) -> bool:
    """Return whether a rule that looks at renderings is on for the file at `path`."""
    kind = snapshot.kind(path)
    project = snapshot.project(path).settings
    return any(kind in rule.kinds and severity_of(rule, project) is not None for rule in RENDERING_RULES)


def _found(rule: Rule, severity: Severity, context: FileContext, rendering: FileRendering) -> list[Finding]:
    """Return what a rule finds; nothing where it fails, which is logged."""
    assert rule.check_rendering is not None
    is_set = severity != rule.severity
    try:
        return [
            replace(finding, rule=rule.name, severity=severity if is_set else finding.severity or severity)
            for finding in rule.check_rendering(context, rendering)
        ]
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed on %s", rule.name, context.path)
        return []
