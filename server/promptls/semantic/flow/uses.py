"""Find how the expressions of a tag use values: each by its path, with the shape that its use requires."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from promptls.semantic.flow import paths
from promptls.semantic.flow.conditions import compared_values, conditions_of
from promptls.semantic.flow.use import (
    TYPE_TESTS,
    Conditions,
    Event,
    Narrowed,
    Pass,
    TypeTests,
    Use,
    narrow_shape,
    type_tests,
)
from promptls.semantic.types.shape import OTHERS, UNKNOWN, Arguments, Shape, refusing_null
from promptls.syntax.jinja import nodes

SCALAR: Final = Shape("scalar")
SEQUENCE: Final = Shape("sequence")
CONTAINER: Final = Shape("container")
TEXT: Final = Shape("text")
NUMBER: Final = Shape("number")
BOOLEAN: Final = Shape("boolean")
LIST: Final = Shape("list")
_PRINTED: Final = Shape("list", element=SCALAR)
_NUMBERS: Final = Shape("list", element=NUMBER)
MAPPING: Final = Shape("mapping")
ANY: Final = Shape("any")


_TAKES_LIST: Final = frozenset({"join", "map", "batch", "slice", "sum", "groupby"})
_TAKES_TEXT: Final = frozenset(
    {"capitalize", "center", "indent", "lower", "replace", "striptags", "title", "trim", "truncate",
     "upper", "urlize", "wordcount", "wordwrap", "e", "escape", "forceescape", "safe", "string",
     "int", "float"}
)  # fmt: skip
"""Filters that take text, and convert any other value to text."""
TEXT_FILTERS: Final = (_TAKES_TEXT - {"int", "float", "wordcount"}) | {
    *("filesizeformat", "format", "join", "pprint", "tojson", "urlencode"),
}
"""Filters that return text."""
FILTER_NEEDS: Final = {
    **dict.fromkeys(sorted(paths.SAME_LIST | _TAKES_LIST), "iterated"),
    **dict.fromkeys(("abs", "round"), "number"),
    **dict.fromkeys(("dictsort", "items"), "mapping"),
}
"""What a filter requires, as in `Use.need`."""
_MAPPING_METHODS: Final = frozenset({"items", "keys", "values", "get"})
_LIST_METHODS: Final = frozenset({"append", "extend", "insert", "sort", "reverse"})
_TEXT_METHODS: Final = frozenset(
    {"capitalize", "endswith", "format", "isdigit", "join", "lower", "lstrip", "partition", "removeprefix",
     "removesuffix", "replace", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
     "zfill"}
)  # fmt: skip
_EITHER_METHODS: Final = frozenset({"copy", "count", "index", "pop"})
_ORDER: Final = frozenset({"<", "<=", ">", ">="})
_COMPARING: Final = frozenset(
    {"==", "eq", "equalto", "!=", "ne", ">", "gt", "greaterthan", ">=", "ge", "<", "lt", "lessthan", "<=",
     "le"}
)  # fmt: skip
"""Tests that compare with their argument."""
_TESTED_WITH: Final = 2
"""The position of the test's argument in `selectattr`."""
_ARITHMETIC: Final = frozenset({"-", "/", "//", "**"})
_TAKES_COUNT: Final = frozenset({"batch", "center", "round", "slice", "truncate", "wordwrap"})
"""Filters whose first argument is a number."""
_RETURNS_NUMBER: Final = frozenset({"abs", "count", "float", "int", "length", "round", "sum", "wordcount"})
_CONVERSION: Final = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(\S)")
_CONVERTS_NUMBER: Final = "dioxXeEfFgG"
TEST_SHAPES: Final = {
    "true": BOOLEAN, "false": BOOLEAN, "odd": NUMBER, "even": NUMBER, "divisibleby": NUMBER,
}  # fmt: skip
_BY_FILTER: Final = {
    "abs": NUMBER, "round": NUMBER, "filesizeformat": NUMBER, "dictsort": MAPPING, "items": MAPPING,
}  # fmt: skip
METHOD_SHAPES: Final = {
    **dict.fromkeys(_MAPPING_METHODS, MAPPING),
    **dict.fromkeys(_LIST_METHODS, LIST),
    **dict.fromkeys(_TEXT_METHODS, TEXT),
    **dict.fromkeys(_EITHER_METHODS, UNKNOWN),
}


