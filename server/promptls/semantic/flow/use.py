"""The steps in which the uses of values in a template are described, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from promptls.semantic.flow.expression_paths import path_of
from promptls.semantic.flow.paths import Path, with_optional_end, without_views
from promptls.semantic.types.shape import SCALARS, Shape, ShapeKind, alternatives_of, union_of
from promptls.syntax.jinja.nodes import Expression, Operation, Test
from promptls.text.positions import Span


class Condition(NamedTuple):
    """That the value at a path is one of some constants, or is none of them.

    `is_partial` where more must hold, of which nothing is known.
    """

    path: Path
    values: frozenset[object]
    is_among: bool
    is_partial: bool = False


Conditions: TypeAlias = tuple[Condition, ...]
"""What all holds at a place; nothing is known where there is none."""


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
"""The tests that ask for a type, each with the kind that it asks for; texts and mappings are iterable too."""


_GONE_THROUGH: Final = frozenset({"list", "sequence", "container"})


class Narrowed(NamedTuple):
    """A value that is of a kind wherever a branch is reached; `unknown` says that a loop goes through it."""

    path: Path
    kind: ShapeKind


class TypeTests(NamedTuple):
    """The tests of types in a condition: what holds where it does, and where it does not.

    `told` are the tests that decide between the two by themselves or together with others, `refused` those
    of them that fail where the condition holds.
    """

    holds: tuple[Narrowed, ...] = ()
    fails: tuple[Narrowed, ...] = ()
    told: tuple[Test, ...] = ()
    refused: tuple[Test, ...] = ()

    @property
    def others(self) -> Iterator[Test]:
        """The tests that leave open of which type a value is where the condition holds."""
        for test in self.told:
            if TYPE_TESTS[test.name] == "unknown" or any(test is each for each in self.refused):
                yield test


def type_tests(test: Expression) -> TypeTests:
    """Return what a condition says of types; of one with `or` nothing is known."""
    match test:
        case Operation(operators=("and", *_), operands=operands):
            each = [type_tests(operand) for operand in operands]
            return TypeTests(
                tuple([found for one in each for found in one.holds]),
                (),
                tuple([found for one in each for found in one.told]),
                tuple([found for one in each for found in one.refused]),
            )
        case Operation(operators=("not",), operands=(operand,)):
            found = type_tests(operand)
            held = tuple([test for test in found.told if all(test is not each for each in found.refused)])
            return TypeTests(found.fails, found.holds, found.told, held)
        case Test(name=name, target=target) if name in TYPE_TESTS:
            path = path_of(target)
            if path and without_views(path) == path:
                return TypeTests((Narrowed(with_optional_end(path), TYPE_TESTS[name]),), (), (test,), ())
    return TypeTests()


@lru_cache(maxsize=4096)
def narrowed(shape: Shape, path: Path, kind: ShapeKind) -> Shape:
    """Return the shape of a value where the one at the end of `path` inside of it is of a kind.

    What is printed there is of that kind, and what a loop goes through is no list of its own.
    """
    if not path:
        found = {each.kind: each for each in alternatives_of(shape)}
        if "scalar" in found:
            del found["scalar"]
            if kind in SCALARS:
                found.setdefault(kind, Shape(kind))
        if kind in {"text", "mapping"}:
            found = {other: each for other, each in found.items() if other not in _GONE_THROUGH}
        return union_of(
            found.values(),
            optional=shape.optional,
            tested=shape.tested,
            needed=shape.needed,
            refuses_null=shape.refuses_null,
        )
    if shape.kind == "union":
        inside = [narrowed(each, path, kind) for each in shape.alternatives]
        return union_of(
            inside,
            optional=shape.optional,
            tested=shape.tested,
            needed=shape.needed,
            refuses_null=shape.refuses_null,
        )
    step = path[0].key
    if isinstance(step, str):
        if shape.kind != "mapping":
            return shape
        keys = tuple(
            [(name, narrowed(below, path[1:], kind) if name == step else below) for name, below in shape.keys]
        )
        return replace(shape, keys=keys)
    if shape.element is None:
        return shape
    return replace(shape, element=narrowed(shape.element, path[1:], kind))


class Compared(NamedTuple):
    """A constant that a value is compared with, or that stands in a list in which it is looked for."""

    value: object
    span: Span


class Use(NamedTuple):
    """One use of a value: the shape that it must have there, and the place of what is used.

    `need` says what fails where the value is of another type: it is `iterated`, `called`, used as a
    `number`, as `text` or as a `mapping`, or asked for the attribute behind a dot, `.strip`. Empty
    where a value of any type will do. `compared` holds the constants that the value is compared with.
    `is_branched` where the use is in an operand of `and` or `or`, or one of two expressions, that need not
    be worked out. `where` is what holds wherever the expression of the use is.
    """

    path: Path
    shape: Shape
    span: Span
    need: str = ""
    compared: tuple[Compared, ...] = ()
    is_branched: bool = False
    where: Conditions = ()


class Pass(NamedTuple):
    """A value that a call hands to what may be a macro, as its argument of this number or name.

    `path` is empty where nobody can follow the value, `block` names the parameters of the call block
    around the call, and `asked` holds the values without which the call is not reached. `where` is what
    holds wherever it is.
    """

    path: Path
    callee: Path
    argument: int | str
    block: str = ""
    asked: tuple[Path, ...] = ()
    where: Conditions = ()


class Bind(NamedTuple):
    """A name that stands for another value from here on, or for something new where `path` is empty."""

    name: str
    path: Path


class Rebind(NamedTuple):
    """Names that stand for other values from here on, all at once: the paths mean what they meant before."""

    binds: tuple[Bind, ...]


class Open(NamedTuple):
    """A block begins: what it binds inside, and the values that its `if` asks for, or its `else`.

    `typed` and `typed_else` say of which kinds values are there, by `is string` and the like, `where` and
    `where_else` what constants they are compared with.
    """

    keyword: str
    bound: tuple[Bind, ...] = ()
    asked: tuple[Path, ...] = ()
    asked_else: tuple[Path, ...] = ()
    typed: tuple[Narrowed, ...] = ()
    typed_else: tuple[Narrowed, ...] = ()
    where: Conditions = ()
    where_else: Conditions = ()


class Middle(NamedTuple):
    """An `elif` or `else`, with the values that its condition asks for.

    An `elif` comes twice: ahead of its condition, and behind it with what it asks for.
    """

    keyword: str
    asked: tuple[Path, ...] = ()
    asked_else: tuple[Path, ...] = ()
    typed: tuple[Narrowed, ...] = ()
    typed_else: tuple[Narrowed, ...] = ()
    where: Conditions = ()
    where_else: Conditions = ()


class Close(NamedTuple):
    """A block ends."""

    keyword: str


Event: TypeAlias = Use | Pass | Bind | Open | Middle | Close


class TagUses(NamedTuple):
    """The events of one tag, which reaches from `start` to `end` in its chunk."""

    start: int
    end: int
    events: tuple[Event, ...]
