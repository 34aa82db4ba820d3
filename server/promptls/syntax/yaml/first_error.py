"""The first error of a text that was right before an edit, without reading what stands ahead of the edit.

That is as it was, so that libyaml stands behind it where it stood: inside of the same mappings, lists and
brackets. A few lines bring it there as well. It then reads from the edit on, up to the error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from promptls.syntax.projection import Projection
from promptls.syntax.yaml.compose import YamlError, error_behind
from promptls.syntax.yaml.difference import LastReading, Written, place_in
from promptls.syntax.yaml.flow_stretches import Stretch, opening_of
from promptls.syntax.yaml.nodes import Collection, Mapping
from promptls.syntax.yaml.stretches import is_dash
from promptls.syntax.yaml.unsure import is_unsure

_LONGEST_MARK: Final = 5
"""How many characters say that a document begins or ends."""


def first_error(
    stretches: Iterable[Stretch], before: LastReading, now: Written
) -> tuple[YamlError, int] | None:
    """The first error of a text, and up to where it is seen; each stretch holds all that has changed.

    None where there is none, or it is not certain that a fresh reading finds the same.
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
    """Whether a bracket that is open where the stretch begins stands on the same line.

    What is in brackets on one line may be a key as a whole, so that libyaml looks further ahead.
    """
    line = projection.text.rfind("\n", 0, stretch.span.start) + 1
    return any(
        opening_of(projection, step.node) and place_in(projection, step.node.span.start) >= line
        for step in stretch.way
    )


def _begins_alike(stretch: Stretch, text: str, projection: Projection) -> bool:
    """Whether the first line of the stretch still is what it was: a key, or an item with its dash."""
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
    """Lines and brackets as they are open where the stretch begins, with a child ahead of it if one was."""
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
