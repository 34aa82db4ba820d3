"""Checks that a new layout renders to the same text.

A tag is unchanged if jinja2's lexer produces the same tokens for it, because the parser sees nothing else.
Text outside of tags is unchanged if the YAML under the Jinja parses to the same data in every variant of the
chunk.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from jinja2 import Environment
from jinja2.exceptions import TemplateSyntaxError

from promptls.syntax.chunk import Chunk, cut
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar
from promptls.syntax.yaml.under_jinja import chunk_yaml

_ENVIRONMENT: Final = Environment(autoescape=False)  # noqa: S701  (prompts are not HTML)
_UNREAD: Final = frozenset({"whitespace", "comment"})
_TRIMMED: Final = frozenset(
    {"block_begin", "block_end", "variable_begin", "variable_end", "raw_begin", "raw_end"}
)


def same_tokens(before: str, after: str) -> bool:
    """Return whether jinja2's lexer produces the same tokens for both texts; False if it rejects one."""
    first = _tokens(before)
    return first is not None and first == _tokens(after)


@lru_cache(maxsize=1024)
def _tokens(text: str) -> tuple[tuple[str, str], ...] | None:
    try:
        lexed = _ENVIRONMENT.lex(text)
        return tuple(
            (kind, "".join(value.split()) if kind in _TRIMMED else value)
            for _line, kind, value in lexed
            if kind not in _UNREAD
        )
    except (TemplateSyntaxError, ValueError, RecursionError):
        return None


def same_yaml(chunk: Chunk, text: str, *, at_items: bool) -> bool:
    """Return whether `text` is one chunk with the same tags as `chunk`, and its YAML parses to the same data.

    False if the chunk's YAML has an error, because its meaning is unknown then.
    """
    chunks = cut(text, at_items=at_items)
    before = chunk_yaml(chunk)
    if (
        len(chunks) != 1
        or before.problems
        or [tag.text for tag in chunks[0].tags] != [tag.text for tag in chunk.tags]
    ):
        return False
    after = chunk_yaml(chunks[0])
    return not after.problems and data(before.roots) == data(after.roots)


def data(roots: tuple[Node, ...]) -> list[Any]:
    """Return the trees without their positions: kinds, texts, styles and types."""
    return [_data(root, 0) for root in roots]


def _data(node: Node, depth: int) -> Any:
    if isinstance(node, Scalar):
        return (node.text, node.style, node.tag, node.dynamic)
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, Mapping):
        return {
            index: (_data(entry.key, depth + 1), _data(entry.value, depth + 1))
            for index, entry in enumerate(node.entries)
        }
    return [_data(item, depth + 1) for item in node.items]


_MAX_DEPTH: Final = 250
"""More than the maximum depth of parsed YAML, so that only recursive nodes are cut off."""
