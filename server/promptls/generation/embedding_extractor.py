"""The extractor that turns texts into vectors, with any model that makes embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from promptls.generation.graph import Node
from promptls.models.minilm import MiniLm
from promptls.models.model import Embeddings

# Digits of each number that are kept: vectors are compared, and a file of graphs is read by people too.
_DIGITS = 5


class Embedder(Protocol):
    """What makes embeddings: a model of promptls, or anything else with the same method."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of the texts, in order; raises `ModelError`."""


@dataclass(frozen=True, slots=True)
class EmbeddingExtractor:
    """The vector of a node's text, by default from the small model that runs on this machine."""

    embedder: Embedder = field(default_factory=MiniLm)
    name: str = "embedding"

    async def extract(self, node: Node) -> tuple[str, Any]:
        """As in Extractor; raises `ModelError`."""
        made = await self.embedder.embed([node.text])
        return self.name, [round(number, _DIGITS) for number in made.vectors[0]]
