"""Selections that grow: word, expression, tag, branch, block, value, entry, part, file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from promptls.meaning.parts import chunk_items
from promptls.meaning.template import Template
from promptls.meaning.value_lines import written_end
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.file_blocks import FileBlock, blocks_around, blocks_inside, with_ends_of_blocks
from promptls.syntax.jinja.nodes import Attribute, Filter, Keyword, Statement, Test, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.lines import line_end
from promptls.text.span import Span
from promptls.text.words import word_at
from promptls.workspace.snapshot import Snapshot


def selections(snapshot: Snapshot, path: str, offset: int) -> tuple[Span, ...]:
    """The stretches around `offset`, the smallest first, each inside the next; the file is the last."""
    template = snapshot.template(path)
    if template is None:
        return ()
    grown: list[Span] = []
    for span in sorted(set(_around(template, offset)), key=lambda span: (span.end - span.start, span)):
        inside = not grown or (span.start <= grown[-1].start and grown[-1].end <= span.end)
        if inside and not span.is_empty() and span.contains(offset):
            grown.append(span)
    return tuple(grown) or (Span(0, len(template.source)),)


def _around(template: Template, offset: int) -> Iterator[Span]:
    source = template.source
    located = source.located(offset)
    inside = offset - located.start
    yield Span(0, len(source))
    yield from (span.shifted(located.start) for span in _in_chunk(located.chunk, inside))
    header = template.header
    if header is not None and header.span.contains(offset):
        yield header.span
        if header.tree is not None:
            text = source.located(header.span.start).chunk.text
            yield from _nodes(header.tree, text, lambda span: span.contains(offset))
    for block in blocks_around(source, offset):
        if block.is_closed and block.span.contains(offset):
            yield from _block(block)


def _in_chunk(chunk: Chunk, offset: int) -> Iterator[Span]:
    line = max(chunk.text.rfind("\n", 0, offset), chunk.text.rfind("\r", 0, offset)) + 1
    end = line_end(chunk.text, offset)
    yield Span(line, end)
    bare = chunk.text[line:end].strip()
    if bare:
        start = chunk.text.index(bare, line)
        yield Span(start, start + len(bare))
    word = word_at(chunk.text, offset)
    if word is not None:
        yield word
    for tag in chunk.tags:
        if tag.span.contains(offset):
            yield from (span.shifted(tag.span.start) for span in _tag(tag))
    for block in blocks_inside(chunk):
        if block.span.contains(offset):
            yield from _block(block)
    for part in chunk_items(chunk).parts:
        end = max(part.span.end, written_end(chunk, part.entries))
        yield with_ends_of_blocks(chunk, Span(part.span.start, end))
        for entry in part.entries:
            yield with_ends_of_blocks(chunk, Span(entry.key.span.start, written_end(chunk, (entry,))))
    for root in chunk_yaml(chunk).roots:
        for span in _nodes(root, chunk.text, lambda span: with_ends_of_blocks(chunk, span).contains(offset)):
            yield with_ends_of_blocks(chunk, span)


def _tag(tag: Tag) -> Iterator[Span]:
    yield Span(0, len(tag.text))
    bare = tag.text[tag.inner_start : tag.inner_end].strip()
    if bare:
        start = tag.text.index(bare, tag.inner_start)
        yield Span(start, start + len(bare))
    if tag.kind == "raw":
        yield tag.body.shifted(-tag.span.start)
    if tag.kind in {"output", "statement"}:
        yield from _statement(tag_tree(tag).statement)


def _statement(statement: Statement) -> Iterator[Span]:
    tests = () if statement.loop_test is None else (statement.loop_test,)
    for expression in (*statement.targets, *statement.expressions, *tests):
        for node in walk(expression):
            yield node.span
            if isinstance(node, Attribute | Filter | Test):
                yield node.name_span
            elif isinstance(node, Keyword):
                yield Span(node.span.start, node.span.start + len(node.name))
    for parameter in statement.parameters:
        yield parameter.span
        if parameter.default is not None:
            yield Span(parameter.span.start, parameter.default.span.end)
    if statement.parameters:
        yield Span(statement.parameters[0].span.start, statement.parameters[-1].span.end)


def _block(block: FileBlock) -> Iterator[Span]:
    """Each branch without and with its tag, and the whole block."""
    for opening, closing in pairwise(block.tags):
        yield Span(opening.end, max(closing.start, opening.end))
        yield Span(opening.start, max(closing.start, opening.end))
    yield block.span


def _nodes(root: Node, text: str, is_near: Callable[[Span], bool]) -> Iterator[Span]:
    """The nodes of a tree that are near, and the entries that they are of."""
    stack = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen or not is_near(node.span):
            continue
        seen.add(id(node))
        yield node.span
        if isinstance(node, Sequence):
            stack.extend(node.items)
        elif isinstance(node, Mapping):
            for entry in node.entries:
                whole = Span(entry.key.span.start, max(entry.value.span.end, entry.key.span.end))
                if is_near(whole):
                    yield whole
                    stack += (entry.key, entry.value)
        elif isinstance(node, Scalar):
            yield from _inside_scalar(node, text[node.span.start : node.span.end])


def _inside_scalar(scalar: Scalar, written: str) -> Iterator[Span]:
    """The text of a scalar without its quotes, or without the line of its indicator."""
    if scalar.style in {"'", '"'} and len(written) > 1:
        yield Span(scalar.span.start + 1, scalar.span.end - 1)
    elif scalar.style in {"|", ">"} and "\n" in written:
        yield Span(scalar.span.start + written.index("\n") + 1, scalar.span.end)
