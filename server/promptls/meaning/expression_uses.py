"""What the expressions of one tag use: each value by its path, with the shape that its use asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from promptls.meaning.comparisons import compared
from promptls.meaning.condition import Conditions
from promptls.meaning.conditions import conditions_of
from promptls.meaning.demands import (
    ANY,
    FILTER_NEEDS,
    LIST,
    MAPPING,
    METHOD_SHAPES,
    NUMBER,
    SEQUENCE,
    TEST_SHAPES,
    TEXT,
    arguments_of,
    filter_shape,
    operand_need,
    operand_shapes,
    shape_of_named_key,
)
from promptls.meaning.expression_paths import (
    DEFAULTS,
    VIEWS,
    asked_for,
    named_key,
    path_of,
    refused_by,
)
from promptls.meaning.paths import (
    Each,
    Path,
    Step,
    along,
    under_question,
    with_optional_end,
)
from promptls.meaning.shape import OTHERS, UNKNOWN, Shape, refusing_null
from promptls.meaning.type_tests import TYPE_TESTS, Narrowed, TypeTests, narrowed, type_tests
from promptls.meaning.use import Event, Pass, Use
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Conditional,
    Expression,
    Filter,
    Item,
    Keyword,
    Name,
    Operation,
    Slice,
    Test,
    children,
)

_MOST_NAMES: Final = 2
"""How many names call a macro: `show`, `tools.show`."""


class ExpressionUses:
    """Collects the uses in the expressions of one tag, with what is asked before each of them.

    `call_block` is the text of a `call` tag whose call is read next, so that its block can be told of.
    `branches` counts what is around the expression read next that need not be worked out.
    """

    def __init__(self) -> None:
        self.events: Final[list[Event]] = []
        self.call_block = ""
        self._asked: list[Path] = []
        self._typed: list[Narrowed] = []
        self._where: Conditions = ()
        self._types = TypeTests()
        self._is_last = False
        self.branches = 0

    def emit(self, path: Path, shape: Shape, node: Expression, need: str = "") -> None:
        """Note that the value at `path`, which `node` gives, is used as `shape`."""
        if not path:
            return
        if path[-1].key is Each.INDEX:
            path, shape, need = path[:-1], SEQUENCE, ""  # a text has elements with numbers too
        if need and shape.kind in {"text", "number"}:
            shape = refusing_null(shape)
        for asked in self._asked:
            path = under_question(path, asked)
        for narrow in self._typed:
            if len(narrow.path) <= len(path) and all(map(_same_key, narrow.path, path)):
                shape = shape if len(narrow.path) < len(path) else narrowed(shape, (), narrow.kind)
        self.events.append(
            Use(path, shape, node.span, need, is_branched=self.branches > 0, where=self._where)
        )

    @contextmanager
    def telling(self, types: TypeTests, *, is_last: bool = False) -> Iterator[None]:
        """While a condition is read: the tests in it that say which types its branches are for.

        `is_last` where other types have been asked for before, so that a value of one of them must be there.
        """
        before = self._types, self._is_last
        self._types, self._is_last = types, is_last
        yield
        self._types, self._is_last = before
        for test in types.others:
            self.emit(with_optional_end(path_of(test.target)), OTHERS, test.target)

    def use(self, node: Expression, shape: Shape, need: str = "") -> Path:
        """Note that what `node` gives is used as `shape`, and fails to be without `need`; the path to it.

        While a filter is typed, the value counts as used without it.
        """
        if isinstance(node, Filter) and not node.name and node.target is not None:
            node = node.target
        path = path_of(node)
        if path:
            self.emit(path, shape, node, need)
            self._on_the_way(node)
        else:
            self._inside(node, shape)
        return path

    def truth(self, node: Expression) -> None:
        """Note that a value is only asked whether it is true."""
        if isinstance(node, Operation) and node.operators[0] in {"and", "or", "not"}:
            self._logic(node, None)
        elif path := path_of(node):
            self.emit(with_optional_end(path), UNKNOWN, node)
            self._on_the_way(node)
        else:
            self._inside(node, UNKNOWN)

    def _logic(self, node: Operation, shape: Shape | None) -> None:
        """The operands of `and`, `or` and `not`; behind `and` the ones before it hold, behind `or` not."""
        asked, where = len(self._asked), self._where
        is_all = node.operators[0] == "and"
        last = len(node.operands) - 1
        for index, operand in enumerate(node.operands):
            if shape is None or index < last:
                self.truth(operand)
            else:
                self.use(operand, shape)
            self._asked += asked_for(operand) if is_all else refused_by(operand)
            self._where += conditions_of(operand, holds=is_all) if index < last else ()
            self.branches += index == 0
        del self._asked[asked:]
        self._where = where
        self.branches -= 1

    def _on_the_way(self, node: Expression) -> None:
        """The uses inside an expression that is a path: by its filters, and of its arguments."""
        match node:
            case Attribute(target=target):
                self._on_the_way(target)
            case Item(target=target, key=key):
                if isinstance(key, Slice):
                    self.emit(path_of(target), SEQUENCE, target)
                self._on_the_way(target)
                self._inside(key, UNKNOWN)
            case Filter(target=target) if target is not None:
                self._filter(node, path_of(target))
                self._on_the_way(target)
            case Call(function=Attribute(target=target, name=name), arguments=arguments):
                if name in VIEWS:
                    self.emit(path_of(target), MAPPING, target, f".{name}")
                self._on_the_way(target)
                for argument in arguments:
                    self.use(argument, UNKNOWN)
            case Operation(operands=operands):
                self._on_the_way(operands[0])
                for operand in operands[1:]:
                    self.use(operand, UNKNOWN)

    def _inside(self, node: Expression, shape: Shape) -> None:
        """The uses inside an expression that is no path itself."""
        match node:
            case Operation(operators=("and" | "or" | "not" as word, *_)):
                self._logic(node, None if word == "not" else shape)
            case Operation():
                is_sum = node.operators == ("+",) and shape.kind in {"text", "number"}
                for operand, asked in zip(node.operands, operand_shapes(node), strict=True):
                    needed = shape if is_sum and asked is UNKNOWN else asked
                    self.use(operand, needed, operand_need(node, needed))
                self._comparison(node)
            case Conditional():
                self._conditional(node, shape)
            case Test():
                self._test(node)
            case Filter(target=target):
                path = path_of(target) if target is not None else ()
                self._filter(node, path)
                if target is not None:
                    self._on_the_way(target) if path else self._inside(target, UNKNOWN)
            case Call():
                self._call(node)
            case _:
                for child in children(node):
                    self.use(child, UNKNOWN)

    def _comparison(self, node: Operation) -> None:
        """Note what a value is compared with, where it is compared as it is."""
        for value, constants in compared(node):
            self.events.append(Use(path_of(value), UNKNOWN, value.span, compared=tuple(constants)))

    def _conditional(self, node: Conditional, shape: Shape) -> None:
        types = type_tests(node.test)
        with self.telling(types):
            self.truth(node.test)
        asked, typed, where = len(self._asked), len(self._typed), self._where
        self._where += conditions_of(node.test)
        self._asked += asked_for(node.test)
        self._typed += types.holds
        self.branches += 1
        self.use(node.then, shape)
        del self._asked[asked:], self._typed[typed:]
        if node.otherwise is not None:
            for each in types.told:
                self.emit(with_optional_end(path_of(each.target)), OTHERS, each.target)
            self._where = where + conditions_of(node.test, holds=False)
            self._asked += refused_by(node.test)
            self._typed += types.fails
            self.use(node.otherwise, shape)
            del self._asked[asked:], self._typed[typed:]
        self._where = where
        self.branches -= 1

    def _test(self, node: Test) -> None:
        path = path_of(node.target)
        if not path:
            self._inside(node.target, UNKNOWN)
        elif node.name in {"defined", "undefined", "none"}:
            self.emit(with_optional_end(path), UNKNOWN, node.target)
            self._on_the_way(node.target)
        else:
            is_told = any(node is each for each in self._types.told)
            is_refused = any(node is each for each in self._types.refused)
            shape = _type_asked_for(node.name, is_told=is_told, is_refused=is_refused)
            may_lack = is_told and not self._is_last
            self.emit(with_optional_end(path) if may_lack else path, shape, node.target)
            self._on_the_way(node.target)
        for argument in node.arguments:
            self.use(argument, UNKNOWN)

    def _filter(self, node: Filter, path: Path) -> None:
        """What a filter says of the value at `path` that it is given, and what its arguments use."""
        target = node.target
        if path and target is not None and (shape := filter_shape(node)) is not None:
            way = with_optional_end(path) if node.name in DEFAULTS else path
            self.emit(way, shape, target, FILTER_NEEDS.get(node.name, ""))
            if key := named_key(node):
                way = along(path, Step(Each.ELEMENT), *map(Step, key.split(".")))
                if way:
                    self.emit(way, shape_of_named_key(node), target)
        for argument in node.arguments:
            self.use(argument, UNKNOWN)

    def _call(self, node: Call) -> None:
        match node.function:
            case Name(name="range"):
                self._arguments(node, NUMBER, "number")
            case Name(name="loop"):
                self._arguments(node, LIST, "iterated")
            case Name(name="escape_special_characters"):
                self._arguments(node, TEXT, "text")
            case Attribute(target=target, name=name) if name in METHOD_SHAPES:
                self.use(target, METHOD_SHAPES[name], f".{name}")
                self._arguments(node, UNKNOWN)
            case function:
                self.use(function, Shape("callable", arguments=arguments_of(node)), "called")
                self._passes(node, path_of(function))
                self._arguments(node, UNKNOWN)

    def _passes(self, node: Call, callee: Path) -> None:
        """Note what a call hands to what may be a macro."""
        block, self.call_block = self.call_block, ""
        if not 0 < len(callee) <= _MOST_NAMES:
            return
        asked = tuple(self._asked)
        for number, argument in enumerate(node.arguments):
            named = argument if isinstance(argument, Keyword) else None
            path = path_of(named.value if named is not None else argument)
            place = named.name if named is not None else number
            self.events.append(Pass(path, callee, place, block, asked, self._where))

    def _arguments(self, node: Call, shape: Shape, need: str = "") -> None:
        for argument in node.arguments:
            if isinstance(argument, Keyword):
                self.use(argument.value, shape)
            else:
                self.use(argument, shape, need)


def _same_key(step: Step, other: Step) -> bool:
    return step.key == other.key


def _type_asked_for(test: str, *, is_told: bool, is_refused: bool) -> Shape:
    """What a test says of the value that it looks at.

    `is_told` where branches depend on it alone, `is_refused` where the first of them is for other types.
    """
    kind = TYPE_TESTS.get(test)
    if kind is None:
        return TEST_SHAPES.get(test, UNKNOWN)
    if not is_told:
        return ANY
    return Shape("unknown" if is_refused else kind, tested=frozenset({kind}))
