"""What rules for whole files find, kept from one text to the next where an edit cannot matter."""

from __future__ import annotations

from typing import Final, NamedTuple

from promptls.rules.checking.kept_findings import Choice, found_by
from promptls.rules.facts.aspects import same
from promptls.rules.facts.moved_findings import moved
from promptls.rules.rule import Aspect, FileContext, Finding
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Group
from promptls.text.span import NOWHERE, Span


class _Edit(NamedTuple):
    """A chunk has changed: the span that it had, by how much it grew, and what the file before has kept."""

    span: Span
    growth: int
    kept: dict[object, object]


_NO_EDIT: Final = _Edit(NOWHERE, 0, {})
"""The text is the one that was looked at before."""


class _Known(NamedTuple):
    """What the rules of a choice found in a file, and the aspects as they were then."""

    choice: Choice
    aspects: dict[Aspect, object]
    findings: dict[str, tuple[Finding, ...]]


def in_files(context: FileContext, choice: Choice) -> list[Finding]:
    """What the rules find that look at whole files.

    A rule that says what it looks at is not asked again where all of that is as it was: its findings
    move along with the text. It is asked where one of them stands in the chunk that has changed.
    """
    root = context.template.source.root
    kept = root.kept.get(in_files)
    edit = _edit(root) if kept is None else _NO_EDIT
    earlier = kept if kept is not None else edit.kept.get(in_files) if edit is not None else None
    aspects = {aspect: aspect(context) for aspect in choice.aspects}
    if edit is None or not isinstance(earlier, _Known) or earlier.choice is not choice:
        findings = _found(context, choice, {}, None)
    else:
        known = earlier.aspects
        changed = {aspect for aspect, now in aspects.items() if not same(known[aspect], now)}
        findings = _found(context, choice, _still_there(context.path, earlier, edit), changed)
    root.kept[in_files] = _Known(choice, aspects, findings)
    found = [finding for found in findings.values() for finding in found]
    for rule, severity in choice.at_each_change:
        assert rule.check is not None
        found += found_by(rule, severity, rule.check, context)
    return found


def _still_there(path: str, earlier: _Known, edit: _Edit) -> dict[str, tuple[Finding, ...] | None]:
    """What rules have found before, where it stands now; None for those that are to be asked again."""
    if edit is _NO_EDIT:
        return dict(earlier.findings)
    return {rule: moved(found, edit.span, edit.growth, path) for rule, found in earlier.findings.items()}


def _found(
    context: FileContext,
    choice: Choice,
    before: dict[str, tuple[Finding, ...] | None],
    changed: set[Aspect] | None,
) -> dict[str, tuple[Finding, ...]]:
    """What the rules find that say what they look at: as `before` where none of that has `changed`."""
    findings: dict[str, tuple[Finding, ...]] = {}
    for looks_at, rule, severity in choice.in_files:
        found: tuple[Finding, ...] | None = None
        if changed is not None and looks_at.isdisjoint(changed):
            found = before.get(rule.name, ())
        if found is None:
            assert rule.check is not None
            found = tuple(found_by(rule, severity, rule.check, context))
        if found:
            findings[rule.name] = found
    return findings


def _edit(root: Group) -> _Edit | None:
    """What distinguishes a file from the one before it: one chunk of as many lines; None where more does."""
    if root.before is None:
        return None
    kept = root.before[0]
    group, start = root, 0
    while True:
        if group.before is None:
            return None
        _, old, new = group.before
        start += group.starts[next(n for n, child in enumerate(group.children) if child is new)]
        if isinstance(new, Chunk):
            break
        group = new
    if old.line_ends != new.line_ends:  # findings name lines
        return None
    return _Edit(Span(start, start + old.length), new.length - old.length, kept)
