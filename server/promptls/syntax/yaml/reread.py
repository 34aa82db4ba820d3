"""The YAML of a chunk by that of an earlier text of it: only what differs is read again.

A block mapping or a block list is made of stretches of whole lines, an entry or an item each, which libyaml
reads one as the other; what is in brackets is made of what stands between its commas. Of the smallest
stretch with all that differs, the new text is read by itself; where it is one entry or more, or one item or
more, they take the old one's place, and what stands behind moves. An error is for `first_error.py` to find.
Where that is not certain, nothing is said, and the whole is to be read anew.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from promptls.syntax.yaml.compose import MAX_DEPTH, YamlError, compose, nesting_of
from promptls.syntax.yaml.difference import LastReading, Written, changed
from promptls.syntax.yaml.first_error import first_error
from promptls.syntax.yaml.flow_stretches import CLOSING, Stretch, children_of, start_of_child
from promptls.syntax.yaml.json_escapes import is_json
from promptls.syntax.yaml.nodes import Collection, Entry, Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.stretches import is_dash, stretches
from promptls.syntax.yaml.unsure import has_other_lines, is_unsure
from promptls.text.span import Span

_MOST_STRETCHES: Final = 4
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
    """The tree of the text, or its first error; None where it must be read as a whole."""
    if before.projection.text == now.projection.text and before.tags == now.tags:
        return Reread(before.root, before.nesting) if before.length == len(now.text) else None
    if has_other_lines(before.projection.text):
        return None
    span = changed(before, now)
    nesting = _nesting(before, now, span)
    if nesting > MAX_DEPTH:
        return None
    found = list(stretches(before, span))
    tried = found[: -_MOST_STRETCHES - 1 : -1]
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
    """How deep brackets stand in one another at most, more or less: never less than they do."""
    old, new = before.projection.text, now.projection.text
    end = span.end + len(new) - len(old)
    opened = new.count("[", span.start, end) + new.count("{", span.start, end)
    closed = old.count("]", *span) + old.count("}", *span)
    if opened + closed == 0:
        return before.nesting
    nesting = before.nesting + opened + closed
    return nesting if nesting <= MAX_DEPTH else nesting_of(new)


def _read(stretch: Stretch, before: LastReading, now: Written) -> Mapping | None:
    """The tree with what now stands in the stretch; None where that may mean more or something else."""
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
    """What the lines of a stretch hold; None where they do not end by themselves."""
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
    """What a stretch in brackets holds; None where it does not end by itself.

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
    """Whether characters in two halves stand in a text where the whole may say what they are."""
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
    """The tree with what the way leads to replaced by the children of what was made of its text.

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
