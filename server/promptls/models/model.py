"""The interfaces of models: references, completions, embeddings, errors, and requests that compare labels.

A request that compares labels is a list of messages with the role `label`. It is processed like any other
request, and its answer is the chosen label. In each message, `label` is the label, and `content` the whole
prompt, which is measured by perplexity. Only tokens after those of `context` count. The `measure`
`likelihood` is the sum of their log-probabilities, and `next token` that of a single token. The perplexity of
`baseline`, a prompt and its context, is subtracted.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from promptls.embeddings.language_model import ScoredTokens
from promptls.text.errors import UserError

Messages: TypeAlias = Sequence[Mapping[str, Any]]
"""The messages of a request, each with `role` and `content`."""

SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A known model that is not opened yet; it does not contain the key, only the name of the key's variable.

    `model` is the provider's name of the model; for a file, its path. Prices are in US dollars per million
    tokens, None if the project sets none. `from_project` means that project settings chose the
    server and the variable; a key is then sent only if `promptls.models.keys` allows it.
    """

    name: str
    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    input_price: float | None = None
    output_price: float | None = None
    cached_input_price: float | None = None
    from_project: bool = False


MAX_COUNT: Final = 100_000_000
"""The largest plausible number of tokens of an answer."""

MAX_COST: Final = 10_000.0
"""The largest plausible cost of an answer, in US dollars."""


_PARTS: Final = {
    "cached_tokens": "input_tokens",
    "written_tokens": "input_tokens",
    "reasoning_tokens": "output_tokens",
}
"""The counts that are parts of another count."""


CUT_REASONS: Final = frozenset({"length", "max_tokens"})
"""The providers' finish reasons for answers that reached `max_tokens`, in lower case."""


def shortcomings(response: str, finish_reason: str) -> list[str]:
    """Return the reasons why an answer is incomplete, in words that follow "an answer"."""
    reason = finish_reason.lower()
    found = {
        "without text": not response.strip(),
        "cut off at `max_tokens`": reason in CUT_REASONS,
        "stopped by the provider's content filter": reason == "content_filter",
    }
    return [words for words, is_so in found.items() if is_so]


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer; `seconds` is the duration of the successful request, without retries.

    `finish_reason` is the provider's value, such as `stop` and `length`. Lone
    surrogates in the text are replaced, and implausible counts and costs are dropped, as reported in `notes`.
    Of the input tokens, the provider read `cached_tokens` from its prefix cache and wrote `written_tokens`
    to it; `reasoning_tokens` are a part of the output tokens. `cost` is what the provider charged, in US
    dollars. They are None if the provider reports none.
    """

    text: str
    input_tokens: int | None
    output_tokens: int | None
    seconds: float
    model: str
    finish_reason: str
    notes: Sequence[str] = ()
    cached_tokens: int | None = None
    written_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        """Replace invalid values, and record that in `notes`."""
        notes = []
        text = SURROGATE.sub("\N{REPLACEMENT CHARACTER}", self.text)
        if text != self.text:
            notes.append("lone surrogates in the answer were replaced")
            object.__setattr__(self, "text", text)
        for name in ("input_tokens", "output_tokens", *_PARTS):
            count = getattr(self, name)
            if count is not None and not 0 <= count <= MAX_COUNT:
                notes.append(f"the provider reported {count} {name.replace('_', ' ')}, which was ignored")
                object.__setattr__(self, name, None)
        if self.cost is not None and not 0 <= self.cost <= MAX_COST:  # false for NaN too
            notes.append(f"the provider reported a cost of {self.cost}, which was ignored")
            object.__setattr__(self, "cost", None)
        for name, whole in _PARTS.items():
            part, total = getattr(self, name), getattr(self, whole)
            if part is not None and total is not None and part > total:
                notes.append(f"the provider reported {part} {name.replace('_', ' ')} of {total}")
                object.__setattr__(self, name, None)
        object.__setattr__(self, "notes", (*self.notes, *notes))


def count_of(value: Any) -> int | None:
    """Return the number of tokens that a provider reports; None if it is not an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class EmbeddingResult:
    """A vector for each text; `seconds` is the duration of the successful request.

    `cost` is what the provider charged, in US dollars; None if it reports none.
    """

    vectors: list[list[float]]
    input_tokens: int | None
    seconds: float
    cost: float | None = None


