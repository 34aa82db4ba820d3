"""The keys that a template reads from values, and the access path from an input to each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from promptls.semantic.flow.expression_paths import VIEWS, named_key, path_of
from promptls.semantic.flow.paths import (
    Each,
    Path,
    Step,
    View,
    along,
    extended,
    is_macro,
    used_whole,
    without_views,
)
from promptls.semantic.flow.shapes import resolved_at, stretches
from promptls.semantic.flow.tags import chunk_uses
from promptls.semantic.flow.use import Use
from promptls.semantic.flow.uses import METHOD_SHAPES
from promptls.semantic.flow.walk import Walk
from promptls.semantic.names.scopes import GLOBALS, INJECTED
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.chunk_list import ChunkList, Located, Piece
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Conditional,
    Constant,
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
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import Span

Handling = Literal["asked", "iterated", "bound", "handed", "whole"]
"""What is done with a value: its truth or length is asked for, its elements are gone through, another
name stands for it, it is an argument of a call, or it is taken as it is, with all that it holds."""
_COUNTING: Final = frozenset({"length", "count"})
_COMPARING: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "and", "or", "not"})
_BY_KEY: Final = frozenset({"map", "join", "sum"})
"""Filters that give nothing but what stands under the key that they are told."""


class KeyPlace(NamedTuple):
    """A key at `span`, without quotes; `path` leads to its value from a variable that the tag names."""

    name: str
    span: Span
    path: Path
    is_quoted: bool


class ValueUse(NamedTuple):
    """What a tag does with the value at the end of a path; `span` is that of the expression.

    `callee` is the path to what a value that is `handed` on is handed to.
    """

    path: Path
    span: Span
    handling: Handling
    callee: Path = ()


class TagKeys(NamedTuple):
    """The keys and values that one tag of a chunk reads; `end` is where the tag ends in the chunk.

    What is read `inside` means what the tag's own names stand for: the condition of a loop.
    """

    start: int
    end: int
    keys: tuple[KeyPlace, ...]
    uses: tuple[ValueUse, ...]
    keys_inside: tuple[KeyPlace, ...] = ()
    uses_inside: tuple[ValueUse, ...] = ()


@chunk_fact
def chunk_keys(chunk: Chunk) -> tuple[TagKeys, ...]:
    """Return what each tag of the chunk reads, in order; spans count from the chunk's start."""
    return tuple(
        _of_statement(tag_tree(tag).statement, tag.text, *tag.span)
        for tag in chunk.tags
        if tag.kind in {"output", "statement"}
    )


def _names_in(chunk: Chunk) -> frozenset[str]:
    return frozenset(key.name for tag in chunk_keys(chunk) for key in (*tag.keys, *tag.keys_inside))


key_names: Final = summary(_names_in, union, of_tags=True)
"""The names of all keys that a piece of a file reads."""


def _of_statement(statement: Statement, text: str, start: int, end: int) -> TagKeys:
    reader = _Reader(text, start)
    handling: Handling = "whole"
    if statement.keyword in {"if", "elif"}:
        handling = "asked"
    elif statement.keyword == "for":
        handling = "iterated"
    elif statement.keyword in {"set", "with"} and all(isinstance(each, Name) for each in statement.targets):
        handling = "bound"
    for expression in statement.expressions:
        reader.read(expression, handling)
    if statement.keyword == "elif":  # what the branch above has bound is not known in this one
        return TagKeys(start, end, (), (), tuple(reader.keys), tuple(reader.uses))
    inside = _Reader(text, start)
    if statement.loop_test is not None:
        inside.read(statement.loop_test, "asked")
    return TagKeys(start, end, tuple(reader.keys), tuple(reader.uses), tuple(inside.keys), tuple(inside.uses))