def _operand_shapes(node: nodes.Operation) -> list[Shape]:
    """Return the shape that an operator other than `and`, `or` and `not` requires of each operand."""
    if len(node.operators) == 1 and len(node.operands) > 1:
        left, right = node.operands
        operator = node.operators[0]
        return [_beside(operator, right, left), _beside(operator, left, right, is_right=True)]
    is_sign = len(node.operands) == 1
    return [NUMBER if is_sign else UNKNOWN for _ in node.operands]


def _operand_need(node: nodes.Operation, shape: Shape) -> str:
    """Return what an operand must be for the operation to succeed; empty if any type is valid."""
    operator = node.operators[0] if len(node.operators) == 1 else ""
    if operator in _ARITHMETIC and shape == NUMBER:
        return "number"
    if operator in _ORDER or operator == "+":
        return {"number": "number", "text": "text"}.get(shape.kind, "")
    return ""


def _beside(
    operator: str, other: nodes.Expression, own: nodes.Expression, *, is_right: bool = False
) -> Shape:
    """Return the required shape of an operand whose other operand is `other`."""
    known = _constant_shape(other)
    if operator == "~":
        return SCALAR
    if operator in {"==", "!="}:
        return known or UNKNOWN
    if operator in {"in", "not in"}:
        is_texts = (
            isinstance(other, nodes.Collection)
            and bool(other.items)
            and all(isinstance(item, nodes.Constant) and isinstance(item.value, str) for item in other.items)
        )
        return CONTAINER if is_right else TEXT if is_texts else UNKNOWN
    if operator in _ARITHMETIC or (operator in _ORDER and known is not None):
        return known if known is not None and operator in _ORDER else NUMBER
    if operator == "*":
        return NUMBER
    if operator == "%" and isinstance(own, nodes.Constant):
        return UNKNOWN
    if operator == "%" and is_right and known is TEXT:
        return _formatted(other, 1)[0]
    if operator == "%":
        return NUMBER if known is NUMBER and not is_right else UNKNOWN
    if operator == "+":
        is_list = isinstance(other, nodes.Collection) and other.kind == "list"
        return known or _summed(other) or (LIST if is_list else UNKNOWN)
    return UNKNOWN


def _summed(node: nodes.Expression) -> Shape | None:
    """Return the shape of an expression in a sum if it is certainly a text or a number.

    None if it may be of a different type.
    """
    match node:
        case nodes.Filter(name=name) if name in TEXT_FILTERS:
            return TEXT
        case nodes.Filter(name=name) if name in _RETURNS_NUMBER:
            return NUMBER
        case nodes.Operation(operators=("~",)):
            return TEXT
        case nodes.Operation(operators=(operator,), operands=(_, _)) if operator in _ARITHMETIC:
            return NUMBER
        case nodes.Operation(operators=("+",), operands=(left, right)):
            return _constant_shape(left) or _constant_shape(right) or _summed(left) or _summed(right)
        case _:
            return None


def _formatted(text: nodes.Expression, count: int) -> list[Shape]:
    """Return the shapes of the values that a text takes with `%`; unknown if it takes more or fewer."""
    written = text.value if isinstance(text, nodes.Constant) else None
    letters = (
        [each for each in _CONVERSION.findall(written) if each != "%"] if isinstance(written, str) else []
    )
    if len(letters) != count:
        return [UNKNOWN] * count
    return [NUMBER if each in _CONVERTS_NUMBER else UNKNOWN for each in letters]


def _argument_shapes(node: nodes.Filter) -> list[Shape]:
    """Return the shapes that a filter requires of its arguments."""
    count = len(node.arguments)
    if node.name == "format" and node.target is not None:
        return _formatted(node.target, count)
    return [NUMBER if index == 0 and node.name in _TAKES_COUNT else UNKNOWN for index in range(count)]


def _constant_shape(node: nodes.Expression) -> Shape | None:
    if isinstance(node, nodes.Constant):
        if isinstance(node.value, bool):
            return BOOLEAN
        if isinstance(node.value, (int, float)):
            return NUMBER
        if isinstance(node.value, str):
            return TEXT
    return None


