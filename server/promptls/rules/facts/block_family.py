"""The blocks of templates that extend one another."""

from __future__ import annotations

from typing import NamedTuple

from promptls.meaning.template import Template
from promptls.syntax.group import chunks_where
from promptls.syntax.jinja.named_blocks import block_names, has_blocks
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot


class BlockBody(NamedTuple):
    """A block: its name, where that stands, what is between its tags, and in how many blocks it is."""

    name: str
    span: Span
    body: Span
    depth: int


def block_tags_of(template: Template) -> tuple[BlockBody, ...]:
    """The blocks of a file that are closed, in the order of their beginnings."""
    found: list[BlockBody] = []
    stack: list[tuple[str, Span]] = []
    for located in chunks_where(template.source.root, has_blocks):
        for each in block_names(located.chunk):
            span = each.span.shifted(located.start)
            if each.opens:
                stack.append((each.name, span))
            elif stack:
                name, begin = stack.pop()
                found.append(BlockBody(name, begin, Span(begin.end, span.start), len(stack)))
    return tuple(sorted(found, key=lambda block: block.span))


def blocks_of(snapshot: Snapshot, path: str) -> frozenset[str]:
    """The names of the blocks that stand in the file at `path`."""
    template = snapshot.template(path)
    if template is None or not has_blocks(template.source.root):
        return frozenset()
    chunks = chunks_where(template.source.root, has_blocks)
    return frozenset(each.name for located in chunks for each in block_names(located.chunk) if each.opens)


def ancestors(snapshot: Snapshot, path: str) -> tuple[str, ...] | None:
    """The files that the one at `path` extends, over any number of steps; None where one cannot be known."""
    found: dict[str, None] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        template = snapshot.template(current)
        for reference in template.references if template is not None else ():
            if reference.keyword != "extends":
                continue
            target = snapshot.resolve(current, reference)
            if target is None or reference.alternatives:
                return None
            if target not in found:
                found[target] = None
                waiting.append(target)
    return tuple(found)


def family(snapshot: Snapshot, path: str) -> tuple[str, ...] | None:
    """The file at `path` with those that it extends and those that extend it; None where one cannot be known."""
    above = ancestors(snapshot, path)
    if above is None:
        return None
    below: dict[str, None] = {path: None}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        for child in sorted(snapshot.includers(current)):
            template = snapshot.template(child)
            extends = template is not None and any(
                each.keyword == "extends" and snapshot.resolve(child, each) == current
                for each in template.references
            )
            if extends and child not in below:
                below[child] = None
                waiting.append(child)
    return (*below, *above)
