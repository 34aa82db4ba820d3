"""Findings where they stand after an edit that they have nothing to do with."""

from __future__ import annotations

from typing import TypeAlias

from promptls.lint.rule import Finding
from promptls.text.positions import Span

Found: TypeAlias = tuple[Finding, ...]
"""Findings of a piece, with spans that count from its start."""


def moved(findings: Found, edited: Span, growth: int, path: str | None = None) -> Found | None:
    """Return the findings where they stand after an edit; None if one of them has to do with what was edited.

    With a `path`, their related places in that file count too.
    """
    if not findings:
        return findings
    found = []
    for finding in findings:
        start, end = _extent(finding, path)
        if end < edited.start:
            found.append(finding)
        elif start > edited.end and not finding.related:
            found.append(finding.shifted(growth))
        else:
            return None
    return tuple(found)


def _extent(finding: Finding, path: str | None) -> Span:
    """From the first to the last character that a finding has to do with."""
    start, end = finding.span
    for fix in finding.fixes:
        for edit in fix.edits:
            start, end = min(start, edit.span.start), max(end, edit.span.end)
    for place in finding.related:
        if place.path == path:
            start, end = min(start, place.span.start), max(end, place.span.end)
    return Span(start, end)
