"""Check whether a value fits its uses in a template; only certain mismatches are reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from promptls.semantic.types.shape import UNKNOWN, Clause, Need, Shape, ShapeKind
from promptls.syntax.jinja.builtins import Taken
from promptls.text.suggest import nearest

_MAX_ROWS: Final = 1_000


@dataclass(frozen=True, slots=True)
class KnownValue(Shape):
    """A text, number, boolean or None whose `value` is known."""

    value: object = None


@dataclass(frozen=True, slots=True)
class KnownFunction(Shape):
    """A function whose `parameters` are known, and perhaps what it returns."""

    parameters: tuple[Taken, ...] = ()
    returned: Shape = UNKNOWN


NOTHING: Final = KnownValue("unknown", value=None)
"""None itself, which is of no kind that templates require."""


def constant(value: object) -> Shape:
    """Return the shape of a text, number, boolean or None with its value; unknown for anything else."""
    kinds: tuple[tuple[type | tuple[type, ...], ShapeKind], ...] = (
        (bool, "boolean"), ((int, float), "number"), (str, "text")
    )  # fmt: skip
    if value is None:
        return NOTHING
    kind = next((kind for types, kind in kinds if isinstance(value, types)), None)
    return Shape() if kind is None else KnownValue(kind, value=value)


def rows(shapes: Iterable[Shape]) -> Shape:
    """Return the shape of a list of values, each with its own shape.

    Only the first thousand values are examined.
    """
    found = tuple(dict.fromkeys(shape for shape, _ in zip(shapes, range(_MAX_ROWS), strict=False)))
    if not found:
        return Shape("list")
    return Shape("list", element=either(found))


def either(shapes: Iterable[Shape]) -> Shape:
    """Return the shape of a value that has one of some shapes."""
    found = tuple(dict.fromkeys(shapes))
    return found[0] if len(found) == 1 else Shape("union", alternatives=found)


def given_value(value: Any) -> Shape:
    """Return the shape of a piece of data, with its values."""
    if isinstance(value, dict):
        return Shape(
            "mapping", keys=tuple(sorted((str(key), given_value(each)) for key, each in value.items()))
        )
    if isinstance(value, (list, tuple)):
        return rows(map(given_value, value))
    return constant(value)


def _is_false(value: Shape) -> bool:
    """Return whether a value is certainly falsy."""
    if isinstance(value, KnownValue):
        return not value.value
    return (value.kind == "list" and value.element is None) or value == Shape("mapping")


def is_needed(needed: Iterable[Clause], beside: Mapping[str, Shape], *, is_open: bool) -> Clause | None:
    """Return the clause under which a value is certainly needed, with its siblings `beside`, or None.

    `is_open` is True if there may be additional siblings.
    """
    return next((clause for clause in needed if all(_holds(need, beside, is_open) for need in clause)), None)


def _holds(need: Need, beside: Mapping[str, Shape], is_open: bool) -> bool:
    if need.is_partial:
        return False
    value = Shape()
    for index, name in enumerate(need.path):
        found = beside.get(name)
        if found is None:
            return not is_open and not need.is_among and index + 1 == len(need.path)
        value = found
        beside, is_open = dict(value.keys), value.kind != "mapping" or value.element is not None
    if isinstance(value, KnownValue):
        return (value.value in need.values) is need.is_among
    return value.kind in {"list", "mapping"} and not need.is_among


def describe_clause(clause: Clause) -> str:
    """Describe when a clause holds, for users: "`role` is 'tool'"."""
    return " and ".join(sorted(map(_describe_need, clause)))


def _describe_need(need: Need) -> str:
    values = sorted(map(repr, need.values))
    said = " or ".join(values)
    if not need.is_among:
        said = f"not {said}" if len(values) == 1 else f"none of {', '.join(values)}"
    return f"`{'.'.join(need.path)}` is {said}"


_WORDS: Final = {"text": "a text", "number": "a number", "boolean": "a boolean", "list": "a list",
                 "mapping": "a mapping"}  # fmt: skip


class Mismatch(NamedTuple):
    """What is wrong with a value: perhaps a key that it lacks, and the key that it has in its place."""

    message: str
    lacked: str = ""
    meant: str = ""


def mismatch(name: str, used: Shape, actual: Shape) -> Mismatch | None:
    """Return what is wrong with a value for an input of this name, or None if nothing certainly is.

    `used` is normalized. If the value is a mapping, keys that it does not have are missing unless it has an
    `element`. A value that is only printed or compared may be anything.
    """
    if actual.kind == "union":
        return next((found for each in actual.alternatives if (found := mismatch(name, used, each))), None)
    if actual == NOTHING:
        fails = used.kind == "list" and (used.refuses_null or not used.optional)
        return Mismatch(f"`{name}` is null, and is used as {used.description}") if fails else None
    if used.optional and not used.refuses_null and _is_false(actual):
        return None
    if actual.kind not in _WORDS or used.kind in {"unknown", "any", "scalar", "text", "number", "boolean"}:
        return None
    if used.kind == "union":
        same = used.alternative(actual.kind)
        if same is not None:
            return mismatch(name, same, actual)
        each_found = [mismatch(name, each, actual) for each in used.alternatives]
        return None if None in each_found else each_found[-1]
    if used.kind == actual.kind:
        return _mismatch_inside(name, used, actual)
    if used.kind == "list" and actual.kind in {"text", "mapping"} and not _has_inside(used.element):
        return None  # a loop can iterate over characters and keys too
    is_optional = used.keys and not used.element and all(below.optional for _, below in used.keys)
    if used.kind == "mapping" and is_optional:
        return None
    return Mismatch(f"`{name}` is {_WORDS[actual.kind]}, and is used as {used.description}")


def lacking(shapes: Mapping[str, Shape], actual: Mapping[str, Shape]) -> Iterator[tuple[str, str]]:
    """Yield the missing inputs that other values make necessary, each with a description of the condition."""
    for name, used in shapes.items():
        if name not in actual and used.optional:
            clause = is_needed(used.needed, actual, is_open=False)
            if clause is not None:
                yield name, describe_clause(clause)


def mismatch_by_name(
    shapes: Mapping[str, Shape], actual: Mapping[str, Shape]
) -> Iterator[tuple[str, Mismatch]]:
    """Yield the problems of the values for inputs, each with its input's name, sorted by name."""
    for name in sorted(actual.keys() & shapes.keys()):
        if is_used(shapes[name], actual, is_open=False):
            found = mismatch(name, shapes[name], actual[name])
            if found is not None:
                yield name, found


