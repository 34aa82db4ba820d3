"""The names that stand in broken tags: one that nobody can read may bind them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.rules.rule import FileContext
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import union, united
from promptls.syntax.jinja.problems import tag_problems, tag_tree
from promptls.syntax.jinja.tag import Tag

_IN_OUTPUT: Final = re.compile(
    r"\bfor\s+([\w\s,]+?)\s+in\b|\b([fFrRbBuU]{1,2})(?=['\"])|\b(lambda|new|await)\b"
)
"""What a tag that prints would bind or be in Python: names of comprehensions, and signs of texts."""
_WORD: Final = re.compile(r"[^\W\d]\w*")
_BIND_NOTHING: Final = frozenset({"if", "elif", "include", "extends"})


def broken_names(context: FileContext) -> frozenset[str]:
    """The words in the broken tags of the file that may be meant to bind names."""
    return _words(context.template.source.root)


def _chunk_words(chunk: Chunk) -> frozenset[str]:
    places = [problem.span.start for problem in tag_problems(chunk)]
    if not places:
        return frozenset()
    return frozenset(
        word
        for tag in chunk.tags
        if tag.kind in {"statement", "output"}
        and any(tag.span.start <= place < tag.span.end for place in places)
        for word in _bound(tag)
    )


def _bound(tag: Tag) -> Iterator[str]:
    if tag.kind == "output":
        for match in _IN_OUTPUT.finditer(tag.text):
            yield from _WORD.findall(match.group())
    elif tag_tree(tag).statement.keyword not in _BIND_NOTHING:
        yield from _WORD.findall(tag.text)


_words: Final = united(_chunk_words, union)
