"""What one tag uses and binds, read from its tree: what it prints, iterates over, calls, asks for a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.meaning.comparisons import compared, is_cut
from promptls.meaning.demands import (
    ANY,
    FILTER_NEEDS,
    LIST,
    MAPPING,
    METHOD_SHAPES,
    NUMBER,
    SCALAR,
    TEST_SHAPES,
    TEXT,
    TYPE_TESTS,
    arguments_of,
    filter_shape,
    operand_need,
    operand_shapes,
)
from promptls.meaning.expression_paths import (
    DEFAULTS,
    VIEWS,
    asked_for,
    named_key,
    path_of,
    refused_by,
)
from promptls.meaning.parameter_roots import Parameter, caller_root, macro_root
from promptls.meaning.paths import (
    Each,
    Path,
    Step,
    View,
    ViewKind,
    along,
    extended,
    under_question,
    with_optional_end,
)
from promptls.meaning.shape import UNKNOWN, Shape
from promptls.meaning.use import Bind, Close, Event, Middle, Open, Pass, Use
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Conditional,
    Expression,
    Filter,
    Item,
    Keyword,
    Name,
    Operation,
    Statement,
    Test,
    children,
)

_IMPLIED: Final = {"macro": ("caller", "varargs", "kwargs"), "block": ("super",)}
"""The names that Jinja itself binds in a block."""
_MOST_NAMES: Final = 2
"""How many names call a macro: `show`, `tools.show`."""
_PAIR: Final = (Each.FIRST, Each.SECOND)


class TagReader:
    """Collects the uses in one tag."""

    def __init__(self, text: str) -> None:
        self._text: Final = text
        self._block = ""
        self._events: list[Event] = []
        self._asked: list[Path] = []

    # -- tags -----------------------------------------------------------------------

    def statement(self, statement: Statement) -> list[Event]:
        """The events of a tag."""
        keyword = statement.keyword
        if keyword.startswith("end"):
            self._events.append(Close(keyword[3:]))
        elif keyword in {"if", "elif"}:
            self._condition(statement)
        elif keyword == "else":
            self._events.append(Middle(keyword))
        elif keyword == "for":
            self._loop(statement)
        elif keyword in {"set", "with"}:
            self._assignment(statement)
        elif keyword == "output":
            for expression in statement.expressions:
                self._use(expression, SCALAR)
        else:
            self._other(statement)
        return self._events

    def _condition(self, statement: Statement) -> None:
        for test in statement.expressions:
            self._truth(test)
        asked = tuple(path for test in statement.expressions for path in asked_for(test))
        refused = tuple(path for test in statement.expressions for path in refused_by(test))
        if statement.keyword == "if":
            self._events.append(Open("if", asked=asked, asked_else=refused))
        else:
            self._events.append(Middle("elif", asked, refused))

    def _loop(self, statement: Statement) -> None:
        target = statement.targets[0] if statement.targets else None
        bound = [Bind("loop", ())]
        for over in statement.expressions:
            bound += self._bound_in_loop(over, target)
        self._events.append(Open("for", tuple(bound)))
        if statement.loop_test is not None:
            self._truth(statement.loop_test)

    def _bound_in_loop(self, over: Expression, target: Expression | None) -> Iterator[Bind]:
        mapping, view = _gone_through(over)
        if mapping is None:
            path = self._use(over, LIST, "iterated")
        else:
            path = extended(self._use(mapping, MAPPING, "mapping"), Step(View(view)))
        way = extended(path, Step(Each.ELEMENT))
        if way:
            self._emit(way, UNKNOWN, over)
        if isinstance(target, Name):
            yield Bind(target.name, way)
            return
        items = target.items if isinstance(target, Collection) else ()
        if way and mapping is None:
            self._emit(way, LIST, over)
        for index, item in enumerate(items):
            if isinstance(item, Name):
                yield Bind(item.name, extended(way, Step(_PAIR[index])) if index < len(_PAIR) else ())

    def _assignment(self, statement: Statement) -> None:
        paths = [
            with_optional_end(path) if is_cut(each) else path
            for each in statement.expressions
            for path in (self._use(each, UNKNOWN),)
        ]
        targets = statement.targets
        if len(paths) != len(targets) or (statement.keyword == "set" and statement.opens_block):
            paths = [()] * len(targets)
        bound: list[Bind] = []
        for target, path in zip(targets, paths, strict=True):
            if isinstance(target, Name):
                bound.append(Bind(target.name, path))
            else:
                bound += [Bind(name, ()) for name in _names_in(target)]
        if statement.keyword == "with":
            self._events.append(Open("with", tuple(bound)))
            return
        self._events += bound
        if statement.opens_block:
            self._events.append(Open("set"))

    def _other(self, statement: Statement) -> None:
        """A tag of any other kind: what it reads, and what it binds for others or inside."""
        if statement.keyword == "call" and statement.parameters:
            self._block = self._text
        for expression in statement.expressions:
            self._use(expression, UNKNOWN)
        defined = [statement.name] if statement.name and statement.keyword in {"macro", "import"} else []
        for name in (*defined, *(imported.alias for imported in statement.imported)):
            self._events.append(Bind(name, (Step(macro_root(name)),)))
        if statement.opens_block:
            self._events.append(Open(statement.keyword, tuple(self._bound_inside(statement))))

    def _bound_inside(self, statement: Statement) -> Iterator[Bind]:
        """What a block binds inside: the parameters of a macro or call block, and what Jinja adds."""
        owner = statement.name if statement.keyword == "macro" else self._text
        for number, item in enumerate(statement.parameters):
            yield Bind(item.name, (Step(Parameter(owner, number, item.name).root),) if owner else ())
        for name in _IMPLIED.get(statement.keyword, ()):
            yield Bind(name, (Step(caller_root(owner)),) if name == "caller" and owner else ())

    # -- expressions ----------------------------------------------------------------

    def _emit(self, path: Path, shape: Shape, node: Expression, need: str = "") -> None:
        if not path:
            return
        if path[-1].key is Each.INDEX:
            path, shape, need = path[:-1], UNKNOWN, ""  # a text has elements with numbers too
        for asked in self._asked:
            path = under_question(path, asked)
        self._events.append(Use(path, shape, node.span, need))

    def _use(self, node: Expression, shape: Shape, need: str = "") -> Path:
        """Note that what `node` gives is used as `shape`, and fails to be without `need`; the path to it."""
        path = path_of(node)
        if path:
            self._emit(path, shape, node, need)
            self._on_the_way(node)
        else:
            self._inside(node, shape)
        return path

    def _truth(self, node: Expression) -> None:
        """Note that a value is only asked whether it is true."""
        if isinstance(node, Operation) and node.operators[0] in {"and", "or", "not"}:
            self._logic(node, None)
        elif path := path_of(node):
            self._emit(with_optional_end(path), UNKNOWN, node)
            self._on_the_way(node)
        else:
            self._inside(node, UNKNOWN)

    def _logic(self, node: Operation, shape: Shape | None) -> None:
        """The operands of `and`, `or` and `not`; behind `and` the ones before it hold, behind `or` not."""
        asked = len(self._asked)
        last = len(node.operands) - 1
        for index, operand in enumerate(node.operands):
            if shape is None or index < last:
                self._truth(operand)
            else:
                self._use(operand, shape)
            self._asked += asked_for(operand) if node.operators[0] == "and" else refused_by(operand)
        del self._asked[asked:]

    def _on_the_way(self, node: Expression) -> None:
        """The uses inside an expression that is a path: by its filters, and of its arguments."""
        match node:
            case Attribute(target=target):
                self._on_the_way(target)
            case Item(target=target, key=key):
                self._on_the_way(target)
                self._inside(key, UNKNOWN)
            case Filter(target=target) if target is not None:
                self._filter(node, path_of(target))
                self._on_the_way(target)
            case Call(function=Attribute(target=target, name=name), arguments=arguments):
                if name in VIEWS:
                    self._emit(path_of(target), MAPPING, target, f".{name}")
                self._on_the_way(target)
                for argument in arguments:
                    self._use(argument, UNKNOWN)
            case Operation(operands=operands):
                self._on_the_way(operands[0])
                for operand in operands[1:]:
                    self._use(operand, UNKNOWN)

    def _inside(self, node: Expression, shape: Shape) -> None:
        """The uses inside an expression that is no path itself."""
        match node:
            case Operation(operators=("and" | "or" | "not" as word, *_)):
                self._logic(node, None if word == "not" else shape)
            case Operation():
                for operand, needed in zip(node.operands, operand_shapes(node), strict=True):
                    self._use(operand, needed, operand_need(node, needed))
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
                    self._use(child, UNKNOWN)

    def _comparison(self, node: Operation) -> None:
        """Note what a value is compared with, where it is compared as it is."""
        for value, constants in compared(node):
            self._events.append(Use(path_of(value), UNKNOWN, value.span, compared=tuple(constants)))

    def _conditional(self, node: Conditional, shape: Shape) -> None:
        self._truth(node.test)
        asked = len(self._asked)
        self._asked += asked_for(node.test)
        self._use(node.then, shape)
        del self._asked[asked:]
        if node.otherwise is not None:
            self._asked += refused_by(node.test)
            self._use(node.otherwise, shape)
            del self._asked[asked:]

    def _test(self, node: Test) -> None:
        path = path_of(node.target)
        if not path:
            self._inside(node.target, UNKNOWN)
        elif node.name in {"defined", "undefined", "none"}:
            self._emit(with_optional_end(path), UNKNOWN, node.target)
            self._on_the_way(node.target)
        else:
            shape = ANY if node.name in TYPE_TESTS else TEST_SHAPES.get(node.name, UNKNOWN)
            self._emit(path, shape, node.target)
            self._on_the_way(node.target)
        for argument in node.arguments:
            self._use(argument, UNKNOWN)

    def _filter(self, node: Filter, path: Path) -> None:
        """What a filter says of the value at `path` that it is given, and what its arguments use."""
        target = node.target
        if path and target is not None and (shape := filter_shape(node)) is not None:
            way = with_optional_end(path) if node.name in DEFAULTS else path
            self._emit(way, shape, target, FILTER_NEEDS.get(node.name, ""))
            if key := named_key(node):
                way = along(path, Step(Each.ELEMENT), *map(Step, key.split(".")))
                if way:
                    self._emit(way, NUMBER if node.name == "sum" else UNKNOWN, target)
        for argument in node.arguments:
            self._use(argument, UNKNOWN)

    def _call(self, node: Call) -> None:
        match node.function:
            case Name(name="range"):
                self._arguments(node, NUMBER, "number")
            case Name(name="escape_special_characters"):
                self._arguments(node, TEXT, "text")
            case Attribute(target=target, name=name) if name in METHOD_SHAPES:
                self._use(target, METHOD_SHAPES[name], f".{name}")
                self._arguments(node, UNKNOWN)
            case function:
                self._use(function, Shape("callable", arguments=arguments_of(node)), "called")
                self._passes(node, path_of(function))
                self._arguments(node, UNKNOWN)

    def _passes(self, node: Call, callee: Path) -> None:
        """Note what a call hands to what may be a macro."""
        block, self._block = self._block, ""
        if not 0 < len(callee) <= _MOST_NAMES:
            return
        asked = tuple(self._asked)
        for number, argument in enumerate(node.arguments):
            named = argument if isinstance(argument, Keyword) else None
            path = path_of(named.value if named is not None else argument)
            place = named.name if named is not None else number
            self._events.append(Pass(path, callee, place, block, asked))

    def _arguments(self, node: Call, shape: Shape, need: str = "") -> None:
        for argument in node.arguments:
            if isinstance(argument, Keyword):
                self._use(argument.value, shape)
            else:
                self._use(argument, shape, need)


def _gone_through(over: Expression) -> tuple[Expression | None, ViewKind]:
    """The mapping that a loop goes through by a method or filter, and what it goes through of it."""
    match over:
        case Call(function=Attribute(target=mapping, name=name), arguments=()) if name in VIEWS:
            return mapping, VIEWS[name]
        case Filter(name="items" | "dictsort", target=target) if target is not None:
            return target, "entries"
        case _:
            return None, "entries"


def _names_in(target: Expression) -> Iterator[str]:
    if isinstance(target, Name):
        yield target.name
    elif isinstance(target, Collection):
        for item in target.items:
            yield from _names_in(item)
