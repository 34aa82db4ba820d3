"""The inferred type of a value: what is known about it from all of its uses in a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

_PLURALS: Final = {"text": "texts", "mapping": "mappings", "list": "lists", "number": "numbers",
                   "boolean": "booleans", "scalar": "scalars", "callable": "functions"}  # fmt: skip
_SINGULARS: Final = {
    "callable": "function",
    "unknown": "any",
    "any": "any",
    "scalar": "text, number or boolean",
}
_MAX_KEYS: Final = 8


def _describe(shape: Shape, *, plural: bool) -> str:
    if shape.kind == "union":
        *first, last = [_describe(each, plural=plural) for each in shape.alternatives]
        return f"{', '.join(first).replace(' or ', ', ')} or {last}"
    word = _PLURALS.get(shape.kind, "values") if plural else _SINGULARS.get(shape.kind, shape.kind)
    if shape.kind == "list" and shape.element is not None and shape.element.kind not in {"unknown", "any"}:
        return f"{word} of {_describe(shape.element, plural=True)}"
    if shape.kind == "mapping" and shape.keys:
        names = [f"{name}?" if below.optional else name for name, below in shape.keys[:_MAX_KEYS]]
        more = ", …" if len(shape.keys) > _MAX_KEYS else ""
        return f"{word} with {', '.join(names)}{more}"
    if shape.kind == "callable" and shape.arguments is not None:
        return f"{word} of {_describe_arguments(shape.arguments)}"
    return word


def _describe_arguments(arguments: Arguments) -> str:
    minimum, maximum = arguments.minimum, arguments.maximum
    count = (
        f"{minimum} or more"
        if maximum is None
        else str(minimum)
        if minimum == maximum
        else f"{minimum} to {maximum}"
    )
    noun = "argument" if count == "1" else "arguments"
    keywords = f" and {', '.join(f'{name}=' for name in arguments.keywords)}" if arguments.keywords else ""
    return f"{count} {noun}{keywords}"


ShapeKind = Literal[
    "unknown", "scalar", "text", "number", "boolean", "list", "mapping", "callable", "union", "any",
    "sequence", "container",
]  # fmt: skip
SCALARS: Final[frozenset[ShapeKind]] = frozenset({"scalar", "text", "number", "boolean"})
_ORDER: Final = {
    kind: index
    for index, kind in enumerate(
        ("text", "number", "boolean", "scalar", "callable", "list", "mapping", "sequence", "container")
    )
}
"""The order of a union's alternatives: those with the longest descriptions come last."""
PAIR: Final = "pair"
"""In `tested`: the value is one of two in a pair, whose types may differ."""
ELSE: Final = "else"
"""In `tested`: the template has a branch for values of all other types, too."""


class Need(NamedTuple):
    """A condition that the value at a path of keys is, or is not, one of some constants.

    `is_partial` is True if there are additional unknown conditions.
    """

    path: tuple[str, ...]
    is_among: bool
    values: frozenset[object]
    is_partial: bool = False


SOMETIMES: Final = Need((), is_among=True, values=frozenset(), is_partial=True)
"""An unknown condition."""
Clause: TypeAlias = frozenset[Need]
"""Conditions that all hold when a value is needed; their keys are siblings of the value."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """How a function is called: the minimum and maximum number of positional arguments, and its keywords.

    `maximum` is None if arguments are unpacked, so that their number is unknown.
    """

    minimum: int
    maximum: int | None
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known about a value.

    `scalar` is text, a number or a boolean, `unknown` means that no use reveals anything, `union` that the
    value is one of the `alternatives`, which are of different kinds, and `any` that it may be anything.
    `keys` are the keys of a mapping that are read, sorted by name; `element` is the shape of a list's
    elements, or of the values of a mapping under keys that are not literal. `optional` is True if the value
    may be missing at every use: under an `if` that tests it, in `default`, or in a test such as
    `is defined`. `tested` contains the kinds that the template tests with `is string` and the like, and
    `ELSE`. An optional value can still be `needed` if one of some clauses holds; `refuses_null` is True if
    it may be missing, but not None.
    Before normalization, the kind can also be `sequence` for a value that is indexed, and `container` for
    one that is searched.
    """

    kind: ShapeKind = "unknown"
    keys: tuple[tuple[str, Shape], ...] = ()
    element: Shape | None = None
    arguments: Arguments | None = None
    optional: bool = False
    alternatives: tuple[Shape, ...] = ()
    tested: frozenset[str] = frozenset()
    needed: frozenset[Clause] = frozenset()
    refuses_null: bool = False

    def key(self, name: str) -> Shape | None:
        """Return the shape of the value under a key, or None if the key is unknown."""
        return next((shape for key, shape in keys_of(self) if key == name), None)

    def alternative(self, kind: ShapeKind) -> Shape | None:
        """Return the shape itself, or its alternative, that is of this kind, or None if there is none."""
        return next((each for each in alternatives_of(self) if each.kind == kind), None)

    @property
    def description(self) -> str:
        """The shape as displayed to users: `list of mappings with author, content`."""
        return _describe(self, plural=False)


