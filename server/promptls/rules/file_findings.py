"""What rules for whole files find, kept from one text to the next where an edit cannot matter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.rules.aspects import same
from promptls.rules.kept_findings import Choice, found_by
from promptls.rules.rule import Aspect, FileContext, Finding
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Group
from promptls.text.span import NOWHERE, Span

_MISSING: Final = object()


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
    if not isinstance(earlier, _Known) or earlier.choice is not choice:
        earlier = None
    aspects: dict[Aspect, object] = {}
    findings: dict[str, tuple[Finding, ...]] = {}
    for looks_at, rules in choice.in_files:
        is_same = earlier is not None and bool(looks_at)
        for aspect in looks_at:
            now = aspects.get(aspect, _MISSING)
            if now is _MISSING:
                now = aspects[aspect] = aspect(context)
            is_same = is_same and earlier is not None and same(earlier.aspects.get(aspect, _MISSING), now)
        for rule, severity in rules:
            found: tuple[Finding, ...] | None = None
            if is_same and edit is not None and earlier is not None:
                found = _moved(earlier.findings.get(rule.name, ()), context.path, edit)
            if found is None:
                assert rule.check is not None
                found = tuple(found_by(rule, severity, rule.check, context))
            if found:
                findings[rule.name] = found
    root.kept[in_files] = _Known(choice, aspects, findings)
    return [finding for found in findings.values() for finding in found]


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


def _moved(findings: tuple[Finding, ...], path: str, edit: _Edit) -> tuple[Finding, ...] | None:
    """The findings where they stand now; None where one of them has to do with the chunk that changed."""
    if not findings or edit is _NO_EDIT:
        return findings
    moved = []
    for finding in findings:
        spans = list(_spans(finding, path))
        if max(span.end for span in spans) < edit.span.start:
            moved.append(finding)
        elif min(span.start for span in spans) > edit.span.end and not finding.related:
            moved.append(finding.shifted(edit.growth))
        else:
            return None
    return tuple(moved)


def _spans(finding: Finding, path: str) -> Iterator[Span]:
    yield finding.span
    for fix in finding.fixes:
        yield from (each.span for each in fix.edits)
    yield from (place.span for place in finding.related if place.path == path)
