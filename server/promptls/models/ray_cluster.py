"""The models of a run on the nodes of a Ray cluster, with a worker on each that asks them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from promptls.models.keys import variables_of
from promptls.models.model import Completion, Embeddings
from promptls.models.providers import TABLE
from promptls.models.ray_nodes import RayNodes
from promptls.models.ray_worker import ModelWorker
from promptls.models.reference import ModelReference


class RayCluster(RayNodes):
    """The models of a run, open on the nodes of a cluster."""

    def most_at_once(self, name: str) -> int | None:
        """How many requests all workers together work on at a time; None is as many as come."""
        counts = [worker.at_once[name] for worker in self._workers]
        return None if None in counts else sum(count or 0 for count in counts)

    async def complete(
        self,
        name: str,
        messages: Sequence[Mapping[str, Any]],
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion:
        """The answer of the model `name`; raises `ModelError`, one worth a retry where a node was lost."""
        answer = await self.asked(
            name, lambda actor: actor.complete.remote(name, list(messages), dict(parameters), json_schema)
        )
        return cast("Completion", answer)

    async def embed(self, name: str, texts: Sequence[str]) -> Embeddings:
        """The vectors that the model `name` makes of the texts; raises `ModelError` as `complete`."""
        return cast("Embeddings", await self.asked(name, lambda actor: actor.embed.remote(name, list(texts))))


async def connected_cluster(
    references: Sequence[ModelReference], address: str | None, most: int
) -> RayCluster:
    """The cluster at `address`, with `most` workers that have the models open; see `RayNodes.connect`.

    Raises as `RayNodes.connect`, and `ModelError` where a model cannot be had on a node.
    """
    cluster = RayCluster(ModelWorker, (list(references), _environment(references)), most)
    await cluster.connect(address)
    return cluster


def _environment(references: Sequence[ModelReference]) -> dict[str, str]:
    """The variables that the models need, as far as they are set."""
    names = {name for reference in references for name in variables_of(reference)}
    names |= {name for each in references if (name := TABLE[each.provider].base_url_env) is not None}
    if any(each.provider == "bedrock" for each in references):
        names |= {name for name in os.environ if name.startswith("AWS_")}
    return {name: os.environ[name] for name in names if name in os.environ}