UNKNOWN: Final = Shape()
OTHERS: Final = Shape(optional=True, tested=frozenset({ELSE}))
"""A value for which a template has a branch if it is of none of the tested types."""
_UNTESTED: Final[frozenset[str]] = frozenset()
_FAILING: Final = frozenset({"list", "mapping", "callable", "sequence", "container"})
"""Kinds of values whose uses fail for None."""
NOWHERE: Final[frozenset[Clause]] = frozenset()


def alternatives_of(shape: Shape) -> tuple[Shape, ...]:
    """Return the alternative shapes of a value, each of one kind; empty if it is unknown."""
    if shape.kind == "union":
        return shape.alternatives
    return () if shape.kind == "unknown" else (shape,)


def union_of(shapes: Iterable[Shape], around: Shape) -> Shape:
    """Return the shape of a value that has one of some shapes, each of a different kind.

    It is `optional`, `tested`, `needed` and `refuses_null` as `around` is.
    """
    plain = [_like(each, UNKNOWN) for each in sorted(shapes, key=lambda each: _ORDER[each.kind])]
    if len(plain) == 1:
        return _like(plain[0], around)
    return _like(Shape("union", alternatives=tuple(plain)) if plain else UNKNOWN, around)


def _like(shape: Shape, other: Shape) -> Shape:
    """Return the shape, `optional`, `tested`, `needed` and `refuses_null` as the other one is."""
    if (shape.optional, shape.tested, shape.needed, shape.refuses_null) == (
        other.optional,
        other.tested,
        other.needed,
        other.refuses_null,
    ):
        return shape
    return replace(
        shape,
        optional=other.optional,
        tested=other.tested,
        needed=other.needed,
        refuses_null=other.refuses_null,
    )


def keys_of(shape: Shape) -> tuple[tuple[str, Shape], ...]:
    """Return the keys that are read of a value, from the alternative that is a mapping."""
    return next((each.keys for each in shape.alternatives if each.keys), shape.keys)


def element_of(shape: Shape) -> Shape | None:
    """Return the shape of the items of a loop over a value, or of its values under computed keys."""
    found = shape.element
    for each in shape.alternatives:
        found = merged_both(found, each.element)
    return found


def merge_shapes(first: Shape, second: Shape) -> Shape:
    """Return the combination of two uses of a value: what is known of each kind, side by side."""
    if first is second or first == second:
        return first
    is_any = first.kind == "any" or second.kind == "any"
    optional = first.optional and second.optional
    around = Shape(
        "any" if is_any else "unknown",
        optional=optional,
        tested=_UNTESTED if is_any else first.tested | second.tested,
        needed=first.needed | second.needed if optional else NOWHERE,
        refuses_null=first.refuses_null or second.refuses_null,
    )
    if is_any:
        return around
    if first.kind == second.kind and first.kind != "union":
        return _like(_merged_kind(first, second), around)
    for known, other in ((first, second), (second, first)):
        if other.kind == "unknown":
            return _like(known, around)
    found = {each.kind: each for each in alternatives_of(first)}
    for each in alternatives_of(second):
        own = found.get(each.kind)
        found[each.kind] = each if own is None else _merged_kind(own, each)
    return union_of(found.values(), around)


def merged_all(shapes: Sequence[Shape]) -> Shape:
    """Return the combination of one or more uses of a value, in linear rather than quadratic time."""
    while len(shapes) > 1:
        paired = [merge_shapes(*pair) for pair in zip(shapes[::2], shapes[1::2], strict=False)]
        shapes = [*paired, *shapes[2 * len(paired) :]]
    return shapes[0]


def _merged_kind(first: Shape, second: Shape) -> Shape:
    """Return the combination of two uses as the same kind."""
    keys = first.keys
    if second.keys and second.keys != keys:
        by_name = dict(keys)
        for name, shape in second.keys:
            by_name[name] = merge_shapes(by_name[name], shape) if name in by_name else shape
        keys = tuple(sorted(by_name.items()))
    element = merged_both(first.element, second.element)
    return Shape(first.kind, keys, element, _merged_arguments(first.arguments, second.arguments))


def merged_both(first: Shape | None, second: Shape | None) -> Shape | None:
    """Return the combination of two uses, either of which may be None."""
    if first is None or second is None:
        return first or second
    return merge_shapes(first, second)


def _merged_arguments(first: Arguments | None, second: Arguments | None) -> Arguments | None:
    if first is None or second is None:
        return first or second
    maximum = None if first.maximum is None or second.maximum is None else max(first.maximum, second.maximum)
    keywords = tuple(sorted({*first.keywords, *second.keywords}))
    return Arguments(min(first.minimum, second.minimum), maximum, keywords)


def fails_for_null(shape: Shape) -> bool:
    """Return whether a use of a value fails if it is None."""
    return shape.refuses_null or any(each.kind in _FAILING for each in alternatives_of(shape))


