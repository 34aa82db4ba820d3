"""What runs on a node of a Ray cluster: models, each asked once a call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import promptls
from promptls.models.model import Completion, EmbeddingModel, Embeddings, Model, ModelError, ModelReference


class Declined(NamedTuple):
    """A `ModelError` on its way from a node: why a model cannot be had, or did not answer."""

    message: str
    remedy: str | None = None
    retryable: bool = False
    retry_after: float | None = None
    unreachable: bool = False

    def error(self) -> ModelError:
        """Return the error that it was."""
        return ModelError(
            self.message,
            self.remedy,
            retryable=self.retryable,
            retry_after=self.retry_after,
            unreachable=self.unreachable,
        )


class Opened(NamedTuple):
    """The models of a worker are open: by name how many requests each works on, and promptls's version."""

    max_at_once: Mapping[str, int | None]
    version: str


class ModelWorker:
    """The models of one run in one process of the cluster. No call of it raises for what a model does."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}

    async def open(
        self, references: Sequence[ModelReference], environment: Mapping[str, str]
    ) -> Opened | Declined:
        """Return every model is open; `environment` are the variables with their keys and addresses."""
        from promptls.models.registry import opened_model

        os.environ.update(environment)
        try:
            self._models = {reference.name: opened_model(reference) for reference in references}
        except ModelError as error:
            return _declined(error)
        at_once = {name: model.max_at_once for name, model in self._models.items()}
        return Opened(at_once, promptls.__version__)

    async def complete(
        self,
        name: str,
        messages: Sequence[Mapping[str, Any]],
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion | Declined:
        """Return the answer of the model `name`."""
        try:
            return await self._models[name].complete(messages, parameters=parameters, json_schema=json_schema)
        except ModelError as error:
            return _declined(error)
        except Exception as error:  # noqa: BLE001 - Ray would write the whole trace into its logs
            return Declined(f"{type(error).__name__}: {error}")

    async def embed(self, name: str, texts: Sequence[str]) -> Embeddings | Declined:
        """Return the vectors of the texts, by the model `name`."""
        # Only models that make embeddings are asked for some.
        model = cast("EmbeddingModel", self._models[name])
        try:
            return await model.embed(texts)
        except ModelError as error:
            return _declined(error)
        except Exception as error:  # noqa: BLE001 - as above
            return Declined(f"{type(error).__name__}: {error}")

    async def close(self) -> None:
        """Free the memory of the models."""
        for model in self._models.values():
            await model.close()


def _declined(error: ModelError) -> Declined:
    return Declined(error.message, error.remedy, error.retryable, error.retry_after, error.unreachable)
