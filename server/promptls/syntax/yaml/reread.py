"""The YAML of a chunk by that of an earlier text of it: only what differs is read again.

A block mapping or a block list is made of stretches of whole lines, an entry or an item each, which libyaml
reads one as the other. Of the smallest stretch with all that differs, the new text is read by itself; where
it is one entry or more, or one item or more, they take the old one's place, and what stands behind moves.
Where that is not certain, nothing is said, and the whole is to be read anew.
"""

from __future__ import annotations

import re
from typing import Final

from promptls.syntax.yaml.compose import compose, nests_too_deep
from promptls.syntax.yaml.difference import Reading, Written, changed
from promptls.syntax.yaml.nodes import Collection, Entry, Mapping, Scalar, Sequence
from promptls.syntax.yaml.stretches import Step, Stretch, is_dash, stretches
from promptls.text.span import Span

_UNSURE_LINE: Final = re.compile(r"\n(?:---|\.\.\.|%|[ ]*(?:-[ ]+)*\?(?=\s|\Z))")
"""A line that may say something of others: of documents, or with a key that a `?` begins."""
_UNSURE_SIGNS: Final = ("\ufeff", "\x85", "\u2028", "\u2029")
"""Line ends and marks that libyaml counts in its own way."""
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
_ANCHOR: Final = re.compile(r"&\S")
_MOST_STRETCHES: Final = 4
"""How many stretches are tried, from the smallest to those around it."""


def reread(before: Reading, now: Written) -> Mapping | None:
    """The tree of the text; None where it must be read as a whole."""
    if before.projection.text == now.projection.text and before.tags == now.tags:
        return before.root if before.length == len(now.text) else None
    if nests_too_deep(now.projection.text):
        return None
    found = list(stretches(before, changed(before, now)))
    tried = (_read(stretch, before, now) for stretch in reversed(found[-_MOST_STRETCHES:]))
    return next((root for root in tried if root is not None), None)


def _read(stretch: Stretch, before: Reading, now: Written) -> Mapping | None:
    """The tree with what now stands in the stretch; None where that may mean more or something else."""
    old, new = before.projection, now.projection
    begin, end = stretch.span.start, stretch.span.end + len(new.text) - len(old.text)
    text = new.text[begin:end]
    if _is_unsure(text) or (end < len(new.text) and not text.endswith("\n")):
        return None
    composed = compose(text, lambda first, last: now.span(begin + first, begin + last), now.is_dynamic)
    root = composed.root
    if root is None or composed.has_aliases or isinstance(root, Scalar):
        return None
    node = stretch.way[-1].node
    if type(root) is not type(node) or root.span.start != new.origin(begin + stretch.column):
        return None
    if isinstance(root, Mapping):
        if not root.entries or root.entries[0].key.span.start != root.span.start:
            return None
    elif not is_dash(text, stretch.column):
        return None
    return _replaced(stretch.way, root, len(now.text) - before.length)


def _is_unsure(text: str) -> bool:
    """Whether a text may say something of what stands around it."""
    if "\r" in text and _LONE_RETURN.search(text):
        return True
    if any(sign in text for sign in _UNSURE_SIGNS) or _UNSURE_LINE.search(f"\n{text}"):
        return True
    return any(
        match.start() == 0 or text[match.start() - 1] in " \t\r\n[{,:-" for match in _ANCHOR.finditer(text)
    )


def _replaced(way: tuple[Step, ...], made: Collection, growth: int) -> Mapping | None:
    """The tree with what the way leads to replaced by the children of what was made of its text.

    A list or mapping reaches as far as its last child does.
    """
    end = made.span.end
    is_last = True
    child: Collection | None = None
    for node, first, last in reversed(way):
        is_last = is_last and last + 1 == len(node.entries if isinstance(node, Mapping) else node.items)
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
