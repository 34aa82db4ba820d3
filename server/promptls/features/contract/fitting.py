"""Shapes made to fit data that the file itself gives: what is inferred must not refuse it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from promptls.meaning.given import given_value, is_needed
from promptls.meaning.shape import Shape, fails_for_null

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "scalar": (str, int, float),
    "text": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list, tuple),
    "mapping": (dict,),
}


def fitted(shape: Shape, value: Any) -> Shape:
    """The shape, or a wider one that `value` is of: `any` where its type is another one."""
    if value is None:
        return replace(shape, optional=True, needed=frozenset(), refuses_null=False)
    if shape.kind == "union":
        fitting = next((each for each in shape.alternatives if _fits(each, value)), None)
        if fitting is None:
            return Shape("any", optional=shape.optional)
        wider = [fitted(each, value) if each is fitting else each for each in shape.alternatives]
        return replace(shape, alternatives=tuple(wider))
    if shape.kind not in _TYPES:
        return shape
    if not _fits(shape, value):
        return Shape("any", optional=shape.optional)
    if isinstance(value, dict):
        beside = dict(given_value(value).keys)
        keys = tuple((name, _fitted_key(below, name, value, beside)) for name, below in shape.keys)
        written = {name for name, _ in shape.keys}
        others = [item for key, item in value.items() if key not in written]
        return replace(shape, keys=keys, element=_fitted_all(shape.element, others))
    if isinstance(value, (list, tuple)):
        return replace(shape, element=_fitted_all(shape.element, value))
    return shape


def _fits(shape: Shape, value: Any) -> bool:
    """Whether a value is of the kind of a shape, whatever is inside of it."""
    types = _TYPES.get(shape.kind, ())
    return isinstance(value, types) and not (shape.kind == "number" and isinstance(value, bool))


def _fitted_key(shape: Shape, name: str, value: dict[Any, Any], beside: Mapping[str, Shape]) -> Shape:
    return fitted(shape, value[name]) if name in value else lacked(shape, beside)


def lacked(shape: Shape, beside: Mapping[str, Shape]) -> Shape:
    """The shape of a value that data lacks which has these values in its place."""
    if not shape.optional:
        return replace(shape, optional=True, refuses_null=fails_for_null(shape))
    left = frozenset(clause for clause in shape.needed if is_needed([clause], beside, is_open=False) is None)
    return shape if left == shape.needed else replace(shape, needed=left)


def _fitted_all(shape: Shape | None, values: Any) -> Shape | None:
    if shape is not None:
        for value in values:
            shape = fitted(shape, value)
    return shape
