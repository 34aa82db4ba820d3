"""Builders of relationships, and the transforms that work through a graph one after another."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from promptls.api.models import run_in_own_loop
from promptls.testset.documents import HeadingSplitter, Splitter
from promptls.testset.extractors import (
    BatchExtractor,
    EntityExtractor,
    Extractor,
    HeadingExtractor,
    KeyphraseExtractor,
    SummaryExtractor,
)
from promptls.testset.graph import KnowledgeGraph, Node, Relationship
from promptls.testset.model_extractors import EmbeddingExtractor

SHARED: Final = "overlapped_items"
"""The property with what two nodes have in common."""

# Nodes that may share one item: what stands everywhere relates nothing.
_COMMON: Final = 0.3
_FEW: Final = 6


@runtime_checkable
class RelationshipBuilder(Protocol):
    """Finds out which nodes of a graph are related."""

    async def transform(self, graph: KnowledgeGraph) -> list[Relationship]:
        """Return the relationships that the graph is to have; it is not changed."""


@dataclass(frozen=True, slots=True)
class JaccardSimilarityBuilder:
    """Relates nodes whose lists under `property_name` have much in common: shared items over all items.

    Each node keeps its `most` nearest. Items count whatever the case of their letters; those that more than
    a third of the nodes have count for nothing.
    """

    property_name: str = "entities"
    threshold: float = 0.05
    most: int = 5
    type: str = "jaccard_similarity"
    new_property_name: str = "jaccard_similarity"

    async def transform(self, graph: KnowledgeGraph) -> list[Relationship]:
        """As in RelationshipBuilder."""
        items = {
            node.id: {each.casefold(): each for each in reversed(node.texts(self.property_name))}
            for node in graph.leaves
        }
        owners: dict[str, list[str]] = defaultdict(list)
        for id_, named in items.items():
            for item in named:
                owners[item].append(id_)
        most_owners = max(_FEW, int(_COMMON * len(items)))
        shared: dict[tuple[str, str], list[str]] = defaultdict(list)
        for item, nodes in owners.items():
            if len(nodes) <= most_owners:
                for index, one in enumerate(nodes):
                    for other in nodes[index + 1 :]:
                        shared[one, other].append(item)
        scored = [
            (len(common) / len(items[one].keys() | items[other].keys()), one, other)
            for (one, other), common in shared.items()
        ]
        return [
            Relationship(
                one,
                other,
                self.type,
                {
                    self.new_property_name: round(score, 4),
                    SHARED: [items[one][item] for item in shared[one, other]],
                },
                bidirectional=True,
            )
            for score, one, other in _nearest(scored, self.threshold, self.most)
        ]


@dataclass(frozen=True, slots=True)
class CosineSimilarityBuilder:
    """Relates nodes whose vectors under `property_name` point the same way; each keeps its `most` nearest."""

    property_name: str = "embedding"
    threshold: float = 0.5
    most: int = 3
    type: str = "cosine_similarity"
    new_property_name: str = "cosine_similarity"

    async def transform(self, graph: KnowledgeGraph) -> list[Relationship]:
        """As in RelationshipBuilder; nodes without a vector are related to none."""
        known = [
            (node.id, vector)
            for node in graph.leaves
            if isinstance(vector := node.properties.get(self.property_name), list) and vector
        ]
        return [
            Relationship(one, other, self.type, {self.new_property_name: round(score, 4)}, bidirectional=True)
            for score, one, other in _nearest(_cosines(known), self.threshold, self.most)
        ]


def _cosines(known: Sequence[tuple[str, list[float]]]) -> list[tuple[float, str, str]]:
    if not known:
        return []
    import numpy as np

    vectors: Any = np.asarray([vector for _, vector in known], dtype=float)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found = []
    for index, (one, _) in enumerate(known[:-1]):
        scores = vectors[index + 1 :] @ vectors[index]
        found += [
            (float(score), one, other)
            for score, (other, _) in zip(scores, known[index + 1 :], strict=True)
            if score > 0
        ]
    return found


def _nearest(
    scored: Sequence[tuple[float, str, str]], threshold: float, most: int
) -> list[tuple[float, str, str]]:
    """Return the pairs above the threshold that are among the `most` best of one node, best first."""
    taken: dict[str, int] = defaultdict(int)
    kept = []
    for score, one, other in sorted(scored, key=lambda each: -each[0]):
        if score >= threshold and (taken[one] < most or taken[other] < most):
            taken[one] += 1
            taken[other] += 1
            kept.append((score, one, other))
    return kept


_Change: TypeAlias = Callable[[KnowledgeGraph], None]


class Parallel:
    """Transforms that are worked on at the same time: each sees the graph as it was before all of them."""

    def __init__(self, *transforms: Transform) -> None:
        """Combine the transforms; if two set the same property, the order decides."""
        self.transforms = transforms


Transform: TypeAlias = Splitter | Extractor | RelationshipBuilder | Parallel


async def transform(graph: KnowledgeGraph, transforms: Sequence[Transform]) -> KnowledgeGraph:
    """Return the graph itself, behind all transforms in their order.

    Raises what they raise, and TypeError.
    """
    for each in transforms:
        change = await _change_of(graph, each)
        change(graph)
    return graph


def apply_transforms(graph: KnowledgeGraph, transforms: Sequence[Transform]) -> KnowledgeGraph:
    """As `transform`, for programs that await nothing; a notebook's loop goes on beside it."""
    return run_in_own_loop(lambda: transform(graph, transforms))


