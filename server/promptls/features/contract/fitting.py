"""Shapes made to fit data that the file itself gives: what is inferred must not refuse it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from promptls.meaning.shape import Shape

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
        return replace(shape, optional=True)
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
        keys = tuple((name, _fitted_key(below, name, value)) for name, below in shape.keys)
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


def _fitted_key(shape: Shape, name: str, value: dict[Any, Any]) -> Shape:
    return fitted(shape, value[name]) if name in value else replace(shape, optional=True)


def _fitted_all(shape: Shape | None, values: Any) -> Shape | None:
    if shape is not None:
        for value in values:
            shape = fitted(shape, value)
    return shape
