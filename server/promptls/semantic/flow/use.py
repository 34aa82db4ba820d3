"""The events that describe the uses of values in a template, in text order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from promptls.semantic.flow.paths import Path, path_of, with_optional_end, without_views
from promptls.semantic.types.shape import SCALARS, Shape, ShapeKind, alternatives_of, union_of
from promptls.syntax.jinja.nodes import Expression, Operation, Test
from promptls.text.positions import Span


class Condition(NamedTuple):
    """The condition that the value at a path is, or is not, one of some constants.

    `is_partial` is True if there are additional unknown conditions.
    """

    path: Path
    values: frozenset[object]
    is_among: bool
    is_partial: bool = False


Conditions: TypeAlias = tuple[Condition, ...]
"""Conditions that all hold at a position; nothing is known if it is empty."""


TYPE_TESTS: Final[dict[str, ShapeKind]] = {
    "string": "text",
    "number": "number",
    "integer": "number",
    "float": "number",
    "boolean": "boolean",
    "mapping": "mapping",
    "callable": "callable",
    "sequence": "unknown",
    "iterable": "unknown",
}
"""The type tests, each with the kind that it tests for; `iterable` accepts text and mappings as well."""


_GONE_THROUGH: Final = frozenset({"list", "sequence", "container"})


class Narrowed(NamedTuple):
    """A value that is of a kind whenever a branch is reached; `unknown` means that it is iterable."""

    path: Path
    kind: ShapeKind


class TypeTests(NamedTuple):
    """The type tests in a condition: what is known if it is true, and if it is false.

    `decisive` are the tests that decide the condition, alone or together with others, and `refused` those of
    them that are false if the condition is true.
    """

    holds: tuple[Narrowed, ...] = ()
    fails: tuple[Narrowed, ...] = ()
    decisive: tuple[Test, ...] = ()
    refused: tuple[Test, ...] = ()

    @property
    def others(self) -> Iterator[Test]:
        """The tests that do not determine a value's type if the condition is true."""
        for test in self.decisive:
            if TYPE_TESTS[test.name] == "unknown" or any(test is each for each in self.refused):
                yield test


def type_tests(test: Expression) -> TypeTests:
    """Return what a condition reveals about types; nothing for one with `or`."""
    match test:
        case Operation(operators=("and", *_), operands=operands):
            each = [type_tests(operand) for operand in operands]
            return TypeTests(
                tuple([found for one in each for found in one.holds]),
                (),
                tuple([found for one in each for found in one.decisive]),
                tuple([found for one in each for found in one.refused]),
            )
        case Operation(operators=("not",), operands=(operand,)):
            found = type_tests(operand)
            implied = tuple(
                [test for test in found.decisive if all(test is not each for each in found.refused)]
            )
            return TypeTests(found.fails, found.holds, found.decisive, implied)
        case Test(name=name, target=target) if name in TYPE_TESTS:
            path = path_of(target)
            if path and without_views(path) == path:
                return TypeTests((Narrowed(with_optional_end(path), TYPE_TESTS[name]),), (), (test,), ())
    return TypeTests()


@lru_cache(maxsize=4096)
def narrow_shape(shape: Shape, path: Path, kind: ShapeKind) -> Shape:
    """Return the shape of a value if the value at the end of `path` inside it is of a kind.

    A value that is printed there is of that kind, and one that a loop iterates over is not a list itself.
    """
    if not path:
        found = {each.kind: each for each in alternatives_of(shape)}
        if "scalar" in found:
            del found["scalar"]
            if kind in SCALARS:
                found.setdefault(kind, Shape(kind))
        if kind in {"text", "mapping"}:
            found = {other: each for other, each in found.items() if other not in _GONE_THROUGH}
        return union_of(found.values(), shape)
    if shape.kind == "union":
        return union_of((narrow_shape(each, path, kind) for each in shape.alternatives), shape)
    step = path[0].key
    if isinstance(step, str):
        if shape.kind != "mapping":
            return shape
        keys = tuple(
            [
                (name, narrow_shape(below, path[1:], kind) if name == step else below)
                for name, below in shape.keys
            ]
        )
        return replace(shape, keys=keys)
    if shape.element is None:
        return shape
    return replace(shape, element=narrow_shape(shape.element, path[1:], kind))


class Compared(NamedTuple):
    """A constant that a value is compared with, or an item of a list in which it is searched."""

    value: object
    span: Span


class Use(NamedTuple):
    """A use of a value: the shape that it must have there, and its span.

    `need` is the operation that fails if the value is of a different type: it is `iterated`, `called`, used
    as a `number`, as `text` or as a `mapping`, or the attribute after a dot is read, `.strip`. It is empty
    if a value of any type is valid. `compared` contains the constants that the value is compared with.
    `is_branched` is True if the use is in an operand of `and` or `or`, or in a conditional expression, which
    may not be evaluated. `where` are the conditions of the expression.
    """

    path: Path
    shape: Shape
    span: Span
    need: str = ""
    compared: tuple[Compared, ...] = ()
    is_branched: bool = False
    where: Conditions = ()

    @property
    def keys(self) -> tuple[object, ...]:
        """The keys of the path."""
        return tuple(step.key for step in self.path)


class Pass(NamedTuple):
    """A value that a call passes to a possible macro, as the argument with this index or name.

    `path` is empty if the value is unknown, `block` names the parameters of the call block around the call,
    and `present` contains the values without which the call is not reached. `where` are the conditions of
    the call.
    """

    path: Path
    callee: Path
    argument: int | str
    block: str = ""
    present: tuple[Path, ...] = ()
    where: Conditions = ()


class Bind(NamedTuple):
    """A name that is bound to a different value from here on, or to an unknown one if `path` is empty."""

    name: str
    path: Path


class Rebind(NamedTuple):
    """Names that are bound to other values from here on, all at once: the paths use the previous values."""

    binds: tuple[Bind, ...]


class Tested(NamedTuple):
    """What conditions test: values that are present, their kinds (`is string`), and comparisons."""

    present: tuple[Path, ...] = ()
    typed: tuple[Narrowed, ...] = ()
    where: Conditions = ()

    def joined(self, other: Tested) -> Tested:
        """Return what both test."""
        if not any(other):
            return self
        return Tested(self.present + other.present, self.typed + other.typed, self.where + other.where)


NOTHING_TESTED: Final = Tested()


class Open(NamedTuple):
    """The beginning of a block: what it binds inside, and what is known if its condition holds, or fails."""

    keyword: str
    bound: tuple[Bind, ...] = ()
    holds: Tested = NOTHING_TESTED
    fails: Tested = NOTHING_TESTED


class Middle(NamedTuple):
    """An `elif` or `else`, with what is known if its condition holds, or fails.

    An `elif` occurs twice: before its condition, and after it with what it tests.
    """

    keyword: str
    holds: Tested = NOTHING_TESTED
    fails: Tested = NOTHING_TESTED


class Close(NamedTuple):
    """The end of a block."""

    keyword: str


Event: TypeAlias = Use | Pass | Bind | Open | Middle | Close


class TagUses(NamedTuple):
    """The events of one tag, and its span in its chunk."""

    span: Span
    events: tuple[Event, ...]