def default_transforms(
    *, embeddings: bool = True, extractors: Sequence[Extractor] | None = None
) -> list[Transform]:
    """Return the transforms for a graph of documents: local rules unless `extractors` are given.

    `embeddings` are made by the small model of the extra `embeddings`, and relate what is alike in meaning.
    """
    rules: tuple[Extractor, ...] = (EntityExtractor(), KeyphraseExtractor(), SummaryExtractor())
    made: list[Transform] = [*(rules if extractors is None else extractors), HeadingExtractor()]
    builders: list[Transform] = [
        JaccardSimilarityBuilder("entities", type="entities_overlap"),
        JaccardSimilarityBuilder("keyphrases", type="keyphrases_overlap"),
    ]
    if embeddings:
        made.append(EmbeddingExtractor())
        builders.append(CosineSimilarityBuilder())
    return [HeadingSplitter(), Parallel(*made), Parallel(*builders)]


async def _change_of(graph: KnowledgeGraph, transform: Transform) -> _Change:
    """Return what the transform would change; the graph stays as it is until that is called."""
    if isinstance(transform, Parallel):
        changes = await asyncio.gather(*(_change_of(graph, each) for each in transform.transforms))
        return lambda graph: _apply_all(changes, graph)
    if isinstance(transform, Splitter):
        pieces = [transform.split(node) for node in graph.leaves]
        nodes = [node for each in pieces for node in each.nodes]
        return _adding(nodes, [relationship for each in pieces for relationship in each.relationships])
    if isinstance(transform, Extractor):
        return _knowing(await _extracted(transform, graph.leaves))
    if isinstance(transform, RelationshipBuilder):
        return _adding((), await transform.transform(graph))
    raise TypeError(
        f"{type(transform).__name__} is no transform: it has none of the methods `split`, `extract` and "
        "`transform`"
    )


async def _extracted(extractor: Extractor, nodes: Sequence[Node]) -> dict[str, tuple[str, Any]]:
    if isinstance(extractor, BatchExtractor):
        made = await extractor.extract_all(nodes)
        return {node.id: each for node, each in zip(nodes, made, strict=True)}
    tasks = [asyncio.ensure_future(extractor.extract(node)) for node in nodes]
    try:
        found = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return {node.id: each for node, each in zip(nodes, found, strict=True)}


def _knowing(found: dict[str, tuple[str, Any]]) -> _Change:
    def change(graph: KnowledgeGraph) -> None:
        for id_, (name, value) in found.items():
            if value is not None:
                graph.add(graph.node(id_).with_properties({name: value}))

    return change


def _adding(nodes: Sequence[Node], relationships: Sequence[Relationship]) -> _Change:
    def change(graph: KnowledgeGraph) -> None:
        for node in nodes:
            graph.add(node)
        for relationship in relationships:
            graph.relate(relationship)

    return change


def _apply_all(changes: Sequence[_Change], graph: KnowledgeGraph) -> None:
    for change in changes:
        change(graph)
