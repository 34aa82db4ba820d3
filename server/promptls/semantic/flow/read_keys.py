"""Find the keys that a template reads from values, and the access path from an input to each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from promptls.semantic.flow import paths
from promptls.semantic.flow.analysis import FlowAnalysis
from promptls.semantic.flow.shapes import resolved_at, stretches
from promptls.semantic.flow.tag_flow import chunk_uses
from promptls.semantic.flow.use import Use
from promptls.semantic.flow.uses import METHOD_SHAPES
from promptls.semantic.names.scopes import GLOBALS, IMPLIED, INJECTED
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Constant,
    Expression,
    Filter,
    Item,
    Keyword,
    Operation,
    Statement,
    children,
)
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import Span


class KeyPlace(NamedTuple):
    """A key at `span`, without quotes; `path` leads to its value from a variable in the tag."""

    name: str
    span: Span
    path: paths.Path


class TagKeys(NamedTuple):
    """The keys that one tag of a chunk reads; `end` is where the tag ends in the chunk.

    Keys read `inside` see the tag's own names, such as in the condition of a loop.
    """

    start: int
    end: int
    keys: tuple[KeyPlace, ...]
    keys_inside: tuple[KeyPlace, ...] = ()


@chunk_fact
def _chunk_keys(chunk: Chunk) -> tuple[TagKeys, ...]:
    """Return the keys that each tag of the chunk reads, in order; spans count from the chunk's start."""
    return tuple(
        _of_statement(tag_tree(tag).statement, tag.text, *tag.span)
        for tag in chunk.tags
        if tag.kind in {"output", "statement"}
    )


def _names_in(chunk: Chunk) -> frozenset[str]:
    return frozenset(key.name for tag in _chunk_keys(chunk) for key in (*tag.keys, *tag.keys_inside))


key_names: Final = summary(_names_in, union)
"""The names of all keys that a piece of a file reads."""


def _of_statement(statement: Statement, text: str, start: int, end: int) -> TagKeys:
    reader = _Reader(text, start)
    for expression in statement.expressions:
        reader.read(expression)
    if statement.keyword == "elif":  # names bound in the previous branch are unknown in this one
        return TagKeys(start, end, (), tuple(reader.keys))
    inside = _Reader(text, start)
    if statement.loop_test is not None:
        inside.read(statement.loop_test)
    return TagKeys(start, end, tuple(reader.keys), tuple(inside.keys))


class _Reader:
    """Collects the keys in the expressions of one tag."""

    def __init__(self, text: str, start: int) -> None:
        self._text: Final = text
        self._start: Final = start
        self.keys: list[KeyPlace] = []

    def read(self, node: Expression) -> None:
        """Collect the keys of an expression."""
        if paths.path_of(node):
            self._visit_path(node)
            return
        match node:
            case Filter(target=target):
                self._filter(node)
                self._read_all(() if target is None else (target,))
            case Call(function=Attribute(target=target, name=name), arguments=arguments) if (
                name in METHOD_SHAPES
            ):
                self._read_all((target, *arguments))
            case _:
                self._read_all(children(node))

    def _read_all(self, nodes: tuple[Expression, ...]) -> None:
        for each in nodes:
            self.read(each)

    def _visit_path(self, node: Expression) -> None:
        while True:
            match node:
                case Attribute(target=target, name=name):
                    self._key(name, node.name_span, paths.path_of(node))
                    node = target
                case Item(target=target, key=key):
                    self._constant(key, paths.path_of(node))
                    node = target
                case Call(function=Attribute(target=target), arguments=(key, *rest)):
                    self._constant(key, paths.path_of(node))
                    self._read_all(tuple(rest))
                    node = target
                case Call(function=Attribute(target=target, name=name)) if name in paths.VIEWS:
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
        """Visit the key that is passed to a filter, and the other arguments."""
        key = paths.named_key(node)
        path = paths.path_of(node.target) if node.target is not None else ()
        for argument in node.arguments:
            value = argument.value if isinstance(argument, Keyword) else argument
            if key and path and isinstance(value, Constant) and value.value == key:
                self._dotted(value, paths.extend_path(path, paths.Step(paths.Each.ELEMENT)))
                key = ""
            else:
                self.read(value)

    def _dotted(self, node: Constant, path: paths.Path) -> None:
        """Visit the keys of a text such as `author.name`, one after the other."""
        inside = self._span_inside_quotes(node)
        begin = inside.start if inside is not None else 0
        for name in str(node.value).split("."):
            path = paths.extend_path(path, paths.Step(name))
            if inside is not None:
                self._key(name, Span(begin, begin + len(name)), path)
            begin += len(name) + 1

    def _constant(self, node: Expression, path: paths.Path) -> None:
        """Visit a quoted key; numbers and other keys are ignored."""
        if isinstance(node, Constant) and isinstance(node.value, str):
            inside = self._span_inside_quotes(node)
            if inside is not None:
                self._key(node.value, inside, path)
        else:
            self.read(node)

    def _span_inside_quotes(self, node: Constant) -> Span | None:
        """Return the span of a text between its quotes, or None if it has escapes."""
        span = Span(node.span.start + 1, node.span.end - 1)
        return span if self._text[span.start : span.end] == node.value else None

    def _key(self, name: str, span: Span, path: paths.Path) -> None:
        if name and path:
            self.keys.append(KeyPlace(name, span.shifted(self._start), path))


