"""Access paths from variables to values, such as `history[0]` or `rows | batch(2) | first`.

A path has steps, including views of lists and mappings; expressions have paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import Final, Literal, NamedTuple, TypeAlias

from promptls.semantic.types.shape import NOWHERE, PAIR, UNKNOWN, Shape, element_of, fails_for_null, keys_of
from promptls.syntax.jinja import nodes
from promptls.syntax.jinja.tag_context import BY_ELEMENTS_KEY


class Each(Enum):
    """A step to a value without a name."""

    ELEMENT = "element"
    """An element of a list."""
    VALUE = "value"
    """The value under a key of a mapping that is not literal."""
    INDEX = "index"
    """An element of a list or text by its index."""
    FIRST = "first"
    """The value of the first of two names, `k` in `for k, v in …`."""
    SECOND = "second"
    """The value of the second of two names."""


ViewKind = Literal["pieces", "groups", "group", "keyed", "entries", "entry", "values", "keys", "looked up"]


class View(NamedTuple):
    """What a filter or method produces from the elements of a list, or from a mapping.

    `pieces` are lists of its elements (`batch`), `groups` its elements by a key, each a `group` of a
    grouper and a list, and `keyed` the values under a key of each element (`map(attribute=…)`); `by`
    contains the components of the key. A mapping has `entries`, each an `entry` of a key and a value,
    `values` and `keys`. A key that is a variable (`looked up`, with the variable's name in `by`) leads to
    any of the values if the variable iterates over the mapping's keys.
    """

    kind: ViewKind
    by: tuple[str, ...] = ()


class Step(NamedTuple):
    """A step of a path; `optional` if the value it leads to may be missing.

    `keeps_null` if it may be missing, but not None, as with `default([])` and `is defined`.

    A view is the last step of its path: a further step leads to an element of the list or mapping itself.
    """

    key: str | Each | View
    optional: bool = False
    keeps_null: bool = False


Path: TypeAlias = tuple[Step, ...]
"""The path from a variable, whose name is the first step's key, to a value."""

_ELEMENTS: Final = (Each.ELEMENT, Each.INDEX)
OF_PAIR: Final = (Each.FIRST, Each.SECOND)
_IN_PAIR: Final = Shape(tested=frozenset({PAIR}))
_ELEMENT: Final = Step(Each.ELEMENT)


def extend_path(path: Path, step: Step) -> Path:
    """Return the path extended by a step; empty if the value cannot be accessed from a variable."""
    if not path:
        return ()
    view = path[-1].key
    if not isinstance(view, View) or isinstance(step.key, View) or view.kind == "looked up":
        return (*path, step)
    base = with_optional_end(path[:-1]) if path[-1].optional else path[:-1]
    found = _through_view(base, view, step)
    return with_optional_end(found, keeps_null=step.keeps_null) if step.optional else found


def _through_view(base: Path, view: View, step: Step) -> Path:
    """Return the path that a step leads to from a view of the value at `base`."""
    if step.key in _ELEMENTS:
        match view.kind:
            case "pieces":
                return base
            case "groups":
                return (*base, Step(View("group", view.by)))
            case "keyed":
                return along(extend_path(base, _ELEMENT), *map(Step, view.by))
            case "entries":
                return (*base, Step(View("entry")))
            case "values":
                return extend_path(base, Step(Each.VALUE))
    elif view.kind == "group" and step.key in ("list", Each.SECOND):
        return base
    elif view.kind == "group" and step.key in ("grouper", Each.FIRST):
        return along(extend_path(base, _ELEMENT), *map(Step, view.by))
    elif view.kind == "entry" and step.key is Each.SECOND:
        return extend_path(base, Step(Each.VALUE))
    return ()


def along(path: Path, *steps: Step) -> Path:
    """Return the path extended by several steps."""
    for step in steps:
        path = extend_path(path, step)
    return path


def without_views(path: Path) -> Path:
    """Return the part of the path before its first view or unpacked pair."""
    for index, step in enumerate(path):
        if isinstance(step.key, View) or step.key in OF_PAIR:
            return path[:index]
    return path


def is_looked_up(path: Path) -> bool:
    """Return whether a path contains a key that is a variable and has not been resolved."""
    return any(isinstance(step.key, View) and step.key.kind == "looked up" for step in path)


def in_place(path: Path, shape: Shape) -> Iterator[tuple[Path, Shape]]:
    """Yield the shapes of the underlying values that a use of the value at a path as `shape` implies."""
    plain = without_views(path)
    if len(plain) == len(path):
        if path:
            yield path, shape
        return
    if plain and not any(isinstance(step.key, View) for step in path):
        elements = tuple([step._replace(key=Each.ELEMENT) if step.key in OF_PAIR else step for step in path])
        for index, step in enumerate(path):
            if step.key in OF_PAIR:
                yield elements[: index + 1], _IN_PAIR
        yield elements, shape
        return
    if plain:
        yield plain, UNKNOWN
    if not isinstance(path[-1].key, View):
        return
    element = element_of(shape)
    if element is not None:
        yield from in_place(extend_path(path, _ELEMENT), element)
    for name, below in keys_of(shape):
        yield from in_place(
            extend_path(path, Step(name)),
            replace(below, optional=False, needed=frozenset(), refuses_null=False),
        )


def with_optional_end(path: Path, *, keeps_null: bool = False) -> Path:
    """Return the path to a value that may be missing, and may be None unless `keeps_null`."""
    if not path:
        return ()
    end = path[-1]
    return (
        *path[:-1],
        Step(end.key, optional=True, keeps_null=keeps_null and (end.keeps_null or not end.optional)),
    )


def under_question(path: Path, tested: Path) -> Path:
    """Return the path, with no step before the end of `tested` optional, because that value exists."""
    last = len(tested) - 1
    if len(path) <= last or any(step.key != other.key for step, other in zip(path, tested, strict=False)):
        return path
    return (*with_optional_end(path[: last + 1], keeps_null=tested[last].keeps_null), *path[last + 1 :])


class MacroParameter(NamedTuple):
    """A parameter of a macro, or of the call block whose tag has this text."""

    owner: str
    number: int
    name: str

    @property
    def root(self) -> str:
        """The root of the paths that begin at the parameter."""
        return f"{self.owner}({self.number},{self.name}"


def macro_root(name: str) -> str:
    """Return the root of paths for a macro, or for an imported file."""
    return f"{name}("


def caller_root(macro: str) -> str:
    """Return the root of paths for the call block that a macro is called with."""
    return f"{macro}(caller"


NUMBERS_ROOT: Final = macro_root("range")
"""The root of paths for the numbers of a loop over a range."""


def is_no_input(root: object) -> bool:
    """Return whether paths with this root begin at a macro or a parameter instead of an input."""
    return isinstance(root, str) and "(" in root


def is_macro(root: object) -> bool:
    """Return whether the root of a path has no shape: a macro, an imported file, a call block."""
    return isinstance(root, str) and root.endswith(("(", "(caller"))


def parameter_of(path: Path) -> MacroParameter | None:
    """Return the parameter that a path begins at, or None."""
    root = path[0].key if path else None
    if not isinstance(root, str):
        return None
    owner, _, rest = root.rpartition("(")
    number, _, name = rest.partition(",")
    return MacroParameter(owner, int(number), name) if owner and number.isdigit() else None


def callee_name(callee: Path) -> str:
    """Return the name of a callee, `show` or `tools.show`; empty if it is certainly not a macro of a file."""
    names = [each.key.removesuffix("(") for each in callee if isinstance(each.key, str)]
    return ".".join(names) if len(names) == len(callee) and not any("(" in each for each in names) else ""


def shape_along(path: Path, shape: Shape) -> Shape:
    """Return the shape of the variable that `path` begins at, if `shape` is the shape of its end."""
    for step in reversed(path[1:]):
        below = _optional(shape, step) if step.optional else shape
        if isinstance(step.key, str):
            shape = Shape("mapping", keys=((step.key, below),))
        else:
            shape = Shape("mapping" if step.key is Each.VALUE else "list", element=below)
    return _optional(shape, path[0]) if path[0].optional else shape


def _optional(shape: Shape, tested: Step) -> Shape:
    """Return the shape of a value that may be missing, and may be None unless `tested` excludes that."""
    is_so = shape.optional and not shape.needed
    if not tested.keeps_null:
        if is_so and not shape.refuses_null:
            return shape
        return replace(shape, optional=True, needed=NOWHERE, refuses_null=False)
    return (
        shape if is_so else replace(shape, optional=True, needed=NOWHERE, refuses_null=fails_for_null(shape))
    )


def guarded_shape(shape: Shape, tested: Path, depth: int = 1) -> Shape:
    """Return the shape of the variable that `tested` begins at, if the value at its end has been tested.

    With a different `depth`, the shape of the value after that many steps.
    """
    path = tested[depth:]
    if not path:
        return _optional(shape, tested[-1])
    if shape.kind == "union":
        inside = [guarded_shape(each, tested, depth) for each in shape.alternatives]
        return replace(shape, alternatives=tuple(inside))
    if isinstance(path[0].key, str):
        keys = tuple(
            (name, guarded_shape(below, tested, depth + 1) if name == path[0].key else below)
            for name, below in shape.keys
        )
        return replace(shape, keys=keys)
    return (
        shape
        if shape.element is None
        else replace(shape, element=guarded_shape(shape.element, tested, depth + 1))
    )


SAME_LIST: Final = frozenset(
    {"list", "sort", "reverse", "unique", "select", "reject", "selectattr", "rejectattr"}
)
"""Filters that return elements of the list that they are applied to."""
ONE_ELEMENT: Final = frozenset({"first", "last", "random", "min", "max"})
"""Filters that return one element of the list."""
DEFAULTS: Final = frozenset({"default", "d"})
VIEWS: Final[dict[str, ViewKind]] = {"items": "entries", "values": "values", "keys": "keys"}
"""Methods of mappings that return a view of it."""
_LOOP_COUNTERS: Final = frozenset({"index", "index0", "revindex", "revindex0"})
_EMPTY: Final[tuple[object, ...]] = (None, "", 0)


def path_of(node: nodes.Expression) -> Path:
    """Return the path to an expression's value; empty if it is not an access path from a variable."""
    match node:
        case nodes.Name(name=name):
            return (Step(name),)
        case nodes.Attribute(target=target, name=name) if name:
            return extend_path(path_of(target), Step(Each.INDEX if name.isdecimal() else name))
        case nodes.Item(target=target, key=nodes.Constant(value=str() as key)):
            return extend_path(path_of(target), Step(key))
        case nodes.Item(target=target, key=nodes.Slice()):
            return path_of(target)
        case nodes.Item(target=target, key=key) if _is_index(key):
            return extend_path(path_of(target), Step(Each.INDEX))
        case nodes.Item(target=target, key=nodes.Name(name=name)):
            return extend_path(path_of(target), Step(View("looked up", (name,))))
        case nodes.Filter(target=target) if target is not None:
            return _through_filter(path_of(target), node)
        case nodes.Call(function=nodes.Attribute(target=target, name=name), arguments=()) if name in VIEWS:
            return extend_path(path_of(target), Step(View(VIEWS[name])))
        case nodes.Call(
            function=nodes.Attribute(target=target, name="get"),
            arguments=(nodes.Constant(value=str() as key), *rest),
        ):
            return extend_path(path_of(target), Step(key, optional=True, keeps_null=bool(rest)))
        case nodes.Call(
            function=nodes.Attribute(target=target, name="pop"),
            arguments=(nodes.Constant(value=str() as key), *rest),
        ):
            return extend_path(path_of(target), Step(key, optional=bool(rest), keeps_null=bool(rest)))
        case nodes.Operation(operators=("or", *_), operands=(first, *_)):
            return with_optional_end(path_of(first))
        case _:
            return ()


def _is_index(node: nodes.Expression) -> bool:
    """Return whether a key between brackets is a number: literal, or a loop's index."""
    if isinstance(node, nodes.Operation) and len(node.operands) == 1:
        node = node.operands[0]
    if isinstance(node, nodes.Operation) and node.operators in {("+",), ("-",)}:
        return all(map(_is_index, node.operands))
    if isinstance(node, nodes.Attribute):
        return (
            isinstance(node.target, nodes.Name) and node.target.name == "loop" and node.name in _LOOP_COUNTERS
        )
    return isinstance(node, nodes.Constant) and type(node.value) is int


def _through_filter(path: Path, node: nodes.Filter) -> Path:
    name = node.name
    if name in DEFAULTS:
        return with_optional_end(path, keeps_null=not _replaces_false(node))
    if name in SAME_LIST:
        return path
    if name in ONE_ELEMENT:
        return extend_path(path, Step(Each.INDEX))
    if name in {"batch", "slice"}:
        return extend_path(path, Step(View("pieces")))
    if name in {"items", "dictsort"}:
        return extend_path(path, Step(View("entries")))
    if name in {"groupby", "map"} and (key := named_key(node)):
        kind: ViewKind = "groups" if name == "groupby" else "keyed"
        return extend_path(path, Step(View(kind, tuple(key.split(".")))))
    return ()


def _replaces_false(node: nodes.Filter) -> bool:
    """Return whether a `default` also replaces None, according to its second argument."""
    for index, argument in enumerate(node.arguments):
        value = argument.value if isinstance(argument, nodes.Keyword) else argument
        if index == 1 or (isinstance(argument, nodes.Keyword) and argument.name == "boolean"):
            return not isinstance(value, nodes.Constant) or bool(value.value)
    return False


def named_key(node: nodes.Filter) -> str:
    """Return the key of each element that a filter uses; empty if it uses none."""
    found = key_argument(node)
    return "" if found is None else str(found.value)


def key_argument(node: nodes.Filter) -> nodes.Constant | None:
    """Return the text that names a key of each element, in a filter's first argument or in `attribute=`."""
    for index, argument in enumerate(node.arguments):
        value = argument.value if isinstance(argument, nodes.Keyword) else argument
        names = argument.name == "attribute" if isinstance(argument, nodes.Keyword) else index == 0
        if not isinstance(value, nodes.Constant) or not isinstance(value.value, str):
            continue
        if names and (node.name in BY_ELEMENTS_KEY or isinstance(argument, nodes.Keyword)):
            return value
    return None


def present_if_true(test: nodes.Expression) -> tuple[Path, ...]:
    """Return the values that exist whenever a condition is true."""
    match test:
        case nodes.Operation(operators=("and", *_), operands=operands):
            return tuple(path for operand in operands for path in present_if_true(operand))
        case nodes.Operation(operators=("not", *rest), operands=(operand,)) if not len(rest) % 2:
            return present_if_false(operand)
        case nodes.Operation(operators=("in",), operands=(nodes.Constant(value=str() as key), target)):
            return (*_some(path_of(target)), *_holding(target, key))
        case nodes.Operation(operators=("==" | ">" | ">=" | "in",), operands=operands):
            return _sized(*operands)
        case nodes.Operation(operators=("!=",), operands=(first, nodes.Constant(value=value))) if (
            value in _EMPTY
        ):
            return _sized(first)
        case nodes.Test(name="defined", target=target):
            return _some(_keeping_null(path_of(target)))
        case nodes.Filter(name="length" | "count" | "trim", target=target):
            return _some(path_of(target)) if target is not None else ()
        case nodes.Test(name="string" | "number" | "mapping" | "true", target=target):
            return _some(path_of(target))
        case _:
            return _some(path_of(test))


def present_if_false(test: nodes.Expression) -> tuple[Path, ...]:
    """Return the values that exist whenever a condition is false."""
    match test:
        case nodes.Operation(operators=("not", *rest), operands=(operand,)) if not len(rest) % 2:
            return present_if_true(operand)
        case nodes.Operation(operators=("or", *_), operands=operands):
            return tuple(path for operand in operands for path in present_if_false(operand))
        case nodes.Operation(operators=("==",), operands=(first, nodes.Constant(value=value))) if (
            value in _EMPTY
        ):
            return _sized(first)
        case nodes.Operation(operators=("not in",), operands=(nodes.Constant(value=str() as key), target)):
            return _holding(target, key)
        case nodes.Test(name="none", target=target):
            return _some(path_of(target))
        case nodes.Test(name="undefined", target=target):
            return _some(_keeping_null(path_of(target)))
        case _:
            return ()


def _holding(target: nodes.Expression, key: str) -> tuple[Path, ...]:
    """Return the value under a key of a mapping that contains it."""
    return _some(_keeping_null(extend_path(path_of(target), Step(key))))


def _keeping_null(path: Path) -> Path:
    """Return the path to a value that exists, and may be None."""
    return (*path[:-1], path[-1]._replace(keeps_null=True)) if path else ()


def _sized(*operands: nodes.Expression) -> tuple[Path, ...]:
    """Return the values that are compared, directly or by their length."""
    found: list[Path] = []
    for operand in operands:
        is_size = isinstance(operand, nodes.Filter) and operand.name in {"length", "count"}
        sized = operand.target if isinstance(operand, nodes.Filter) and is_size else operand
        found += _some(path_of(sized)) if sized is not None else ()
    return tuple(found)


def _some(path: Path) -> tuple[Path, ...]:
    path = without_views(path)
    return (path,) if path else ()
