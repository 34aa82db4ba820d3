"""The YAML of a chunk after an edit: only what differs is read again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from promptls.syntax.projection import Projection
from promptls.syntax.yaml.compose import MAX_DEPTH, YamlError, compose, error_behind, nesting_of
from promptls.syntax.yaml.json_escapes import is_json
from promptls.syntax.yaml.nodes import Collection, Entry, Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.stretches import (
    CLOSING,
    LastReading,
    Stretch,
    Written,
    changed,
    children_of,
    has_other_lines,
    is_dash,
    is_unsure,
    opening_of,
    place_in,
    start_of_child,
    stretches,
)
from promptls.text.positions import Span

_LONGEST_MARK: Final = 5
"""How many characters say that a document begins or ends."""


def first_error(
    stretches: Iterable[Stretch], before: LastReading, now: Written
) -> tuple[YamlError, int] | None:
    """Return the first error of a text, and up to where it is seen; each stretch holds all that has changed.

    None if there is none, or it is not certain that a fresh reading finds the same.
    """
    text = now.projection.text
    stretch = next((each for each in stretches if not _is_in_line(each, before.projection)), None)
    if stretch is None or "%TAG" in text or not _begins_alike(stretch, text, before.projection):
        return None
    begin = stretch.span.start
    found = error_behind(_context(stretch, before.projection), text, begin)
    if found is None:
        return None
    error, until = found
    region = text[begin : until + _LONGEST_MARK]
    if error.alias or "*" in region or is_unsure(region):
        return None
    return found


def _is_in_line(stretch: Stretch, projection: Projection) -> bool:
    """Return whether a bracket that is open where the stretch begins stands on the same line.

    What is in brackets on one line may be a key as a whole, so that libyaml looks further ahead.
    """
    line = projection.text.rfind("\n", 0, stretch.span.start) + 1
    return any(
        opening_of(projection, step.node) and place_in(projection, step.node.span.start) >= line
        for step in stretch.way
    )


def _begins_alike(stretch: Stretch, text: str, projection: Projection) -> bool:
    """Return whether the first line of the stretch still is what it was: a key, or an item with its dash."""
    if stretch.opening:
        return True
    place = stretch.span.start + stretch.column
    node = stretch.way[-1].node
    if isinstance(node, Mapping):
        is_in_column = _column(projection, node) == stretch.column  # and not behind a `?`
        return is_in_column and text[place : place + 1] not in {"-", "?", ":"}
    return is_dash(text, place)


def _column(projection: Projection, node: Collection) -> int:
    place = place_in(projection, node.span.start)
    return place - projection.text.rfind("\n", 0, place) - 1


def _context(stretch: Stretch, projection: Projection) -> str:
    """Return the lines and brackets that are open at the beginning of the stretch."""
    lines = ""
    brackets = ""
    for step in stretch.way:
        is_inner = step is stretch.way[-1]
        is_mapping = isinstance(step.node, Mapping)
        opening = opening_of(projection, step.node)
        if opening:
            brackets += f"{opening}\n" if is_inner or not is_mapping else f'{opening}\n"":\n'
            continue
        indent = " " * _column(projection, step.node)
        if not is_inner:
            lines += f"{indent}k:\n" if is_mapping else f"{indent}-\n"
        elif step.first > 0:
            lines += f"{indent}k: k\n" if is_mapping else f"{indent}- k\n"
    if not brackets:
        return lines
    return f"{lines[:-1]} {brackets} " if lines else f"{brackets} "


_MAX_STRETCHES: Final = 4
"""How many stretches are tried, from the smallest to those around it."""
_SMALL: Final = 5_000
"""How many characters are read again without looking first whether there is an error in them."""
_BEHIND: Final = {"{": '"":""', "[": '""'}
"""An empty text as an entry or an item."""
_ESCAPED_HALVES: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""Characters that JSON writes in two halves, see `json_escapes.py`."""
_HALVES: Final = re.compile("[\ue000-\ue7ff]")
"""What stands for such halves while JSON is read."""
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


class Reread(NamedTuple):
    """What a text holds, its tree or its first error, and how deep brackets may stand in it.

    `until` is up to where libyaml reads until it finds the error.
    """

    found: Mapping | YamlError
    nesting: int
    until: int = 0


def reread(before: LastReading, now: Written) -> Reread | None:
    """Return the tree of the text, or its first error; None if it must be read as a whole."""
    if before.projection.text == now.projection.text and before.tags == now.tags:
        return Reread(before.root, before.nesting) if before.length == len(now.text) else None
    if has_other_lines(before.projection.text):
        return None
    span = changed(before, now)
    nesting = _nesting(before, now, span)
    if nesting > MAX_DEPTH:
        return None
    found = list(stretches(before, span))
    tried = found[: -_MAX_STRETCHES - 1 : -1]
    small = [stretch for stretch in tried if stretch.span.end - stretch.span.start <= _SMALL]
    root = next((root for each in small if (root := _read(each, before, now)) is not None), None)
    if root is None and tried:
        error = first_error(tried, before, now)
        if error is not None:
            return Reread(error[0], nesting, error[1])
        large = tried[len(small) :]
        root = next((root for each in large if (root := _read(each, before, now)) is not None), None)
    return None if root is None else Reread(root, nesting)


