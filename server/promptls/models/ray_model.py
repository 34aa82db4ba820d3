"""A model that is asked on the nodes of a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptls.models.model import Completion, Embeddings
from promptls.models.ray_cluster import RayCluster


class RayModel:
    """One of the models that the workers of a cluster have open."""

    def __init__(self, cluster: RayCluster, name: str) -> None:
        self._cluster = cluster
        self._name = name

    @property
    def most_at_once(self) -> int | None:
        """How many requests all workers together work on at a time; None is as many as come."""
        return self._cluster.most_at_once(self._name)

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion:
        """The answer of the model on one of the nodes; a cancelled call is cancelled there too."""
        return await self._cluster.complete(self._name, messages, parameters, json_schema)

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of the texts, made by the model on one of the nodes."""
        return await self._cluster.embed(self._name, texts)

    async def close(self) -> None:
        """Nothing: the cluster holds what is to be freed."""
