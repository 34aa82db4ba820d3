"""Reads of iterators in variables after all of their elements have been read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.rule import File
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.jinja.nodes import Conditional, Expression, Filter, Name, Operation, Statement, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import Span

_NOT_READING: Final = frozenset({"d", "default"})
_OTHERS: Final = frozenset({"block", "call", "macro"})
"""Blocks whose content is not rendered once, in the order of the text."""


class _Event(NamedTuple):
    """A tag that sets or reads a variable (by its `name`), or that opens, divides or closes a block."""

    action: str
    name: str
    span: Span
    is_certain: bool = True
    """Whether the tag always reads the variable."""


class SecondRead(NamedTuple):
    """A read for which no elements are left; `is_loop` if that is the same read in an earlier round of a loop."""

    name: str
    span: Span
    is_loop: bool


@chunk_fact
def _events(chunk: Chunk) -> tuple[_Event, ...]:
    """Return the events of a chunk in the order of rendering; a loop reads its list before it begins."""
    found: list[_Event] = []
    blocks = {tag.place: tag for tag in block_tags(chunk)}
    for index, tag in enumerate(chunk.tags):
        if tag.kind not in {"output", "statement"} or (tree := tag_tree(tag)).problems:
            continue
        statement, start = tree.statement, tag.span.start
        for expression in statement.expressions:
            found += _reads(expression, start)
        if statement.keyword == "for" and statement.expressions:
            found += _read(statement.expressions[0], start, is_certain=True)
        if (block := blocks.get(index)) is not None:
            found.append(_Event(block.action, block.keyword, tag.span))
        if statement.loop_test is not None:
            found += _reads(statement.loop_test, start)
        found += [_Event("set", name, tag.span) for name in _set_names(statement)]
    return tuple(found)


def _set_names(statement: Statement) -> Iterator[str]:
    for target in statement.targets if statement.keyword == "set" else ():
        if isinstance(target, Name):
            yield target.name


def _reads(expression: Expression, start: int) -> Iterator[_Event]:
    """Yield the variables that filters and `in` read."""
    uncertain = {
        id(inner)
        for node in walk(expression)
        if isinstance(node, Conditional)
        or (isinstance(node, Operation) and set(node.operators) & {"and", "or"})
        for inner in walk(node)
    }
    for node in walk(expression):
        read: Expression | None = None
        if isinstance(node, Filter) and node.name not in _NOT_READING:
            read = node.target
        elif isinstance(node, Operation) and node.operators[0] in {"in", "not in"}:
            read = node.operands[1]
        yield from _read(read, start, is_certain=id(node) not in uncertain)


def _read(node: Expression | None, start: int, *, is_certain: bool) -> Iterator[_Event]:
    if isinstance(node, Name):
        yield _Event("read", node.name, node.span.shifted(start), is_certain)


_has_events: Final = summary(lambda chunk: bool(_events(chunk)), any)
_read_names: Final = summary(
    lambda chunk: frozenset(each.name for each in _events(chunk) if each.action == "read"), union
)


def read_names(file: File) -> frozenset[str]:
    """Return the variables of a file that filters, loops or `in` read."""
    return _read_names(file.chunks)


class _OpenBlocks:
    """The blocks around a place: the number of each, which differs between its branches, and its keyword."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.keywords: list[str] = []
        self._last = 0

    def pass_event(self, event: _Event) -> None:
        """Update the blocks at a tag that opens, divides or closes one."""
        self._last += 1
        if event.action == "open":
            self.numbers.append(self._last)
            self.keywords.append(event.name)
        elif event.action != "close":
            self.numbers[-1:] = [self._last]
        elif event.name in self.keywords:
            while self.keywords.pop() != event.name:
                self.numbers.pop()
            self.numbers.pop()


def second_reads(file: File, names: frozenset[str]) -> Iterator[SecondRead]:
    """Yield the reads of variables that are set once, to an iterator, if another read certainly comes first."""
    blocks = _OpenBlocks()
    set_in: dict[str, tuple[int, ...]] = {}
    read_in: dict[str, list[tuple[int, ...]]] = {}
    for located in file.chunks.where(_has_events):
        for event in _events(located.chunk):
            here = tuple(blocks.numbers)
            if event.action not in {"read", "set"}:
                blocks.pass_event(event)
            elif event.name not in names or not _OTHERS.isdisjoint(blocks.keywords):
                continue
            elif event.action == "set":
                set_in[event.name], read_in[event.name] = here, []
            elif event.name in set_in:
                around, before = set_in[event.name], read_in[event.name]
                is_after = any(here[: len(each)] == each for each in before)
                is_loop = here[: len(around)] == around and "for" in blocks.keywords[len(around) :]
                if is_after or is_loop:
                    yield SecondRead(event.name, event.span.shifted(located.start), not is_after)
                if event.is_certain:
                    before.append(here)
