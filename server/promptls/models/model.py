"""What every model offers: an answer to messages, with what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from promptls.text.failure import Failure


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer; `seconds` is the time of the request that gave it, retries not counted.

    `finish_reason` is the provider's own word, `stop` and `length` with most of them.
    """

    text: str
    input_tokens: int | None
    output_tokens: int | None
    seconds: float
    model: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A vector for each text; `seconds` is the time of the request that gave them."""

    vectors: list[list[float]]
    input_tokens: int | None
    seconds: float


class ModelError(Failure):
    """A model that cannot be had, or that did not answer.

    `retryable` says whether the same request may well succeed later; `retry_after` is how many seconds
    the provider asks to wait before it; `unreachable` says that nothing listens at the address.
    """

    def __init__(
        self,
        message: str,
        remedy: str | None = None,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        unreachable: bool = False,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.retryable = retryable
        self.retry_after = retry_after
        self.unreachable = unreachable


class Model(Protocol):
    """A model that is ready to answer."""

    @property
    def most_at_once(self) -> int | None:
        """How many requests the model works on at a time; None is as many as come."""

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion:
        """The answer to `messages`, held to `json_schema` where the provider can.

        `parameters` are `temperature`, `max_tokens`, `seed` and what else the provider knows.
        Raises `ModelError`. A cancelled call stops the work at once.
        """

    async def close(self) -> None:
        """Frees what the model holds: connections, a process."""


class EmbeddingModel(Protocol):
    """A model that is ready to make embeddings."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of `texts`, in order; raises `ModelError`."""

    async def close(self) -> None:
        """Frees what the model holds."""
