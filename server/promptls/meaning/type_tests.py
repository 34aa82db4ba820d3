"""What a condition says of the types of values: `content is string`, `x is iterable and x is not mapping`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from promptls.meaning.expression_paths import path_of
from promptls.meaning.paths import Path, with_optional_end, without_views
from promptls.meaning.shape import SCALARS, Shape, ShapeKind, alternatives_of, union_of
from promptls.syntax.jinja.nodes import Expression, Operation, Test

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
    """What a condition says of types; of one with `or` nothing is known."""
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
    """The shape of a value where the one at the end of `path` inside of it is of a kind.

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
