"""The shape of a variable by that of a value which a path leads to from it."""

from __future__ import annotations

from dataclasses import replace

from promptls.meaning.paths import Each, Path, Step
from promptls.meaning.shape import NOWHERE, Shape, fails_for_null


def shape_along(path: Path, shape: Shape) -> Shape:
    """The shape of the variable that `path` begins at, when `shape` is at its end."""
    for step in reversed(path[1:]):
        below = _optional(shape, step) if step.optional else shape
        if isinstance(step.key, str):
            shape = Shape("mapping", keys=((step.key, below),))
        else:
            shape = Shape("mapping" if step.key is Each.VALUE else "list", element=below)
    return _optional(shape, path[0]) if path[0].optional else shape


def _optional(shape: Shape, asked: Step) -> Shape:
    """The shape of a value that may be missing, and None too unless what asks for it keeps that."""
    is_so = shape.optional and not shape.needed
    if not asked.keeps_null:
        if is_so and not shape.refuses_null:
            return shape
        return replace(shape, optional=True, needed=NOWHERE, refuses_null=False)
    return (
        shape if is_so else replace(shape, optional=True, needed=NOWHERE, refuses_null=fails_for_null(shape))
    )


def guarded(shape: Shape, asked: Path, depth: int = 1) -> Shape:
    """The shape of the variable that `asked` begins at, where the value at its end has been asked for.

    Given another `depth`, that of the value which so many steps lead to.
    """
    path = asked[depth:]
    if not path:
        return _optional(shape, asked[-1])
    if shape.kind == "union":
        inside = [guarded(each, asked, depth) for each in shape.alternatives]
        return replace(shape, alternatives=tuple(inside))
    if isinstance(path[0].key, str):
        keys = tuple(
            (name, guarded(below, asked, depth + 1) if name == path[0].key else below)
            for name, below in shape.keys
        )
        return replace(shape, keys=keys)
    return (
        shape if shape.element is None else replace(shape, element=guarded(shape.element, asked, depth + 1))
    )
