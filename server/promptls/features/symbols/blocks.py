"""Blocks: a name that a template, those that extend it and those that it extends share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.features.symbols.symbol import Occurrence
from promptls.meaning.mentions import mentions_of
from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import chunks_where, united
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot


def block_places(snapshot: Snapshot, path: str, name: str) -> Iterator[Occurrence]:
    """The places of a block in the file at `path` and in every file that is tied to it by `extends`."""
    for other in family(snapshot, path):
        template = snapshot.template(other)
        if template is not None:
            yield from blocks_in(template, other, name)


def blocks_in(template: Template, path: str, name: str) -> Iterator[Occurrence]:
    """The places of a block in one file: where it begins, where it ends, where `self` calls it."""
    for mention in mentions_of(template.source, name):
        if mention.kind == "block":
            opens = _opens(template, mention.span)
            yield Occurrence(path, mention.span, "declaration" if opens else "read")


def block_names(template: Template) -> tuple[str, ...]:
    """The names of the blocks that a file itself defines, in order."""
    names: dict[str, None] = {}
    for located in chunks_where(template.source.root, _blocks):
        names.update(dict.fromkeys(_blocks(located.chunk)))
    return tuple(names)


def _chunk_blocks(chunk: Chunk) -> tuple[str, ...]:
    statements = (tag_tree(tag).statement for tag in chunk.tags if tag.kind == "statement")
    return tuple(each.name for each in statements if each.keyword == "block" and each.name)


_blocks: Final = united(
    _chunk_blocks, lambda found: tuple(name for each in found for name in each), of_tags=True
)
"""The names of the blocks that a piece of a file defines."""


def _opens(template: Template, span: Span) -> bool:
    located = template.source.located(span.start)
    for tag in located.chunk.tags:
        begin = located.start + tag.span.start
        if begin <= span.start < begin + len(tag.text):
            return tag.text[tag.inner_start :].lstrip().startswith("block")
    return False


def family(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """The files tied to the one at `path` by `extends`, over any number of steps; itself first."""
    found: dict[str, None] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop(0)
        if current in found:
            continue
        found[current] = None
        waiting += _parents(snapshot, current)
        children = sorted(snapshot.includers(current))
        waiting += (child for child in children if current in _parents(snapshot, child))
    return tuple(found)


def _parents(snapshot: Snapshot, path: str) -> list[str]:
    template = snapshot.template(path)
    references = template.references if template is not None else ()
    targets = (snapshot.resolve(path, each) for each in references if each.keyword == "extends")
    return [target for target in targets if target is not None]
