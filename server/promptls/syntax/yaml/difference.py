"""Where a text with tags, and what it gives, differ from an earlier one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from promptls.syntax.jinja.tag import Tag
from promptls.syntax.projection import Projection
from promptls.syntax.yaml.nodes import Mapping
from promptls.text.span import Span


class LastReading(NamedTuple):
    """A text that was read without an error, as `project` gives it with all branches.

    `root` is its one tree, in which no node stands twice. Brackets stand in one another no deeper than
    `nesting`.
    """

    length: int
    tags: tuple[Tag, ...]
    projection: Projection
    root: Mapping
    nesting: int


class Written(NamedTuple):
    """A text to be read: its tags, what it gives, and how the places of that lead back to it."""

    text: str
    tags: tuple[Tag, ...]
    projection: Projection
    span: Callable[[int, int], Span]
    is_dynamic: Callable[[Span], bool]


def changed(before: LastReading, now: Written) -> Span:
    """The span of the old projection outside of which text, places and tags are alike."""
    old, new = before.projection, now.projection
    most = min(len(old.text), len(new.text))
    start = _most(most, lambda low, high: old.text[low:high] == new.text[low:high])
    behind = _most(
        most - start,
        lambda low, high: (
            old.text[len(old.text) - high : len(old.text) - low]
            == new.text[len(new.text) - high : len(new.text) - low]
        ),
    )
    is_same = start == len(old.text) == len(new.text)
    end = 0 if is_same else len(old.text) - behind
    first, last = _changed_pieces(before, now)
    first_tag, last_tag = _changed_tags(before, now)
    return Span(min(start, first, first_tag), max(end, last, last_tag))


def _most(most: int, are_alike: Callable[[int, int], bool]) -> int:
    """How many characters are alike, at most so many."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if are_alike(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _changed_pieces(before: LastReading, now: Written) -> tuple[int, int]:
    """Up to where the places of the projections lead to the same text, and from where on again."""
    old, new = before.projection, now.projection
    grown, growth = len(new.text) - len(old.text), len(now.text) - before.length
    most = min(len(old.starts), len(new.starts))
    number = 0
    while (
        number < most
        and old.starts[number] == new.starts[number]
        and old.origins[number] == new.origins[number]
    ):
        number += 1
    first = min(start_of(old, number), start_of(new, number))
    number = 1
    while (
        number <= most
        and old.starts[-number] + grown == new.starts[-number]
        and old.origins[-number] + growth == new.origins[-number]
    ):
        number += 1
    last = start_of(old, len(old.starts) - number + 1)
    if number <= most:
        shift = new.origins[-number] - new.starts[-number] - old.origins[-number] + old.starts[-number]
        if shift == growth - grown:  # the end of the piece moves like what stands behind it
            last = max(old.starts[-number], new.starts[-number] - grown)
    return first, last


def start_of(projection: Projection, number: int) -> int:
    """Where a piece begins; behind the last one the end of the text."""
    return projection.starts[number] if number < len(projection.starts) else len(projection.text)


def _changed_tags(before: LastReading, now: Written) -> tuple[int, int]:
    """Where the first and the last tag stand that are not alike, in the old projection."""
    old, new, growth = before.tags, now.tags, len(now.text) - before.length
    most = min(len(old), len(new))
    number = 0
    while number < most and (old[number] is new[number] or _is_alike(old[number], new[number], 0)):
        number += 1
    behind = 0
    while behind < most - number and _is_alike(old[-1 - behind], new[-1 - behind], growth):
        behind += 1
    changed = [
        (tags[number].span.start, tags[-1 - behind].span.end - by)
        for tags, by in ((old, 0), (new, growth))
        if number + behind < len(tags)
    ]
    if not changed:
        return len(before.projection.text), 0
    starts, ends = zip(*changed, strict=True)
    return place_in(before.projection, min(starts)), place_in(before.projection, max(ends))


def _is_alike(one: Tag, other: Tag, by: int) -> bool:
    return (one.kind, one.span.start + by, one.span.end + by) == (other.kind, *other.span)


def place_in(projection: Projection, offset: int) -> int:
    """The place in the projection of a place in the text; of text that it leaves out, where that would be."""
    number = bisect_right(projection.origins, offset) - 1
    if number < 0:
        return 0
    place = projection.starts[number] + offset - projection.origins[number]
    return min(place, start_of(projection, number + 1))
