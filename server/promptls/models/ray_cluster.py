"""Models of a run on the nodes of a Ray cluster, with a worker on each that asks them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from promptls.models.grants import check_grants
from promptls.models.keys import variables_named_by
from promptls.models.model import Completion, Embeddings, ModelReference
from promptls.models.ray_nodes import RayNodes
from promptls.models.ray_worker import ModelWorker


class RayCluster(RayNodes):
    """The models of a run, open on the nodes of a cluster."""

    def max_at_once(self, name: str) -> int | None:
        """Return how many requests all workers together work on at a time; None is as many as come."""
        counts = [worker.at_once[name] for worker in self._workers]
        return None if None in counts else sum(count or 0 for count in counts)

    async def complete(
        self,
        name: str,
        messages: Sequence[Mapping[str, Any]],
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion:
        """Return the answer of the model `name`.

        Raises `ModelError`, one worth a retry where a node was lost.
        """
        answer = await self.asked(
            name, lambda actor: actor.complete.remote(name, list(messages), dict(parameters), json_schema)
        )
        return cast("Completion", answer)

    async def embed(self, name: str, texts: Sequence[str]) -> Embeddings:
        """Return the vectors that the model `name` makes of the texts; raises `ModelError` as `complete`."""
        return cast("Embeddings", await self.asked(name, lambda actor: actor.embed.remote(name, list(texts))))


async def connected_cluster(
    references: Sequence[ModelReference], address: str | None, most: int, *, from_project: bool = False
) -> RayCluster:
    """Return the cluster at `address`, with `most` workers that have the models open; see `RayNodes.connect`.

    Raises as `RayNodes.connect`, `ModelError` where a model cannot be had on a node, and NotAllowedError
    where a key may not be sent to the server of a model.
    """
    for reference in references:
        check_grants(reference)
    # The grants are the user's of this machine: a node has none, and asks for none.
    checked = [replace(reference, from_project=False) for reference in references]
    environment = {name: os.environ[name] for name in sent_variables(references)}
    cluster = RayCluster(ModelWorker, (checked, environment), most)
    await cluster.connect(address, environment, from_project=from_project)
    return cluster


def sent_variables(references: Iterable[ModelReference]) -> list[str]:
    """Return the variables that the nodes need, as far as they are set."""
    return sorted(name for name in variables_named_by(references) if name in os.environ)


class RayModel:
    """One of the models that the workers of a cluster have open."""

    def __init__(self, cluster: RayCluster, name: str) -> None:
        self._cluster = cluster
        self._name = name

    @property
    def max_at_once(self) -> int | None:
        """How many requests all workers together work on at a time; None is as many as come."""
        return self._cluster.max_at_once(self._name)

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion:
        """Return the answer of the model on one of the nodes; a cancelled call is cancelled there too."""
        return await self._cluster.complete(self._name, messages, parameters, json_schema)

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the vectors of the texts, made by the model on one of the nodes."""
        return await self._cluster.embed(self._name, texts)

    async def close(self) -> None:
        """Do nothing: the cluster holds the resources."""
