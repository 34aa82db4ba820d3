"""What is given for an input: its shape, with the values in it that are known, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from promptls.meaning.shape import Clause, Need, Shape, ShapeKind

_MOST_ROWS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Constant(Shape):
    """A text, number, boolean or None whose `value` is known."""

    value: object = None


NOTHING: Final = Constant("unknown", value=None)
"""None itself, which is of no kind that templates ask for."""


def constant(value: object) -> Shape:
    """What is given by a text, a number, a boolean or None; unknown for anything else."""
    kinds: tuple[tuple[type | tuple[type, ...], ShapeKind], ...] = (
        (bool, "boolean"), ((int, float), "number"), (str, "text")
    )  # fmt: skip
    if value is None:
        return NOTHING
    kind = next((kind for types, kind in kinds if isinstance(value, types)), None)
    return Shape() if kind is None else Constant(kind, value=value)


def rows(shapes: Iterable[Shape]) -> Shape:
    """A list of values, each of which stays what it is; those behind the first thousand are not looked at."""
    found = tuple(dict.fromkeys(shape for shape, _ in zip(shapes, range(_MOST_ROWS), strict=False)))
    if not found:
        return Shape("list")
    return Shape("list", element=found[0] if len(found) == 1 else Shape("union", alternatives=found))


def given_value(value: Any) -> Shape:
    """What a piece of data gives."""
    if isinstance(value, dict):
        return Shape(
            "mapping", keys=tuple(sorted((str(key), given_value(each)) for key, each in value.items()))
        )
    if isinstance(value, (list, tuple)):
        return rows(map(given_value, value))
    return constant(value)


def is_false(given: Shape) -> bool:
    """Whether a value is certainly taken for false."""
    if isinstance(given, Constant):
        return not given.value
    return (given.kind == "list" and given.element is None) or given == Shape("mapping")


def is_needed(needed: Iterable[Clause], beside: Mapping[str, Shape], *, is_open: bool) -> Clause | None:
    """The clause under which a value is certainly needed that has these values beside it; None for none.

    `is_open` where there may be other values besides.
    """
    return next((clause for clause in needed if all(_holds(need, beside, is_open) for need in clause)), None)


def _holds(need: Need, beside: Mapping[str, Shape], is_open: bool) -> bool:
    if need.is_partial:
        return False
    value = Shape()
    for index, name in enumerate(need.way):
        found = beside.get(name)
        if found is None:
            return not is_open and not need.is_among and index + 1 == len(need.way)
        value = found
        beside, is_open = dict(value.keys), value.kind != "mapping" or value.element is not None
    if isinstance(value, Constant):
        return (value.value in need.values) is need.is_among
    return value.kind in {"list", "mapping"} and not need.is_among


def clause_words(clause: Clause) -> str:
    """When a clause holds, as people read it: "`role` is 'tool'"."""
    return " and ".join(sorted(map(_words, clause)))


def _words(need: Need) -> str:
    values = sorted(map(repr, need.values))
    said = " or ".join(values)
    if not need.is_among:
        said = f"not {said}" if len(values) == 1 else f"none of {', '.join(values)}"
    return f"`{'.'.join(need.way)}` is {said}"