@lru_cache(maxsize=256)
def refusing_null(shape: Shape) -> Shape:
    """Return the shape of a value that has a use which fails for None."""
    return replace(shape, refuses_null=True)


def conditional(shape: Shape, need: Need) -> Shape:
    """Return the shape of a value that is only used if a different value satisfies a condition."""
    if not shape.optional:
        return replace(shape, optional=True, needed=frozenset({frozenset({need})}))
    if not shape.needed:
        return shape
    clauses = [_with(clause, need) for clause in shape.needed]
    return replace(shape, needed=frozenset([clause for clause in clauses if clause]))


def _with(clause: Clause, need: Need) -> Clause:
    """Return a clause with an additional condition; empty if they contradict each other."""
    known = next((each for each in clause if each.path == need.path), None)
    if known is None:
        return clause | {need}
    if known.is_among and need.is_among:
        values = known.values & need.values
    elif known.is_among or need.is_among:
        among, refused = (known, need) if known.is_among else (need, known)
        values = among.values - refused.values
    else:
        values = known.values | need.values
    both = Need(need.path, known.is_among or need.is_among, values, known.is_partial or need.is_partial)
    return (clause - {known}) | {both} if values else frozenset()


def unconditional(shape: Shape) -> Shape:
    """Return the shape of a value without its clauses: it is assumed to be needed always."""
    return replace(shape, optional=False, needed=NOWHERE) if shape.needed else shape


@lru_cache(maxsize=4096)
def intern_shape(shape: Shape) -> Shape:
    """Return the one shared object for all equal shapes, so that they can be compared by identity."""
    return shape


_MAX_CLAUSES: Final = 60
_MAX_PATHS: Final = 4
_OTHER: Final = object()
"""Represents all constants that no clause names."""


@lru_cache(maxsize=1024)
def _is_needed_always(clauses: frozenset[Clause]) -> bool:
    """Return whether one of the clauses holds for any values of the compared keys.

    False if there are too many clauses to decide.
    """
    certain = [clause for clause in clauses if not any(need.is_partial for need in clause)]
    paths = {need.path for clause in certain for need in clause}
    return len(certain) <= _MAX_CLAUSES and len(paths) <= _MAX_PATHS and _covers(certain)


def _covers(clauses: list[Clause]) -> bool:
    """Return whether the clauses cover all cases, by trying each value that one of them compares with."""
    if not clauses or frozenset() in clauses:
        return bool(clauses)
    path = min(need.path for need in min(clauses, key=len))
    values = {value for clause in clauses for need in clause if need.path == path for value in need.values}
    return all(_covers(_remaining(clauses, path, value)) for value in (_OTHER, *values))


def _remaining(clauses: list[Clause], path: tuple[str, ...], value: object) -> list[Clause]:
    """Return the remaining clauses if the value at `path` is known."""
    return [
        frozenset([need for need in clause if need.path != path])
        for clause in clauses
        if all((value in need.values) is need.is_among for need in clause if need.path == path)
    ]


_POSSIBLE_KINDS: Final[dict[ShapeKind, tuple[ShapeKind, ...]]] = {
    "sequence": ("text", "list"),
    "container": ("text", "list", "mapping"),
}
"""The possible kinds of a value that is only indexed or searched."""
_KEY_KINDS: Final = frozenset({"unknown", "scalar", "text"})
"""The kinds that the keys of a mapping have by their uses."""


def normalize_shapes(shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the result of `normalize` for each of some shapes by name."""
    return {name: normalize(shape) for name, shape in shapes.items()}


@lru_cache(maxsize=4096)
def normalize(shape: Shape) -> Shape:
    """Return the possible shapes of a value with these uses; a normalized shape is returned unchanged.

    A value that is printed need not be a scalar, and a loop whose items are text may iterate over a mapping.
    If no single kind fits all uses, any kind is allowed: they may be in branches that exclude each other.
    If the template itself tests the type, printed values are an alternative to the tested types; if it has a
    branch for all other types without specific uses, the value may be anything.
    """
    if shape.needed and _is_needed_always(shape.needed):
        shape = unconditional(shape)
    if shape.kind in {"unknown", "any"}:
        return shape
    found = {each.kind: _settled_inside(each) for each in alternatives_of(shape)}
    tested = shape.tested
    weak = [kind for kind in _POSSIBLE_KINDS if found.pop(kind, None) is not None]
    if ELSE in tested and found.keys() <= tested:
        return _like(Shape("any"), shape)
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
    return union_of(found.values(), replace(shape, tested=tested))


def _settled_inside(shape: Shape) -> Shape:
    """Return a shape of one kind with its keys and elements normalized."""
    if not shape.keys and shape.element is None:
        return shape
    keys = tuple([(name, normalize(below)) for name, below in shape.keys])
    return replace(shape, keys=keys, element=None if shape.element is None else normalize(shape.element))


def _holds_keys(shape: Shape) -> bool:
    return shape.element is None or shape.element.kind in _KEY_KINDS
