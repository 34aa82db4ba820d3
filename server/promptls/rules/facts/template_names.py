"""What a file writes where names of templates may come from, as an aspect of it that rules look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.meaning.template_names import NAMING
from promptls.rules.rule import FileContext
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import united
from promptls.syntax.jinja.problems import tag_tree


def written_texts(context: FileContext) -> object:
    """What the file writes where names of templates may come from, as an aspect of it."""
    return _texts(context.template.source.root)


_texts: Final = united(
    lambda chunk: tuple(_binding_tags(chunk)),
    tuple[object, ...],
    of_tags=True,
)


def _binding_tags(chunk: Chunk) -> Iterator[str]:
    for tag in chunk.tags:
        keyword = tag_tree(tag).statement.keyword if tag.kind == "statement" else ""
        if keyword in {"set", "for", "with"} | NAMING:
            yield tag.text
