"""The findings of a file that need the last runs of its experiments."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from promptls.lint.analysis.suppression import silenced
from promptls.lint.registry import RULES
from promptls.lint.rule import FileContext, Finding, Rule, Severity
from promptls.lint.runner import severity_of
from promptls.semantic.kind import Kind
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary

_LOG: Final = logging.getLogger(__name__)

RUN_RULES: Final = tuple(rule for rule in RULES if rule.check_runs is not None)
"""The rules that look at runs."""


def check_runs(snapshot: Snapshot, path: str, runs: Sequence[RunSummary]) -> tuple[Finding, ...]:
    """Return the findings in the file at `path` that its last `runs` give, in the order of their places.

    Runs of a prompt that has changed since say nothing. Severities, and what the settings and the
    file leave out, are as for every other rule.
    """
    template = snapshot.template(path)
    fresh = [run for run in runs if not run.stale]
    if template is None or not fresh or snapshot.kind(path) is Kind.OTHER:
        return ()
    project = snapshot.project(path).settings
    context = FileContext(snapshot, path, template, snapshot.kind(path), project)
    findings: list[Finding] = []
    for rule in RUN_RULES:
        severity = severity_of(rule, project)
        if severity is not None:
            findings += _found(rule, severity, context, fresh)
    if not findings:
        return ()
    hidden = silenced(template.source)
    shown = [
        finding
        for finding in findings
        if not hidden.hides(finding.rule, template.source.place(finding.span.start).line)
    ]
    return tuple(sorted(shown, key=lambda finding: (finding.span, finding.rule)))


def _found(rule: Rule, severity: Severity, context: FileContext, runs: Sequence[RunSummary]) -> list[Finding]:
    """Return what a rule finds; nothing where it fails, which is logged."""
    assert rule.check_runs is not None
    try:
        found = rule.check_runs(context, runs)
        return [replace(finding, rule=rule.name, severity=severity) for finding in found]
    except Exception:  # noqa: BLE001 - one rule that fails hides no other
        _LOG.exception("the rule %s failed on %s", rule.name, context.path)
        return []
