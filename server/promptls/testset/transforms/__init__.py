"""Transforms of graphs: extractors, splitters and relationship builders, which are applied in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from promptls.api.model_calls import run_in_own_loop
from promptls.testset.documents import HeadingSplitter, Splitter
from promptls.testset.graph import KnowledgeGraph, Node, Relationship
from promptls.testset.transforms.extractors import (
    BatchExtractor,
    EmbeddingExtractor,
    Extractor,
    HeadingExtractor,
    KeyphraseExtractor,
    NERExtractor,
    SummaryExtractor,
)
from promptls.testset.transforms.relationship_builders.traditional import (
    CosineSimilarityBuilder,
    JaccardSimilarityBuilder,
    RelationshipBuilder,
)

__all__ = [
    "BatchExtractor",
    "CosineSimilarityBuilder",
    "EmbeddingExtractor",
    "Extractor",
    "HeadingExtractor",
    "HeadingSplitter",
    "JaccardSimilarityBuilder",
    "KeyphraseExtractor",
    "NERExtractor",
    "Parallel",
    "RelationshipBuilder",
    "Splitter",
    "SummaryExtractor",
    "Transform",
    "apply_transforms",
    "default_transforms",
    "transform",
]

_Change: TypeAlias = Callable[[KnowledgeGraph], None]


class Parallel:
    """Transforms that are applied concurrently: each sees the graph as it was before all of them."""

    def __init__(self, *transforms: Transform) -> None:
        """Combine the transforms; if several set the same property, the last one wins."""
        self.transforms = transforms


Transform: TypeAlias = Splitter | Extractor | RelationshipBuilder | Parallel


async def transform(graph: KnowledgeGraph, transforms: Sequence[Transform]) -> KnowledgeGraph:
    """Apply the transforms in order, and return the same graph.

    Raises the errors of the transforms, and TypeError.
    """
    for each in transforms:
        change = await _change_of(graph, each)
        change(graph)
    return graph


def apply_transforms(graph: KnowledgeGraph, transforms: Sequence[Transform]) -> KnowledgeGraph:
    """Run `transform` synchronously, also inside a running event loop such as that of a notebook."""
    return run_in_own_loop(lambda: transform(graph, transforms))


def default_transforms(
    *, embeddings: bool = True, extractors: Sequence[Extractor] | None = None
) -> list[Transform]:
    """Return the default transforms for a graph of documents: local rules unless `extractors` are passed.

    `embeddings` are computed by the small local model of the extra `embeddings`, and relate similar nodes.
    """
    rules: tuple[Extractor, ...] = (NERExtractor(), KeyphraseExtractor(), SummaryExtractor())
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
    """Return a function that applies the transform's changes; the graph is not modified before."""
    if isinstance(transform, Parallel):
        changes = await asyncio.gather(*(_change_of(graph, each) for each in transform.transforms))
        return lambda graph: _apply_all(changes, graph)
    if isinstance(transform, Splitter):
        pieces = [transform.split(node) for node in graph.leaves]
        nodes = [node for each in pieces for node in each.nodes]
        return _adding(nodes, [relationship for each in pieces for relationship in each.relationships])
    if isinstance(transform, Extractor):
        return _knowing(await _extract(transform, graph.leaves))
    if isinstance(transform, RelationshipBuilder):
        return _adding((), await transform.transform(graph))
    raise TypeError(
        f"{type(transform).__name__} is not a transform: it has none of the methods `split`, `extract` and "
        "`transform`"
    )


async def _extract(extractor: Extractor, nodes: Sequence[Node]) -> dict[str, tuple[str, Any]]:
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