class ModelError(UserError):
    """A model is not available or did not answer.

    `retryable` means that the same request may succeed later; `retry_after` is the number of seconds that
    the provider requests to wait; `unreachable` means that nothing listens at the address.
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


def check_key(key: str | None) -> None:
    """Raise ModelError for a key with characters that no key has: libraries would quote it in an error."""
    if key and not (key.isascii() and key.isprintable()):
        raise ModelError(
            "the API key has characters that a key cannot have", "set the variable to the key alone"
        )


class Model(Protocol):
    """An open language model."""

    @property
    def max_at_once(self) -> int | None:
        """Maximum number of concurrent requests to the model; None means no limit."""

    async def complete(
        self, messages: Messages, *, parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
    ) -> Completion:
        """Return the answer to `messages`, constrained to `json_schema` if the provider supports that.

        `parameters` are `temperature`, `max_tokens`, `seed` and others that the provider supports.
        Raises `ModelError`. Cancelling the call stops the request immediately.
        """

    async def close(self) -> None:
        """Release the model's resources, such as connections or a process."""


class ModelWithoutResources:
    """A base class of models that take any number of requests at once, and have nothing to release."""

    max_at_once: int | None = None

    async def close(self) -> None:
        """Do nothing."""


@runtime_checkable
class StreamingModel(Model, Protocol):
    """A model that can stream its answer."""

    async def stream(
        self,
        messages: Messages,
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
        on_text: Callable[[str], None],
    ) -> Completion:
        """Return the answer as `complete`; `on_text` gets the pieces of its text as they arrive."""


class EmbeddingModel(Protocol):
    """An open embedding model."""

    async def embed(self, texts: Sequence[str]) -> EmbeddingResult:
        """Return the vectors of `texts`, in order; raises `ModelError`."""

    async def close(self) -> None:
        """Release the model's resources."""


LABEL_ROLE: Final = "label"


def compares_labels(messages: Messages) -> bool:
    """Return whether the request compares labels."""
    return bool(messages) and messages[0].get("role") == LABEL_ROLE


async def likeliest_label(model: Model, name: str, messages: Messages) -> Completion:
    """Return the label with the best score, the first one if tied; raises ModelError.

    Scores are computed as in OpenCompass; `notes` of the answer has all of them.
    """
    if getattr(model, "score_prompt", None) is None:
        raise ModelError(
            f"`{name}` gives no log-probabilities of prompts, by which the labels are compared",
            "choose a local model or an OpenAI-compatible server that has them, such as vLLM",
        )
    began = time.perf_counter()
    measured = [await _measure(model, name, message) for message in messages]
    scores = [score for score, _ in measured]
    best = scores.index(max(scores))
    return Completion(
        text=str(messages[best]["label"]),
        input_tokens=sum(tokens for _, tokens in measured),
        output_tokens=0,
        seconds=time.perf_counter() - began,
        model=name,
        finish_reason="stop",
        notes=(_describe(messages, scores),),
    )


async def _measure(model: Any, name: str, message: Mapping[str, Any]) -> tuple[float, int]:
    """Return how well a label does, larger is better, and the number of tokens read."""
    context = message.get("context", "")
    found: ScoredTokens = await model.score_prompt(message["content"], context)
    measure = message.get("measure")
    if measure == "next token" and (found.before, len(found.log_probabilities)) != (found.tokens - 1, 1):
        raise ModelError(
            f"`{message['label']}` is not one token of `{name}` at the end of its prompt",
            "choose other `choices`: `CLPInferencer` compares the probabilities of single tokens",
        )
    if measure is not None:
        return sum(found.log_probabilities), found.tokens
    if (baseline := message.get("baseline")) is None:
        return -found.loss, found.tokens
    without: ScoredTokens = await model.score_prompt(*baseline)
    return without.loss - found.loss, found.tokens + without.tokens


def _describe(messages: Messages, scores: Sequence[float]) -> str:
    """Return the scores as a sentence: perplexities, sums of log-probabilities, or probabilities."""
    measure = messages[0].get("measure", "perplexity")
    shown = [0.0 - score for score in scores] if measure == "perplexity" else list(scores)
    if measure == "next token":
        measure = "probability"
        weights = [math.exp(score - max(scores)) for score in scores]
        shown = [weight / sum(weights) for weight in weights]
    return f"{measure}: " + ", ".join(
        f"{message['label']} {score:.4f}" for message, score in zip(messages, shown, strict=True)
    )
