"""The extractor that turns texts into vectors, with any model that makes embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from promptls.generation.graph import Node
from promptls.generation.prose import prose
from promptls.models.minilm import MiniLm
from promptls.models.model import Embeddings

# Digits of each number that are kept: vectors are compared, and a file of graphs is read by people too.
_DIGITS: Final = 5

# Texts of one request.
_BATCH: Final = 16


class Embedder(Protocol):
    """What makes embeddings: a model of promptls, or anything else with the same method."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of the texts, in order; raises `ModelError`."""


@dataclass(frozen=True, slots=True)
class EmbeddingExtractor:
    """The vector of the beginning of a node's prose, by default from the small model of this machine.

    `most` characters are enough to tell what a text is about, and a fraction of the work.
    """

    embedder: Embedder = field(default_factory=MiniLm)
    name: str = "embedding"
    most: int = 400

    async def extract(self, node: Node) -> tuple[str, Any]:
        """As in Extractor; raises `ModelError`."""
        return (await self.extract_all([node]))[0]

    async def extract_all(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        """As in BatchExtractor; raises `ModelError`."""
        found: list[tuple[str, Any]] = []
        for begin in range(0, len(nodes), _BATCH):
            made = await self.embedder.embed(
                [prose(node.text).strip()[: self.most] for node in nodes[begin : begin + _BATCH]]
            )
            found += [(self.name, [round(number, _DIGITS) for number in vector]) for vector in made.vectors]
        return found
