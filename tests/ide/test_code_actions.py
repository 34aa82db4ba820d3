from __future__ import annotations

from promptls.ide.code_actions import fixes_together, quick_fixes
from promptls.lint.rule import Edit, Finding, Fix
from promptls.text.positions import Span


def finding(start: int, end: int, text: str, *, preferred: bool = True) -> Finding:
    span = Span(start, end)
    return Finding(span, "wrong", (Fix(f"Change to {text}", (Edit(span, text),), preferred=preferred),))


def test_the_fixes_of_the_findings_at_the_cursor_are_offered() -> None:
    findings = [finding(0, 3, "a"), finding(5, 8, "b"), finding(8, 9, "c")]

    assert [fix.fix.title for fix in quick_fixes(findings, Span(8, 8))] == ["Change to b", "Change to c"]


def test_all_preferred_fixes_are_applied_and_of_two_that_touch_the_first() -> None:
    findings = [
        finding(5, 8, "b"),
        finding(7, 9, "c"),
        finding(0, 3, "a"),
        finding(20, 21, "d", preferred=False),
    ]

    assert [fix.title for fix in fixes_together(findings)] == ["Change to b", "Change to a"]
