"""Calling a model to generate test data, with rate limits, a budget and a cache of answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from promptls.experiments.answer_cache import (
    AnswerCache,
    SharedAnswers,
    answer_key,
    is_cacheable,
    key_prefix,
)
from promptls.experiments.budget import NO_BUDGET, Budget, BudgetSpentError, ExpectedUsage, Spending
from promptls.models.masking import key_mask
from promptls.models.model import Completion, ModelReference
from promptls.models.model_names import find_model
from promptls.models.opening import open_model
from promptls.models.providers import cost_of, is_paid, price_of
from promptls.models.retrying import RateLimiter, RetryingModel, estimate_tokens

LONGEST_ANSWER: Final = 300
"""Default token limit of an answer; a query with its reference answer is a few sentences."""

# The first answer should stay close to the texts; later attempts should differ from it.
_TEMPERATURE: Final = 0.2
_WARMER: Final = 0.3


@dataclass(frozen=True, slots=True)
class AskingSettings:
    """Settings for requests; `seed` is that of the first sample, and is incremented for each further one."""

    seed: int = 0
    concurrency: int = 4
    timeout: float = 120.0
    budget: Budget = NO_BUDGET
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class AskingTotals:
    """The usage so far, in this process; `cost` is in US dollars, None if the price is unknown."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


class ModelAsker:
    """Answers from the cache if possible, else calls the model, within the budget. See `opened_asker`."""

    def __init__(
        self,
        reference: ModelReference,
        model: RetryingModel,
        answers: SharedAnswers,
        settings: AskingSettings,
    ) -> None:
        self.reference = reference
        self.taken = AskingTotals()
        self._model = model
        self._answers = answers
        self._settings = settings
        self._spending = Spending(settings.budget)
        self._price = price_of(reference) if is_paid(reference) else None
        self._slots = asyncio.Semaphore(model.max_at_once or settings.concurrency)

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """See `Asker`; raises `BudgetSpentError` if the call might exceed the budget."""
        key = asking_key(self.reference, self._settings, messages, json_schema, sample)

        async def complete() -> Completion:
            async with self._slots:
                return await self._called(messages, json_schema, sample)

        answer, cached = await self._answers.answer(key, messages, complete)
        self.taken.cached += cached
        return answer.text

    async def _called(
        self, messages: Sequence[Mapping[str, str]], json_schema: Mapping[str, Any], sample: int
    ) -> Completion:
        parameters = parameters_of(self.reference, self._settings, sample)
        longest = int(parameters.get("max_tokens") or 0)
        about = estimate_tokens(messages)
        price = self._price
        cost = (price.cost(about, longest) or 0.0) if price else 0.0
        expected = ExpectedUsage(about + longest, cost)
        if not self._spending.allows(expected):
            raise BudgetSpentError(
                f"the budget of {self._spending.reached} is spent",
                remedy="run it again with a larger one; cached answers cost nothing",
            )
        calls = tokens = 0
        paid = 0.0
        try:
            answer = await self._model.complete(messages, parameters=parameters, json_schema=json_schema)
            tokens = (answer.input_tokens or 0) + (answer.output_tokens or 0)
            calls = 1
            known = cost_of(answer, price)
            paid = known or 0.0
            self._count(answer, known)
        finally:
            self._spending.settle(expected, calls=calls, tokens=tokens, cost=paid)
        return answer

    def _count(self, answer: Completion, cost: float | None) -> None:
        taken = self.taken
        taken.calls += 1
        taken.input_tokens += answer.input_tokens or 0
        taken.output_tokens += answer.output_tokens or 0
        if cost is not None:
            taken.cost = (taken.cost or 0.0) + cost


@asynccontextmanager
async def opened_asker(
    model: ModelReference | str,
    settings: AskingSettings | None = None,
    cache: AnswerCache | Path | None = None,
) -> AsyncIterator[ModelAsker]:
    """Open the model until the end of the block; raises `UsageError` and `ModelError`.

    With a `cache`, or the folder of one, earlier answers are reused.
    """
    settings = settings or AskingSettings()
    reference = find_model(model) if isinstance(model, str) else model
    own = AnswerCache(cache) if isinstance(cache, Path) else None
    opened = open_model(
        reference,
        rate_limiter=RateLimiter(
            requests_per_minute=settings.requests_per_minute, tokens_per_minute=settings.tokens_per_minute
        ),
        mask=key_mask([reference]),
        timeout=settings.timeout,
    )
    answer_cache = own or (cache if isinstance(cache, AnswerCache) else None)
    answers = SharedAnswers(answer_cache, settings.timeout)
    try:
        yield ModelAsker(reference, opened, answers, settings)
    finally:
        await opened.close()
        if own is not None:
            own.close()


def parameters_of(reference: ModelReference, settings: AskingSettings, sample: int) -> dict[str, Any]:
    """Return the parameters of the request: those of the project's model override the settings."""
    return {
        "temperature": round(min(_TEMPERATURE + _WARMER * (sample - 1), 1.0), 2),
        "max_tokens": LONGEST_ANSWER,
        "seed": settings.seed + sample - 1,
        **reference.parameters,
        **settings.parameters,
    }


def asking_key(
    reference: ModelReference,
    settings: AskingSettings,
    messages: Sequence[Mapping[str, str]],
    json_schema: Mapping[str, Any],
    sample: int,
) -> bytes | None:
    """Return the cache key of an answer; None if answers take neither time nor money."""
    if not is_cacheable(reference):
        return None
    prefix = key_prefix(reference, parameters_of(reference, settings, sample), json_schema)
    return answer_key(prefix, messages, sample)
