"""Determine the possible types of a value from all of its uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from promptls.semantic.types.shape import (
    ELSE,
    SCALARS,
    Clause,
    Shape,
    ShapeKind,
    alternatives_of,
    unconditional,
    union_of,
)

_MAX_CLAUSES: Final = 60
_MAX_WAYS: Final = 4
_OTHER: Final = object()
"""Represents all constants that no clause names."""


@lru_cache(maxsize=1024)
def is_needed_always(clauses: frozenset[Clause]) -> bool:
    """Return whether one of the clauses holds for any values of the compared keys.

    False if there are too many clauses to decide.
    """
    certain = [clause for clause in clauses if not any(need.is_partial for need in clause)]
    paths = {need.way for clause in certain for need in clause}
    return len(certain) <= _MAX_CLAUSES and len(paths) <= _MAX_WAYS and _covers(certain)


def _covers(clauses: list[Clause]) -> bool:
    """Return whether the clauses cover all cases, by trying each value that one of them compares with."""
    if not clauses or frozenset() in clauses:
        return bool(clauses)
    path = min(need.way for need in min(clauses, key=len))
    values = {value for clause in clauses for need in clause if need.way == path for value in need.values}
    return all(_covers(_remaining(clauses, path, value)) for value in (_OTHER, *values))


def _remaining(clauses: list[Clause], path: tuple[str, ...], value: object) -> list[Clause]:
    """Return the remaining clauses if the value at `path` is known."""
    return [
        frozenset([need for need in clause if need.way != path])
        for clause in clauses
        if all((value in need.values) is need.is_among for need in clause if need.way == path)
    ]


_POSSIBLE_KINDS: Final[dict[ShapeKind, tuple[ShapeKind, ...]]] = {
    "sequence": ("text", "list"),
    "container": ("text", "list", "mapping"),
}
"""The possible kinds of a value that is only indexed or searched."""
_KEY_KINDS: Final = frozenset({"unknown", "scalar", "text"})
"""The kinds that the keys of a mapping have by their uses."""


def settled_shapes(shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the result of `settled` for each of some shapes by name."""
    return {name: settled(shape) for name, shape in shapes.items()}


@lru_cache(maxsize=4096)
def settled(shape: Shape) -> Shape:
    """Return the possible shapes of a value with these uses; a settled shape is returned unchanged.

    A value that is printed need not be a scalar, and a loop whose items are text may iterate over a mapping.
    If no single kind fits all uses, any kind is allowed: they may be in branches that exclude each other.
    If the template itself tests the type, printed values are an alternative to the tested types; if it has a
    branch for all other types without specific uses, the value may be anything.
    """
    if shape.needed and is_needed_always(shape.needed):
        shape = unconditional(shape)
    if shape.kind in {"unknown", "any"}:
        return shape
    found = {each.kind: _settled_inside(each) for each in alternatives_of(shape)}
    tested = shape.tested
    weak = [kind for kind in _POSSIBLE_KINDS if found.pop(kind, None) is not None]
    if ELSE in tested and found.keys() <= tested:
        return Shape(
            "any",
            optional=shape.optional,
            tested=tested,
            needed=shape.needed,
            refuses_null=shape.refuses_null,
        )
    if "scalar" in found and tested:
        found = {kind: each for kind, each in found.items() if kind == "scalar" or kind not in SCALARS}
    elif len(found) > 1:
        found.pop("scalar", None)
    if "list" in found and "mapping" in found and _holds_keys(found["list"]) and not tested:
        del found["list"]
    for kind in weak:
        if found.keys().isdisjoint(_POSSIBLE_KINDS[kind]):
            tested |= {kind}
            found |= {
                each: Shape(each) for each in (("text",) if "scalar" in found else _POSSIBLE_KINDS[kind])
            }
            found.pop("scalar", None)
    return union_of(
        found.values(),
        optional=shape.optional,
        tested=tested,
        needed=shape.needed,
        refuses_null=shape.refuses_null,
    )


def _settled_inside(shape: Shape) -> Shape:
    """Return a shape of one kind with its keys and elements settled."""
    if not shape.keys and shape.element is None:
        return shape
    keys = tuple([(name, settled(below)) for name, below in shape.keys])
    return replace(shape, keys=keys, element=None if shape.element is None else settled(shape.element))


def _holds_keys(shape: Shape) -> bool:
    return shape.element is None or shape.element.kind in _KEY_KINDS
