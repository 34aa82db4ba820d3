"""Tags whose text the model does not get where they stand: in macros, in comments, in names of parts."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from promptls.meaning.parts import chunk_items
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import key_text
from promptls.text.lines import line_end
from promptls.text.span import Span

_COMMENT: Final = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_UNSENT: Final = frozenset({"name", "truncation_priority", "expected_template_data_keys", "tokens"})


class Held(NamedTuple):
    """Tags inside of macros and set blocks: what they print stands where the macro or the name is printed.

    `still_open` are the blocks that the chunk opens more than it closes, and `closed_at` is the place up to
    which it stands in one that is open above.
    """

    tags: frozenset[int]
    still_open: int
    closed_at: int


@kept
def held_tags(chunk: Chunk) -> Held:
    """What of the chunk stands in macros, and in blocks whose text is set."""
    inside: set[int] = set()
    around: list[bool] = []
    still_open = 0
    closed_at: int | None = None
    for index, tag in enumerate(chunk.tags):
        if any(around):
            inside.add(index)
        statement = tag_tree(tag).statement if tag.kind == "statement" else None
        if statement is None:
            continue
        if statement.keyword.startswith("end"):
            if statement.keyword in {"endmacro", "endset"}:
                still_open -= 1
                closed_at = tag.span.end if closed_at is None and not any(around) else closed_at
            del around[-1:]
        elif statement.opens_block:
            is_holder = statement.keyword in {"macro", "set"}
            still_open += is_holder
            around.append(is_holder)
    return Held(frozenset(inside), still_open, len(chunk.text) if closed_at is None else closed_at)


def unsent_spans(chunk: Chunk, contents: list[Span]) -> list[Span]:
    """The lines of keys whose values the model never gets, and comments of YAML outside of `contents`."""
    return [*_unsent(chunk), *_comments(chunk, contents)]


def _unsent(chunk: Chunk) -> list[Span]:
    """The lines of keys whose values the model never gets, such as a part's name."""
    return [
        Span(entry.key.span.end, line_end(chunk.text, entry.key.span.end))
        for part in chunk_items(chunk).parts
        for entry in part.entries
        if key_text(entry) in _UNSENT
    ]


def _comments(chunk: Chunk, contents: list[Span]) -> list[Span]:
    """The comments of YAML, which nobody sends."""
    return [
        Span(match.start(), match.end())
        for match in _COMMENT.finditer(chunk.text)
        if not any(span.start <= match.start() < span.end for span in contents)
    ]
