"""The sites of a template while it is compiled: the places that print what others make, by their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jinja2 import nodes

from promptls.rendering.source_map.lexer import PlacedLine


class Sites:
    """The table that a template's compiled code carries; see `pieces.Site`."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        """The sites, each at its number."""
        self.printing: int | None = None
        """The site that what others make belongs to, where it is printed now."""

    def add(
        self, kind: str, node: nodes.Node, words: str = "", expression: Any = None, targets: Any = None
    ) -> int:
        """The number of a new site, which stands where the node does."""
        start, end = span_of(node)
        self.rows.append((kind, start, end, words, expression, targets))
        return len(self.rows) - 1

    @contextmanager
    def printing_at(self, site: int) -> Iterator[None]:
        """Lets what is printed within it belong to a site."""
        before, self.printing = self.printing, site
        try:
            yield
        finally:
            self.printing = before


def span_of(node: nodes.Node) -> tuple[int, int]:
    """Where a node's tag or text stands in the file; at its beginning for what Jinja made itself."""
    line = node.lineno
    return (line.span[0], line.span[1]) if isinstance(line, PlacedLine) else (0, 0)