class _Reader:
    """Collects keys and uses in the expressions of one tag."""

    def __init__(self, text: str, start: int) -> None:
        self._text: Final = text
        self._start: Final = start
        self.keys: list[KeyPlace] = []
        self.uses: list[ValueUse] = []

    def read(self, node: Expression, handling: Handling, callee: Path = ()) -> None:
        """Take in an expression with whose value this is done."""
        path = path_of(node)
        if path:
            self.uses.append(ValueUse(path, node.span.shifted(self._start), handling, callee))
            self._along(node)
            return
        match node:
            case Attribute(target=target, name=""):  # somebody is writing it
                self.read(target, "asked")
            case Operation():
                self._operands(node, handling)
            case Conditional(then=then, test=test, otherwise=otherwise):
                self.read(test, "asked")
                branches = (then,) if otherwise is None else (then, otherwise)
                self._read_all(branches, "whole" if handling == "bound" else handling)
            case Test(target=target, arguments=arguments):
                self.read(target, "asked")
                self._read_all(arguments)
            case Filter(target=target):
                self._filter(node)
                is_narrow = node.name in _COUNTING or (node.name in _BY_KEY and bool(named_key(node)))
                self._read_all(() if target is None else (target,), "asked" if is_narrow else "whole")
            case Call(function=Attribute(target=target, name=name), arguments=arguments) if (
                name in METHOD_SHAPES
            ):
                self._read_all((target, *arguments))
            case Call(function=function, arguments=arguments) if callee := path_of(function):
                self._read_all((function,))
                for each in arguments:
                    self.read(each.value if isinstance(each, Keyword) else each, "handed", callee)
            case _:
                self._read_all(children(node))

    def _operands(self, node: Operation, handling: Handling) -> None:
        """Visit the operands: a comparison tests its operand, `and` and `or` give one of their values."""
        operators = set(node.operators)
        is_given = operators <= {"and", "or"} and handling != "asked"
        asks = operators <= _COMPARING and not is_given
        self._read_all(node.operands, "asked" if asks else "whole")

    def _read_all(self, nodes: tuple[Expression, ...], handling: Handling = "whole") -> None:
        for each in nodes:
            self.read(each, handling)

    def _along(self, node: Expression) -> None:
        """Visit the keys on the way to the value of a path expression."""
        while True:
            match node:
                case Attribute(target=target, name=name):
                    self._key(name, node.name_span, path_of(node), is_quoted=False)
                    node = target
                case Item(target=target, key=key):
                    self._constant(key, path_of(node))
                    node = target
                case Call(function=Attribute(target=target), arguments=(key, *rest)):
                    self._constant(key, path_of(node))
                    self._read_all(tuple(rest))
                    node = target
                case Call(function=Attribute(target=target, name=name)) if name in VIEWS:
                    node = target
                case Filter(target=target) if target is not None:
                    self._filter(node)
                    node = target
                case Operation(operands=(first, *rest)):
                    self._read_all(tuple(rest))
                    node = first
                case _:
                    return

    def _filter(self, node: Filter) -> None:
        """Visit the key that a filter is given, and the other arguments."""
        key = named_key(node)
        way = path_of(node.target) if node.target is not None else ()
        for argument in node.arguments:
            value = argument.value if isinstance(argument, Keyword) else argument
            if key and way and isinstance(value, Constant) and value.value == key:
                element = extended(way, Step(Each.ELEMENT))
                self._dotted(value, element)
                found = along(element, *map(Step, key.split(".")))
                if found and not path_of(node):
                    self.uses.append(ValueUse(found, node.span.shifted(self._start), "whole"))
                key = ""
            else:
                self.read(value, "whole")

    def _dotted(self, node: Constant, way: Path) -> None:
        """Visit the keys of a text such as `author.name`, one after the other."""
        inside = self._inside_quotes(node)
        begin = inside.start if inside is not None else 0
        for name in str(node.value).split("."):
            way = extended(way, Step(name))
            if inside is not None:
                self._key(name, Span(begin, begin + len(name)), way, is_quoted=True)
            begin += len(name) + 1

    def _constant(self, node: Expression, path: Path) -> None:
        """Visit a quoted key; numbers and other keys are ignored."""
        if isinstance(node, Constant) and isinstance(node.value, str):
            inside = self._inside_quotes(node)
            if inside is not None:
                self._key(node.value, inside, path, is_quoted=True)
        else:
            self.read(node, "whole")

    def _inside_quotes(self, node: Constant) -> Span | None:
        """Return the span of a text between its quotes; None if it is not written as it is."""
        span = Span(node.span.start + 1, node.span.end - 1)
        return span if self._text[span.start : span.end] == node.value else None

    def _key(self, name: str, span: Span, path: Path, *, is_quoted: bool) -> None:
        if name and path:
            self.keys.append(KeyPlace(name, span.shifted(self._start), path, is_quoted))


Way: TypeAlias = tuple[str | Each, ...]
"""The way from an input to a value; an element by its number is an element like others."""