def _filter_shape(node: nodes.Filter) -> Shape | None:
    """Return the shape that a filter requires of its value, or None if it accepts any."""
    name = node.name
    if name in paths.DEFAULTS:
        first = node.arguments[0] if node.arguments else None
        if isinstance(first, nodes.Collection):
            return MAPPING if first.kind == "dict" else LIST
        known = _constant_shape(first) if first is not None else None
        return known if known in (NUMBER, BOOLEAN) else UNKNOWN
    if name == "join" and not paths.named_key(node):
        return _PRINTED
    if name == "sum" and not paths.named_key(node):
        return _NUMBERS
    if name == "map" and _filter_named(node) in _TAKES_TEXT:
        return _PRINTED
    if name in paths.ONE_ELEMENT and not paths.named_key(node):
        return SEQUENCE
    if name in paths.SAME_LIST | _TAKES_LIST or (name in paths.ONE_ELEMENT and paths.named_key(node)):
        return LIST
    if name in _TAKES_TEXT:
        return SCALAR
    return _BY_FILTER.get(name, UNKNOWN)


def _shape_of_named_key(node: nodes.Filter) -> Shape:
    """Return the shape that a filter which uses a key of each element requires of the value under it."""
    if node.name == "sum":
        return NUMBER
    if node.name in {"sort", "groupby", "min", "max"}:
        return SCALAR
    if node.name in {"selectattr", "rejectattr"} and len(node.arguments) > _TESTED_WITH:
        test, value = node.arguments[1:3]
        if isinstance(test, nodes.Constant) and test.value in _COMPARING:
            return _constant_shape(value) or UNKNOWN
    return UNKNOWN


def _filter_named(node: nodes.Filter) -> object:
    """Return the filter whose name is passed to `map`."""
    first = node.arguments[0] if node.arguments else None
    return first.value if isinstance(first, nodes.Constant) else None


def arguments_of(node: nodes.Call) -> Arguments:
    """Return how many arguments a call passes, and under which names."""
    unpacks = any(isinstance(each, nodes.Keyword) and each.name in {"*", "**"} for each in node.arguments)
    count = sum(not isinstance(each, nodes.Keyword) for each in node.arguments)
    keywords = {each.name for each in node.arguments if isinstance(each, nodes.Keyword)} - {"*", "**"}
    return Arguments(count, None if unpacks else count, tuple(sorted(keywords)))


_MAX_CONDITIONS: Final = 50
"""How many operands of `and` and `or` count as conditions of the following ones."""
_MAX_NAMES: Final = 2
"""How many names the callee of a macro call has at most: `show`, `tools.show`."""