def is_used(used: Shape, beside: Mapping[str, Shape], *, is_open: bool) -> bool:
    """Return whether a value is certainly used, as far as that depends on its siblings."""
    return not used.needed or is_needed(used.needed, beside, is_open=is_open) is not None


def _has_inside(element: Shape | None) -> bool:
    """Return whether elements of a loop are used as more than text."""
    return element is not None and element.kind in {"mapping", "list"}


def _mismatch_inside(name: str, used: Shape, actual: Shape) -> Mismatch | None:
    """Return what is wrong with the keys or elements of a value of the right kind."""
    if used.kind == "list":
        if used.element is None or actual.element is None:
            return None
        return mismatch(f"{name}[…]", used.element, actual.element)
    own = dict(actual.keys)
    written = dict(used.keys)
    if used.element is not None:
        for key in sorted(own.keys() - written.keys()):
            found = mismatch(f"{name}[…]", used.element, own[key])
            if found is not None:
                return found
    is_open = actual.element is not None
    unread = own.keys() - written.keys()
    for key, below in used.keys:
        found = None
        if key in own:
            fits = not is_used(below, own, is_open=is_open)
            found = None if fits else mismatch(f"{name}.{key}", below, own[key])
        elif is_open or hasattr(dict, key):
            continue
        elif below.optional:
            clause = is_needed(below.needed, own, is_open=is_open)
            if clause is not None:
                found = Mismatch(
                    f"`{name}` lacks `{key}`, which is read where {describe_clause(clause)}", key
                )
        else:
            lacked = [other for other, its in used.keys if other not in own and not its.optional]
            is_renamed = len(unread) == len(lacked) == 1
            meant = next(iter(unread)) if is_renamed else nearest(key, unread)
            message = f"`{name}` lacks `{key}`" + (f"; it has `{meant}`" if meant else "")
            found = Mismatch(message, key, meant or "")
        if found is not None:
            return found
    return None
