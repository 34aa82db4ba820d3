"""The names in comments that silence rules which find nothing there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from promptls.rules.checking.kept_findings import Choice
from promptls.rules.facts.suppression import silenced_names
from promptls.rules.rule import Finding
from promptls.syntax.source import Source

_RULE: Final = "invalid-suppression"
_SYNTAX: Final = frozenset({"jinja-syntax", "yaml-syntax", "invalid-header"})


def unused_suppressions(
    source: Source, choice: Choice, findings: Sequence[Finding], lines: Sequence[int]
) -> Iterator[Finding]:
    """The names that silence nothing, as hints, where that is certain.

    `findings` are all of the file, each with its line in `lines`. Nothing is said where a syntax error may
    hide what a rule would find, nor of rules that are off, or that look at renderings and runs.
    """
    on = choice.by_name
    if _RULE not in on or any(finding.rule in _SYNTAX for finding in findings):
        return
    found = {(finding.rule, line) for finding, line in zip(findings, lines, strict=True)}
    rules = {rule for rule, _ in found}
    for each in silenced_names(source):
        rule = on.get(each.name)
        if rule is None or rule.check_rendering is not None or rule.check_runs is not None:
            continue
        is_used = each.name in rules if each.line is None else (each.name, each.line) in found
        if not is_used:
            where = "this file" if each.line is None else "that line"
            message = f"`{each.name}` finds nothing in {where}: there is nothing to silence"
            yield Finding(each.span, message, unnecessary=True, rule=_RULE, severity="hint")
