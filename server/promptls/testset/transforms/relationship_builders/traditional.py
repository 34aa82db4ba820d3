"""Relationship builders that compare properties of nodes, without a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from promptls.testset.graph import KnowledgeGraph, Node, Relationship

SHARED: Final = "overlapped_items"
"""The property with the items that two nodes share."""

# Maximum proportion of nodes that share an item: ubiquitous items do not relate nodes.
_COMMON: Final = 0.3
_FEW: Final = 6


@runtime_checkable
class RelationshipBuilder(Protocol):
    """The interface of relationship builders."""

    async def transform(self, graph: KnowledgeGraph) -> list[Relationship]:
        """Return new relationships for the graph, which is not modified."""


@dataclass(frozen=True, slots=True)
class JaccardSimilarityBuilder:
    """Relates nodes by the Jaccard similarity of their lists in `property_name`: shared items over all items.

    If the property is a mapping of lists, such as entities by kind, `key_name` selects one of them;
    without it, all lists are combined. Each node is related to its `limit` nearest nodes. Case is
    ignored; items that occur in more than a third of the nodes are ignored.
    """

    property_name: str = "entities"
    key_name: str | None = None
    new_property_name: str = "jaccard_similarity"
    threshold: float = 0.05
    limit: int = 5
    type: str = "jaccard_similarity"

    async def transform(self, graph: KnowledgeGraph) -> list[Relationship]:
        """See `RelationshipBuilder`."""
        items = {
            node.id: {each.casefold(): each for each in reversed(self._texts(node))} for node in graph.leaves
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
            for score, one, other in _nearest(scored, self.threshold, self.limit)
        ]

    def _texts(self, node: Node) -> list[str]:
        value = node.properties.get(self.property_name)
        if not isinstance(value, Mapping):
            return node.texts(self.property_name)
        chosen = value.values() if self.key_name is None else [value.get(self.key_name) or ()]
        return [str(text) for texts in chosen for text in ([texts] if isinstance(texts, str) else texts)]


@dataclass(frozen=True, slots=True)
class CosineSimilarityBuilder:
    """Relates each node to its `limit` nearest nodes by cosine similarity of vectors in `property_name`."""

    property_name: str = "embedding"
    threshold: float = 0.5
    limit: int = 3
    type: str = "cosine_similarity"
    new_property_name: str = "cosine_similarity"

    async def transform(self, graph: KnowledgeGraph) -> list[Relationship]:
        """See `RelationshipBuilder`; nodes without a vector are not related to any."""
        known = [
            (node.id, vector)
            for node in graph.leaves
            if isinstance(vector := node.properties.get(self.property_name), list) and vector
        ]
        return [
            Relationship(one, other, self.type, {self.new_property_name: round(score, 4)}, bidirectional=True)
            for score, one, other in _nearest(_cosines(known), self.threshold, self.limit)
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
    scored: Sequence[tuple[float, str, str]], threshold: float, limit: int
) -> list[tuple[float, str, str]]:
    """Return the pairs above the threshold that are among the `limit` best of either node, best first."""
    taken: dict[str, int] = defaultdict(int)
    related = []
    for score, one, other in sorted(scored, key=lambda each: -each[0]):
        if score >= threshold and (taken[one] < limit or taken[other] < limit):
            taken[one] += 1
            taken[other] += 1
            related.append((score, one, other))
    return related
