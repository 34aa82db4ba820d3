"""A model: how it is named before it is opened, what it answers, and requests that compare labels.

A request that compares labels is a list of messages with the role `label`: `label` names it, and `content` is
its whole prompt. It goes the way of every other request, and its answer is the label.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from promptls.text.errors import UserError

SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A known model that is not yet opened; it holds no key, only the name of the key's variable.

    `model` is the provider's own name of it; for a file, its path. Prices are US dollars for a million
    tokens, None if the project names none. `from_project` says that the settings of a project chose the
    server and the variable: then a key is sent only as `promptls.models.keys` allows.
    """

    name: str
    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    input_price: float | None = None
    output_price: float | None = None
    from_project: bool = False


MAX_COUNT: Final = 100_000_000
"""The largest number of tokens that one answer can plausibly have taken."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer; `seconds` is the time of the request that gave it, retries not counted.

    `finish_reason` is the provider's own word, `stop` and `length` with most of them. Half characters (lone
    surrogates) of the text are replaced, and impossible numbers of tokens are dropped; `notes` say so.
    """

    text: str
    input_tokens: int | None
    output_tokens: int | None
    seconds: float
    model: str
    finish_reason: str
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Replace what no provider should send, and note it."""
        notes = []
        text = SURROGATE.sub("\N{REPLACEMENT CHARACTER}", self.text)
        if text != self.text:
            notes.append("half characters in the answer were replaced")
            object.__setattr__(self, "text", text)
        for name in ("input_tokens", "output_tokens"):
            count = getattr(self, name)
            if count is not None and not 0 <= count <= MAX_COUNT:
                notes.append(f"the provider reported {count} {name.replace('_', ' ')}, which was ignored")
                object.__setattr__(self, name, None)
        object.__setattr__(self, "notes", (*self.notes, *notes))


@dataclass(frozen=True, slots=True)
class PromptScore:
    """How likely a prompt is: the log-probability of each token but the first, and the number of all."""

    log_probabilities: Sequence[float]
    tokens: int

    @property
    def perplexity(self) -> float:
        """The mean negated log-probability; of an empty prompt 0."""
        return -sum(self.log_probabilities) / max(self.tokens, 1)


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A vector for each text; `seconds` is the time of the request that gave them."""

    vectors: list[list[float]]
    input_tokens: int | None
    seconds: float


class ModelError(UserError):
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
    def max_at_once(self) -> int | None:
        """How many requests the model works on at a time; None is as many as come."""

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion:
        """Return the answer to `messages`, held to `json_schema` where the provider can.

        `parameters` are `temperature`, `max_tokens`, `seed` and what else the provider knows.
        Raises `ModelError`. A cancelled call stops the work at once.
        """

    async def close(self) -> None:
        """Frees what the model holds: connections, a process."""


@runtime_checkable
class StreamingModel(Model, Protocol):
    """A model that can send its answer in pieces."""

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
        on_text: Callable[[str], None],
    ) -> Completion:
        """Return the answer as `complete`; `on_text` gets the pieces of its text as they arrive."""


class EmbeddingModel(Protocol):
    """A model that is ready to make embeddings."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the vectors of `texts`, in order; raises `ModelError`."""

    async def close(self) -> None:
        """Frees what the model holds."""


LABEL_ROLE: Final = "label"


def label_messages(prompts: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], ...]:
    """Return the request that compares labels, each with its prompt."""
    return tuple({"role": LABEL_ROLE, "label": label, "content": text} for label, text in prompts)


def compares_labels(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the request compares labels."""
    return bool(messages) and messages[0].get("role") == LABEL_ROLE


async def likeliest_label(model: Model, name: str, messages: Sequence[Mapping[str, Any]]) -> Completion:
    """Return the label whose prompt has the lowest perplexity, of equal ones the first; raises ModelError.

    Perplexity is computed as OpenCompass does: the negated sum of the tokens' log-probabilities, but that of
    the first one, divided by the number of all tokens.
    """
    score_prompt = getattr(model, "score_prompt", None)
    if score_prompt is None:
        raise ModelError(
            f"`{name}` gives no log-probabilities of prompts, by which the labels are compared",
            "choose a local model or an OpenAI-compatible server that has them, such as vLLM",
        )
    began = time.perf_counter()
    scores: list[PromptScore] = [await score_prompt(str(message["content"])) for message in messages]
    perplexities = [score.perplexity for score in scores]
    best = perplexities.index(min(perplexities))
    return Completion(
        text=str(messages[best]["label"]),
        input_tokens=sum(score.tokens for score in scores),
        output_tokens=0,
        seconds=time.perf_counter() - began,
        model=name,
        finish_reason="stop",
    )
