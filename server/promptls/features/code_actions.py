"""The edits that mend what the rules have found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from promptls.rules.rule import Edit, Finding, Fix
from promptls.text.span import Span


@dataclass(frozen=True, slots=True)
class QuickFix:
    """One fix of one finding."""

    finding: Finding
    fix: Fix


def quick_fixes(findings: Iterable[Finding], within: Span) -> tuple[QuickFix, ...]:
    """The fixes of the findings that touch the span `within`."""
    return tuple(
        QuickFix(finding, fix)
        for finding in findings
        if finding.span.start <= within.end and within.start <= finding.span.end
        for fix in finding.fixes
    )


def fixes_together(findings: Iterable[Finding]) -> tuple[Fix, ...]:
    """The preferred fixes that can be applied at once; of two that touch, the first."""
    fixes: list[Fix] = []
    chosen: list[Edit] = []
    for finding in findings:
        fix = next((fix for fix in finding.fixes if fix.preferred), None)
        if fix is not None and not any(_touch(edit, other) for edit in fix.edits for other in chosen):
            fixes.append(fix)
            chosen += fix.edits
    return tuple(fixes)


def _touch(first: Edit, second: Edit) -> bool:
    return first.span.start <= second.span.end and second.span.start <= first.span.end
