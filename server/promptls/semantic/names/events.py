"""The name events of tags: which names are read and bound, and where blocks begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name, Statement, children
from promptls.syntax.jinja.statements import parse_tag
from promptls.text.positions import Span

_BODY_NAMES: Final = {"for": ("loop",), "macro": ("caller", "varargs", "kwargs"), "block": ("super",)}


class NameEvent(NamedTuple):
    """A step in a chunk's names, in order: `read`, `bind`, `open`, `middle` or `close`.

    `name` is the variable, or the keyword of the block; `detail` is how it is read (`call`,
    `attribute`, or empty) or bound (`set`, `for`, `macro`, `import`, `with`, `parameter`).
    `bound` contains what a block binds for its body. Spans count from the chunk's start.
    """

    action: str
    name: str
    span: Span
    detail: str = ""
    bound: tuple[tuple[str, Span, str], ...] = ()


@chunk_fact
def chunk_events(chunk: Chunk) -> tuple[NameEvent, ...]:
    """Return the name events of a chunk."""
    return tuple(_events(chunk))


def _events(chunk: Chunk) -> Iterator[NameEvent]:
    for tag in chunk.tags:
        if tag.kind in {"output", "statement"}:
            start = tag.span.start
            for action, name, span, detail, bound in _tag_events(tag.text, tag.inner_start, tag.inner_end):
                placed = tuple([(each, place.shifted(start), kind) for each, place, kind in bound])
                yield NameEvent(action, name, span.shifted(start), detail, placed)


@lru_cache(maxsize=4096)
def _tag_events(text: str, inner_start: int, inner_end: int) -> tuple[NameEvent, ...]:
    """Return the events of a tag, with spans from its start; cached by the tag's text, like its tree."""
    return tuple(_statement_events(parse_tag(text, inner_start, inner_end).statement))


def _statement_events(statement: Statement) -> Iterator[NameEvent]:
    keyword = statement.keyword
    if keyword.startswith("end"):
        yield NameEvent("close", keyword[3:], statement.keyword_span)
        return
    if keyword in {"elif", "else"}:
        yield NameEvent("middle", keyword, statement.keyword_span)
    yield from _reads_around(statement)
    targets = tuple(
        (name.name, name.span, keyword) for target in statement.targets for name in _target_names(target)
    )
    if statement.name and keyword in {"macro", "import"}:
        yield NameEvent("bind", statement.name, statement.name_span, keyword)
    for imported in statement.imported:
        yield NameEvent("bind", imported.alias, imported.alias_span, "import")
    if keyword == "set":
        for name, span, kind in targets:
            yield NameEvent("bind", name, span, kind)
    if statement.opens_block:
        own = () if keyword == "set" else targets
        parameters = tuple((item.name, item.span, "parameter") for item in statement.parameters)
        implied = tuple((name, Span(0, 0), "implied") for name in _BODY_NAMES.get(keyword, ()))
        yield NameEvent("open", keyword, statement.keyword_span, bound=(*own, *parameters, *implied))
    yield from _reads_inside(statement)


def _reads_around(statement: Statement) -> Iterator[NameEvent]:
    """Yield the readings of a tag before its block begins."""
    defaults = [item.default for item in statement.parameters]
    for expression in statement.expressions:
        if not any(expression is default for default in defaults):
            yield from _reads(expression)
    for target in statement.targets:
        if isinstance(target, Attribute):
            yield from _reads(target.target)
    if statement.loop_test is not None:  # it sees the loop's variable, and the outer `loop`
        yield from (read for read in _reads(statement.loop_test) if read.name == "loop")


def _reads_inside(statement: Statement) -> Iterator[NameEvent]:
    """Yield the readings inside a tag's block: a loop's condition, and defaults of parameters."""
    for item in statement.parameters:
        if item.default is not None:
            yield from _reads(item.default)
    if statement.loop_test is not None:
        yield from (read for read in _reads(statement.loop_test) if read.name != "loop")


def _target_names(target: Expression) -> Iterator[Name]:
    if isinstance(target, Name):
        yield target
    elif not isinstance(target, Attribute):
        for child in children(target):
            yield from _target_names(child)


def _reads(expression: Expression, how: str = "") -> Iterator[NameEvent]:
    if isinstance(expression, Name):
        yield NameEvent("read", expression.name, expression.span, how)
        return
    for child in children(expression):
        if isinstance(expression, Call) and child is expression.function:
            yield from _reads(child, "call")
        elif isinstance(expression, Attribute):
            yield from _reads(child, "attribute")
        else:
            yield from _reads(child)