def _nesting(before: LastReading, now: Written, span: Span) -> int:
    """Return how deep brackets stand in one another at most, more or less: never less than they do."""
    old, new = before.projection.text, now.projection.text
    end = span.end + len(new) - len(old)
    opened = new.count("[", span.start, end) + new.count("{", span.start, end)
    closed = old.count("]", *span) + old.count("}", *span)
    if opened + closed == 0:
        return before.nesting
    nesting = before.nesting + opened + closed
    return nesting if nesting <= MAX_DEPTH else nesting_of(new)


def _read(stretch: Stretch, before: LastReading, now: Written) -> Mapping | None:
    """Return the tree with what now stands in the stretch.

    None if that may mean more or something else.
    """
    old, new = before.projection, now.projection
    begin, end = stretch.span.start, stretch.span.end + len(new.text) - len(old.text)
    text = new.text[begin:end]
    if is_unsure(text):
        return None
    node = stretch.way[-1].node
    root = _in_brackets(stretch, text, now) if stretch.opening else _in_lines(stretch, text, now)
    if root is None or type(root) is not type(node):
        return None
    return _replaced(stretch, root, len(now.text) - before.length)


def _in_lines(stretch: Stretch, text: str, now: Written) -> Collection | None:
    """Return what the lines of a stretch hold; None if they do not end by themselves."""
    begin = stretch.span.start
    if begin + len(text) < len(now.projection.text) and not text.endswith("\n"):
        return None
    composed = compose(text, lambda first, last: now.span(begin + first, begin + last), now.is_dynamic)
    root = composed.root
    if root is None or composed.has_aliases or isinstance(root, Scalar):
        return None
    if root.span.start != now.projection.origin(begin + stretch.column):
        return None
    if isinstance(root, Mapping):
        is_key = text[stretch.column : stretch.column + 1] not in {"-", "?", ":"}
        is_whole = is_key and bool(root.entries) and root.entries[0].key.span.start == root.span.start
    else:
        is_whole = is_dash(text, stretch.column)
    return root if is_whole else None


def _in_brackets(stretch: Stretch, text: str, now: Written) -> Collection | None:
    """Return what a stretch in brackets holds; None if it does not end by itself.

    Where something stands behind it, an empty text takes the place of that.
    """
    opening, begin = stretch.opening, stretch.span.start - 1
    step = stretch.way[-1]
    if _has_halves(text, now.projection.text):
        return None
    if "\t" in text and stretch.is_among_lines:
        return None  # tabs must not stand where lines are to be indented
    behind = "" if step.is_to_last else _BEHIND[opening]
    written = f"{opening}{text}{behind}{CLOSING[opening]}"
    places: list[Span] = []

    def span(first: int, last: int) -> Span:
        places.append(Span(first, last))  # that of the whole is the first one, that of what is added the last
        return now.span(begin + first, begin + last)

    root = (composed := compose(written, span, now.is_dynamic)).root
    if root is None or composed.has_aliases or isinstance(root, Scalar) or places[0].end != len(written):
        return None
    children = children_of(root)
    if behind:
        added = places[-2 if isinstance(root, Mapping) else -1]
        if not children or not _is_empty_text(children[-1]) or added.start != 1 + len(text):
            return None
        root = _without_last(root)
        children = children_of(root)
    is_there = bool(children) and start_of_child(children[0]) == start_of_child(
        children_of(step.node)[step.first]
    )
    return root if is_there else None


def _has_halves(text: str, whole: str) -> bool:
    """Return whether characters in two halves stand in a text where the whole may say what they are."""
    if _HALVES.search(text):
        return True
    return bool(_ESCAPED_HALVES.search(text)) and (
        not is_json(whole) or bool(_ESCAPED_HALVES.search(_QUOTED.sub("", text)))
    )


def _is_empty_text(child: Entry | Node) -> bool:
    if isinstance(child, Entry):
        return _is_empty_text(child.key) and _is_empty_text(child.value)
    return isinstance(child, Scalar) and child.style == '"' and not child.text


def _without_last(root: Collection) -> Collection:
    if isinstance(root, Mapping):
        return Mapping(root.span, root.entries[:-1])
    return Sequence(root.span, root.items[:-1])


def _replaced(stretch: Stretch, made: Collection, growth: int) -> Mapping | None:
    """Return the tree with what the way leads to replaced by the children of what was made of its text.

    A list or mapping reaches as far as its last child does; in brackets, up to the one that closes.
    """
    end = made.span.end
    is_last = not stretch.opening
    child: Collection | None = None
    for step in reversed(stretch.way):
        node, first, last = step
        is_last = is_last and step.is_to_last
        span = Span(node.span.start, end if is_last else node.span.end + growth)
        if isinstance(node, Mapping):
            entries = made.entries if isinstance(made, Mapping) else ()
            if child is not None:
                entries = (Entry(node.entries[first].key, child),)
            moved = [entry.moved(growth) for entry in node.entries[last + 1 :]]
            child = Mapping(span, (*node.entries[:first], *entries, *moved))
        else:
            items = made.items if isinstance(made, Sequence) else ()
            if child is not None:
                items = (child,)
            behind = [item.moved(growth) for item in node.items[last + 1 :]]
            child = Sequence(span, (*node.items[:first], *items, *behind))
    return child if isinstance(child, Mapping) else None