class ExpressionUses:
    """Collects the uses in the expressions of one tag, with the conditions of each of them.

    `call_block` is the text of a `call` tag whose call is visited next, to identify its block.
    `branches` counts the enclosing expressions that may not be evaluated.
    """

    def __init__(self) -> None:
        self.events: Final[list[Event]] = []
        self.call_block = ""
        self._present: list[paths.Path] = []
        self._typed: list[Narrowed] = []
        self._where: Conditions = ()
        self._types = TypeTests()
        self._is_last = False
        self.branches = 0

    def emit(self, path: paths.Path, shape: Shape, node: nodes.Expression, need: str = "") -> None:
        """Record that the value at `path`, which is the value of `node`, is used as `shape`."""
        if not path:
            return
        if path[-1].key is paths.Each.INDEX:
            path, shape, need = path[:-1], SEQUENCE, ""  # text can be indexed by numbers too
        if need and shape.kind in {"text", "number"}:
            shape = refusing_null(shape)
        for tested in self._present:
            path = paths.under_question(path, tested)
        for narrow in self._typed:
            if len(narrow.path) <= len(path) and all(map(_same_key, narrow.path, path)):
                shape = shape if len(narrow.path) < len(path) else narrow_shape(shape, (), narrow.kind)
        self.events.append(
            Use(path, shape, node.span, need, is_branched=self.branches > 0, where=self._where)
        )

    @contextmanager
    def telling(self, types: TypeTests, *, is_last: bool = False) -> Iterator[None]:
        """Declare, while a condition is visited, the tests in it that determine the types of its branches.

        `is_last` is True if other types have been tested before, so that a value of one of them must exist.
        """
        before = self._types, self._is_last
        self._types, self._is_last = types, is_last
        yield
        self._types, self._is_last = before
        for test in types.others:
            self.emit(paths.with_optional_end(paths.path_of(test.target)), OTHERS, test.target)

    def use(self, node: nodes.Expression, shape: Shape, need: str = "") -> paths.Path:
        """Record that the value of `node` is used as `shape`, which requires `need`; return its path.

        While a filter is being typed, the value counts as used without it.
        """
        if isinstance(node, nodes.Filter) and not node.name and node.target is not None:
            node = node.target
        path = paths.path_of(node)
        if path:
            self.emit(path, shape, node, need)
            self._visit_path(node)
        else:
            self._inside(node, shape)
        return path

    def truth(self, node: nodes.Expression) -> None:
        """Record that only the truth of a value is tested."""
        if isinstance(node, nodes.Operation) and node.operators[0] in {"and", "or", "not"}:
            self._logic(node, None)
        elif path := paths.path_of(node):
            self.emit(paths.with_optional_end(path), UNKNOWN, node)
            self._visit_path(node)
        else:
            self._inside(node, UNKNOWN)

    def _logic(self, node: nodes.Operation, shape: Shape | None) -> None:
        """Visit the operands of `and`, `or` and `not`: `and` implies the earlier ones, `or` refutes them."""
        tested, where = len(self._present), self._where
        is_all = node.operators[0] == "and"
        last = len(node.operands) - 1
        for index, operand in enumerate(node.operands):
            if shape is None or index < last:
                self.truth(operand)
            else:
                self.use(operand, shape)
            if len(self._present) < _MAX_CONDITIONS:
                self._present += paths.present_if_true(operand) if is_all else paths.present_if_false(operand)
            if index < last and len(self._where) < _MAX_CONDITIONS:
                self._where += conditions_of(operand, holds=is_all)
            self.branches += index == 0
        del self._present[tested:]
        self._where = where
        self.branches -= 1

    def _visit_path(self, node: nodes.Expression) -> None:
        """Visit the uses inside a path expression: in its filters and arguments."""
        match node:
            case nodes.Attribute(target=target):
                self._visit_path(target)
            case nodes.Item(target=target, key=key):
                if isinstance(key, nodes.Slice):
                    self.emit(paths.path_of(target), SEQUENCE, target)
                    for bound in nodes.children(key):
                        self.use(bound, NUMBER)
                else:
                    self._inside(key, UNKNOWN)
                self._visit_path(target)
            case nodes.Filter(target=target) if target is not None:
                self._filter(node, paths.path_of(target))
                self._visit_path(target)
            case nodes.Call(function=nodes.Attribute(target=target, name=name), arguments=arguments):
                if name in paths.VIEWS:
                    self.emit(paths.path_of(target), MAPPING, target, f".{name}")
                self._visit_path(target)
                for argument in arguments:
                    self.use(argument, UNKNOWN)
            case nodes.Operation(operands=operands):
                self._visit_path(operands[0])
                for operand in operands[1:]:
                    self.use(operand, UNKNOWN)

    def _inside(self, node: nodes.Expression, shape: Shape) -> None:
        """Visit the uses inside an expression that is not a path."""
        match node:
            case nodes.Operation(operators=("and" | "or" | "not" as word, *_)):
                self._logic(node, None if word == "not" else shape)
            case nodes.Operation():
                is_sum = node.operators == ("+",) and shape.kind in {"text", "number"}
                for operand, tested in zip(node.operands, _operand_shapes(node), strict=True):
                    needed = shape if is_sum and tested is UNKNOWN else tested
                    self.use(operand, needed, _operand_need(node, needed))
                self._comparison(node)
            case nodes.Conditional():
                self._conditional(node, shape)
            case nodes.Test():
                self._test(node)
            case nodes.Filter(target=target):
                path = paths.path_of(target) if target is not None else ()
                self._filter(node, path)
                if target is not None:
                    self._visit_path(target) if path else self._inside(target, UNKNOWN)
            case nodes.Call():
                self._call(node)
            case _:
                for child in nodes.children(node):
                    self.use(child, UNKNOWN)

    def _comparison(self, node: nodes.Operation) -> None:
        """Record what a value is compared with, if it is compared directly."""
        for value, constants in compared_values(node):
            self.events.append(Use(paths.path_of(value), UNKNOWN, value.span, compared=tuple(constants)))

    def _conditional(self, node: nodes.Conditional, shape: Shape) -> None:
        types = type_tests(node.test)
        with self.telling(types):
            self.truth(node.test)
        tested, typed, where = len(self._present), len(self._typed), self._where
        self._where += conditions_of(node.test)
        self._present += paths.present_if_true(node.test)
        self._typed += types.holds
        self.branches += 1
        self.use(node.then, shape)
        del self._present[tested:], self._typed[typed:]
        if node.otherwise is not None:
            for each in types.decisive:
                self.emit(paths.with_optional_end(paths.path_of(each.target)), OTHERS, each.target)
            self._where = where + conditions_of(node.test, holds=False)
            self._present += paths.present_if_false(node.test)
            self._typed += types.fails
            self.use(node.otherwise, shape)
            del self._present[tested:], self._typed[typed:]
        self._where = where
        self.branches -= 1

    def _test(self, node: nodes.Test) -> None:
        path = paths.path_of(node.target)
        if not path:
            self._inside(node.target, UNKNOWN)
        elif node.name in {"defined", "undefined", "none"}:
            self.emit(paths.with_optional_end(path), UNKNOWN, node.target)
            self._visit_path(node.target)
        else:
            is_decisive = any(node is each for each in self._types.decisive)
            is_refused = any(node is each for each in self._types.refused)
            shape = _tested_type(node.name, is_decisive=is_decisive, is_refused=is_refused)
            may_lack = is_decisive and not self._is_last
            self.emit(paths.with_optional_end(path) if may_lack else path, shape, node.target)
            self._visit_path(node.target)
        for argument in node.arguments:
            self.use(argument, UNKNOWN)

    def _filter(self, node: nodes.Filter, path: paths.Path) -> None:
        """Record the shape that a filter requires of the value at `path`, and visit its arguments."""
        target = node.target
        if path and target is not None and (shape := _filter_shape(node)) is not None:
            element = paths.with_optional_end(path) if node.name in paths.DEFAULTS else path
            self.emit(element, shape, target, FILTER_NEEDS.get(node.name, ""))
            if shape.element is not None and not isinstance(target, nodes.Filter):
                each = paths.along(path, paths.Step(paths.Each.ELEMENT))
                self.emit(each, shape.element, target, "number" if shape is _NUMBERS else "printed")
            if (key := paths.key_argument(node)) is not None:
                steps = map(paths.Step, str(key.value).split("."))
                element = paths.along(path, paths.Step(paths.Each.ELEMENT), *steps)
                if element:
                    self.emit(element, _shape_of_named_key(node), key)
        for argument, needed in zip(node.arguments, _argument_shapes(node), strict=True):
            self.use(argument, needed)

    def _call(self, node: nodes.Call) -> None:
        match node.function:
            case nodes.Name(name="range"):
                self._arguments(node, NUMBER, "number")
            case nodes.Name(name="loop"):
                self._arguments(node, LIST, "iterated")
            case nodes.Name(name="escape_special_characters"):
                self._arguments(node, TEXT, "text")
            case nodes.Attribute(target=target, name=name) if name in METHOD_SHAPES:
                self.use(target, METHOD_SHAPES[name], f".{name}")
                self._arguments(node, UNKNOWN)
            case function:
                self.use(function, Shape("callable", arguments=arguments_of(node)), "called")
                self._passes(node, paths.path_of(function))
                self._arguments(node, UNKNOWN)

    def _passes(self, node: nodes.Call, callee: paths.Path) -> None:
        """Record the arguments of a call whose callee may be a macro."""
        block, self.call_block = self.call_block, ""
        if not 0 < len(callee) <= _MAX_NAMES:
            return
        tested = tuple(self._present)
        for index, argument in enumerate(node.arguments):
            named = argument if isinstance(argument, nodes.Keyword) else None
            path = paths.path_of(named.value if named is not None else argument)
            place = named.name if named is not None else index
            self.events.append(Pass(path, callee, place, block, tested, self._where))

    def _arguments(self, node: nodes.Call, shape: Shape, need: str = "") -> None:
        for argument in node.arguments:
            if isinstance(argument, nodes.Keyword):
                self.use(argument.value, shape)
            else:
                self.use(argument, shape, need)


def _same_key(step: paths.Step, other: paths.Step) -> bool:
    return step.key == other.key


def _tested_type(test: str, *, is_decisive: bool, is_refused: bool) -> Shape:
    """Return what a test reveals about the value that it tests.

    `is_decisive` is True if branches depend on it alone, `is_refused` if the first is for other types.
    """
    kind = TYPE_TESTS.get(test)
    if kind is None:
        return TEST_SHAPES.get(test, UNKNOWN)
    if not is_decisive:
        return ANY
    return Shape("unknown" if is_refused else kind, tested=frozenset({kind}))