KeyPath: TypeAlias = tuple[str | paths.Each, ...]
"""The path from an input to a value; an element by index is treated like any element."""

_NO_INPUTS: Final = GLOBALS | INJECTED | IMPLIED


class KeyRead(NamedTuple):
    """A key that is read at `span` of the file, and the path to it; empty if it is unknown."""

    key_path: KeyPath
    span: Span
    name: str


def key_path_of(path: paths.Path) -> KeyPath:
    """Return the keys and elements along a path.

    Empty if it does not begin at an input, or does not end at a value from the caller.
    """
    if (
        not path
        or path[0].key in _NO_INPUTS
        or paths.is_macro(path[0].key)
        or paths.without_views(path) != path
    ):
        return ()
    return tuple(
        paths.Each.ELEMENT if step.key is paths.Each.INDEX else step.key
        for step in path
        if not isinstance(step.key, paths.View)
    )


def access_path_of(key_path: KeyPath) -> paths.Path:
    """Return the path with these keys and elements."""
    return tuple(paths.Step(key) for key in key_path)


def keys_named(template: Template, name: str) -> Iterator[KeyRead]:
    """Yield every key of this name that the template reads, in order."""
    chunks, analysis = template.source.root, FlowAnalysis()
    for located in chunks.placed() if name in key_names(chunks) else ():
        if name not in key_names(located.chunk):
            analysis.take(stretches(located.chunk))
            continue
        for key, key_path in _resolved(located.chunk, analysis, name):
            yield KeyRead(key_path, key.span.shifted(located.start), name)


def key_read_at(template: Template, offset: int) -> KeyRead | None:
    """Return the key whose name is at `offset`, or ends there.

    Only reads the enclosing blocks.
    """
    located = template.source.located(offset)
    inside = offset - located.start
    for tag in _chunk_keys(located.chunk):
        if not tag.start <= inside <= tag.end:
            continue
        for keys, place in ((tag.keys, located.start + tag.start), (tag.keys_inside, offset)):
            for key in keys:
                if key.span.touches(inside):
                    key_path = key_path_of(resolved_at(template, key.path, place))
                    key_path = key_path if key_path[-1:] == (key.name,) else ()
                    return KeyRead(key_path, key.span.shifted(located.start), key.name)
    return None


def _resolved(chunk: Chunk, analysis: FlowAnalysis, name: str) -> Iterator[tuple[KeyPlace, KeyPath]]:
    """Yield the keys of a chunk with this name and their paths, and advance the walk over the chunk."""
    for tag, read in zip(chunk_uses(chunk), _chunk_keys(chunk), strict=True):
        yield from _with_key_paths(read.keys, analysis, name)
        for event in tag.events:
            if not isinstance(event, Use):
                analysis.step(event)
        yield from _with_key_paths(read.keys_inside, analysis, name)


def _with_key_paths(
    keys: tuple[KeyPlace, ...], analysis: FlowAnalysis, name: str
) -> Iterator[tuple[KeyPlace, KeyPath]]:
    for key in keys:
        if key.name == name:
            key_path = key_path_of(analysis.resolved(key.path))
            yield key, key_path if key_path[-1:] == (name,) else ()
