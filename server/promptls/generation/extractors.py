"""Extractors that go by rules: what a node holds, found on this machine at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from promptls.generation.entities import entities
from promptls.generation.graph import Node
from promptls.generation.keyphrases import keyphrases
from promptls.generation.splitters import HEADINGS, HeadingSplitter
from promptls.generation.summary import summary


@runtime_checkable
class Extractor(Protocol):
    """Finds one property of a node in what the node holds."""

    async def extract(self, node: Node) -> tuple[str, Any]:
        """The name of the property and its value; None is the value of what cannot be found."""


@runtime_checkable
class BatchExtractor(Extractor, Protocol):
    """An extractor that is quicker with many nodes than with one after another."""

    async def extract_all(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        """What `extract` gives for each of the nodes, in order."""


@dataclass(frozen=True, slots=True)
class KeyphraseExtractor:
    """The phrases that a text is about, at most `most` of them."""

    most: int = 8
    name: str = "keyphrases"

    async def extract(self, node: Node) -> tuple[str, list[str]]:
        """As in Extractor."""
        return self.name, keyphrases(node.text, self.most)


@dataclass(frozen=True, slots=True)
class EntityExtractor:
    """The things that a text names, at most `most` of them."""

    most: int = 12
    name: str = "entities"

    async def extract(self, node: Node) -> tuple[str, list[str]]:
        """As in Extractor."""
        return self.name, entities(node.text, self.most)


@dataclass(frozen=True, slots=True)
class SummaryExtractor:
    """The sentences of a text that say most of it, at most `most` of them."""

    most: int = 2
    name: str = "summary"

    async def extract(self, node: Node) -> tuple[str, str]:
        """As in Extractor."""
        return self.name, summary(node.text, self.most)


@dataclass(frozen=True, slots=True)
class HeadingExtractor:
    """The headings that a text holds; those that a splitter has written down stay."""

    name: str = HEADINGS

    async def extract(self, node: Node) -> tuple[str, list[str]]:
        """As in Extractor."""
        known = node.texts(HEADINGS)
        if known:
            return self.name, known
        pieces = HeadingSplitter(fewest=0).split(node).nodes
        return self.name, list(dict.fromkeys(title for piece in pieces for title in piece.texts(HEADINGS)))