_NO_INPUTS: Final = GLOBALS | INJECTED | {"self", "loop", "caller", "varargs", "kwargs"}


class KeyRead(NamedTuple):
    """A key that is read at `span` of the file, and the way to it; empty where that is not known."""

    way: Way
    span: Span
    name: str
    is_quoted: bool


class ValueRead(NamedTuple):
    """What is done at `span` of the file with the value at the end of a way from an input.

    `callee` is what a value that is `handed` on is handed to.
    """

    way: Way
    span: Span
    handling: Handling
    callee: Path = ()


def way_of(path: Path) -> Way:
    """Return a path as a way.

    Empty where it begins at no input, or ends at no value that the caller gives.
    """
    if not path or path[0].key in _NO_INPUTS or is_macro(path[0].key) or without_views(path) != path:
        return ()
    return tuple(
        Each.ELEMENT if step.key is Each.INDEX else step.key
        for step in path
        if not isinstance(step.key, View)
    )


def path_along(way: Way) -> Path:
    """Return a way as a path."""
    return tuple(Step(key) for key in way)


def keys_named(template: Template, name: str) -> Iterator[KeyRead]:
    """Yield every key of this name that the template reads, in order."""
    for located, walk in _chunks(template.source.root, lambda piece: name in key_names(piece), Walk()):
        for what, way in _resolved(located.chunk, walk, name):
            if isinstance(what, KeyPlace):
                yield KeyRead(way, what.span.shifted(located.start), name, what.is_quoted)


def key_read_at(template: Template, offset: int) -> KeyRead | None:
    """Return the key whose name stands at `offset`, or ends there.

    Reads no more than the blocks around it.
    """
    located = template.source.located(offset)
    inside = offset - located.start
    for tag in chunk_keys(located.chunk):
        if not tag.start <= inside <= tag.end:
            continue
        for keys, place in ((tag.keys, located.start + tag.start), (tag.keys_inside, offset)):
            for key in keys:
                if key.span.contains(inside):
                    way = way_of(resolved_at(template, key.path, place))
                    way = way if way[-1:] == (key.name,) else ()
                    return KeyRead(way, key.span.shifted(located.start), key.name, key.is_quoted)
    return None


def values_used(template: Template, root: str) -> Iterator[ValueRead]:
    """Yield every use of a value that comes from the input `root`, in order. Goes over the whole file."""
    for located, walk in _chunks(template.source.root, lambda _: True, Walk()):
        for what, way in _resolved(located.chunk, walk):
            if isinstance(what, ValueUse) and way[:1] == (root,):
                span = what.span.shifted(located.start)
                yield ValueRead(way, span, what.handling, walk.resolved(what.callee) if what.callee else ())


def _chunks(chunks: ChunkList, holds: Callable[[Piece], bool], walk: Walk) -> Iterator[tuple[Located, Walk]]:
    """Yield the chunks for which `holds` is true, each with the blocks that are open at its beginning.

    Whoever takes a chunk leads the walk through it.
    """
    if not holds(chunks):
        return
    for located in chunks.placed():
        if holds(located.chunk):
            yield located, walk
        else:
            walk.take(stretches(located.chunk))


def _resolved(chunk: Chunk, walk: Walk, name: str | None = None) -> Iterator[tuple[KeyPlace | ValueUse, Way]]:
    """Yield the uses of a chunk, or its keys of this name, with their ways.

    Leads the walk through the chunk.
    """
    for tag, read in zip(chunk_uses(chunk), chunk_keys(chunk), strict=True):
        outer, inner = (read.keys, read.keys_inside) if name is not None else (read.uses, read.uses_inside)
        yield from _with_ways(outer, walk, name)
        for event in tag.events:
            if not isinstance(event, Use):
                walk.step(event)
        yield from _with_ways(inner, walk, name)


def _with_ways(
    found: tuple[KeyPlace, ...] | tuple[ValueUse, ...], walk: Walk, name: str | None
) -> Iterator[tuple[KeyPlace | ValueUse, Way]]:
    for each in found:
        if name is None or (isinstance(each, KeyPlace) and each.name == name):
            path = walk.resolved(each.path)
            if isinstance(each, KeyPlace):
                way = way_of(path)
                yield each, way if way[-1:] == (each.name,) else ()
            else:
                is_view = used_whole(path) != path and each.handling == "iterated"
                yield each._replace(handling="asked") if is_view else each, way_of(used_whole(path))
