"""What rules find in the examples that a file declares, kept with each for as long as nobody edits it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from promptls.meaning.example import Example
from promptls.rules.checking.kept_findings import Choice, Chosen, found_by
from promptls.rules.rule import FileContext, Finding

_LOG: Final = logging.getLogger(__name__)

_Asked = tuple[tuple[Chosen, Any], ...]
"""The rules that look at the examples, each with what it needs to know of the file."""


class _Known(NamedTuple):
    """What was found in an example that had this number and began at `start`."""

    choice: Choice
    asked: _Asked
    number: int
    start: int
    findings: tuple[Finding, ...]


def in_examples(context: FileContext, choice: Choice) -> list[Finding]:
    """What the rules find that look at one example alone."""
    examples = context.template.declarations.examples
    if not examples or not choice.in_examples:
        return []
    asked = tuple(_asked(context, choice))
    if not asked:
        return []
    found: list[Finding] = []
    for example in examples:
        core = example.node.core
        known = core.kept.get(in_examples) if core.kept is not None else None
        if (
            isinstance(known, _Known)
            and known.choice is choice
            and (known.number == example.number or not known.findings)
            and (known.asked is asked or known.asked == asked)
        ):
            asked = known.asked  # that the next ones have the same one is seen without comparing
        else:
            known = _look(context.template.source.text, example, choice, asked)
            core.kept = {} if core.kept is None else core.kept
            core.kept[in_examples] = known
        if known.findings:
            by = example.node.span.start - known.start
            found += [finding.shifted(by) for finding in known.findings]
    return found


def _asked(context: FileContext, choice: Choice) -> Iterator[tuple[Chosen, Any]]:
    for rule, severity in choice.in_examples:
        assert rule.check_examples is not None
        try:
            basis = rule.check_examples.basis(context)
        except Exception:  # noqa: BLE001 - one rule that fails hides no other
            _LOG.exception("the rule %s failed", rule.name)
            continue
        if basis is not None:
            yield (rule, severity), basis


def _look(text: str, example: Example, choice: Choice, asked: _Asked) -> _Known:
    findings: list[Finding] = []
    for (rule, severity), basis in asked:
        assert rule.check_examples is not None
        findings += found_by(rule, severity, rule.check_examples.check, text, example, basis)
    return _Known(choice, asked, example.number, example.node.span.start, tuple(findings))
