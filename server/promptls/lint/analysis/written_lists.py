"""Lists of mappings that a template writes itself, such as its examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.nodes import Collection, Constant, Expression
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span
from promptls.text.suggest import is_typo

_MIN_MAPPINGS: Final = 3
"""The minimum number of mappings for a key of one of them to be an exception."""


def mappings_in(node: Expression) -> tuple[Collection, ...]:
    """Return the mappings of a list that contains nothing else; nothing for other expressions."""
    if not isinstance(node, Collection) or node.kind not in {"list", "tuple"}:
        return ()
    mappings = [item for item in node.items if isinstance(item, Collection) and item.kind == "dict"]
    return tuple(mappings) if len(mappings) == len(node.items) else ()


has_lists_of_mappings: Final = summary(
    lambda chunk: any(mappings_in(node) for _, node in expressions_in(chunk)), any
)


class OddKey(NamedTuple):
    """A key that one mapping of a list has in place of a key that all others have; `span` is inside the quotes."""

    span: Span
    name: str
    meant: str


@chunk_fact
def odd_keys(chunk: Chunk) -> tuple[OddKey, ...]:
    """Return the keys in lists of mappings that are typos of the one that all other mappings have."""
    return tuple(each for start, node in expressions_in(chunk) for each in _odd_keys(chunk, start, node))


def _odd_keys(chunk: Chunk, start: int, node: Expression) -> Iterator[OddKey]:
    mappings = [_keys(mapping) for mapping in mappings_in(node)]
    if len(mappings) < _MIN_MAPPINGS:
        return
    times = Counter(name for keys in mappings for name in keys)
    for keys in mappings:
        lacking = [name for name in times if name not in keys and times[name] == len(mappings) - 1]
        for name, span in keys.items():
            meant = [other for other in lacking if is_typo(name, other)] if times[name] == 1 else []
            inside = Span(span.start + 1, span.end - 1).shifted(start)
            if len(meant) == 1 and chunk.text[inside.start : inside.end] == name:
                yield OddKey(inside, name, meant[0])


def _keys(mapping: Collection) -> dict[str, Span]:
    return {
        key.value: key.span
        for key in mapping.items[::2]
        if isinstance(key, Constant) and isinstance(key.value, str)
    }
