"""Asking one model about one row, and scoring what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from promptls.datasets.files import Row
from promptls.experiments.answer_cache import SharedAnswers
from promptls.experiments.answer_check import AnswerCheck
from promptls.experiments.budget import Expected
from promptls.experiments.job import RowOutcome
from promptls.experiments.judges import Judges
from promptls.experiments.plan import AnswerKeys, Plan, parameters_of
from promptls.experiments.row_rendering import RenderedRow
from promptls.experiments.row_result import RowResult, Score
from promptls.experiments.scoring import Scorer
from promptls.experiments.under_way import LEFT_ERROR, ResultCallNote, call_note
from promptls.models.keys import KeyMask
from promptls.models.model import Completion, ModelError, ModelReference
from promptls.models.prices import Price
from promptls.models.steady import SteadyModel


class OpenModel(NamedTuple):
    """A model of the run: `turns` limits how many requests it works on."""

    reference: ModelReference
    model: SteadyModel
    turns: asyncio.Semaphore
    keys: AnswerKeys | None
    price: Price | None


class Asker:
    """Holds the open models, and lets no model work on more requests than it says it can."""

    def __init__(
        self,
        plan: Plan,
        models: Mapping[str, OpenModel],
        judges: Judges,
        answers: SharedAnswers,
        mask: KeyMask,
        note: ResultCallNote,
    ) -> None:
        """`note` is told of each call that may cost money, right before it is made."""
        self._plan = plan
        self._models = models
        self._scorer = Scorer(plan, judges, mask)
        self._answers = answers
        self._mask = mask
        self._note = note
        self._check = AnswerCheck(is_json=plan.experiment.output_is_json, schema=plan.experiment.json_schema)
        self._judge_calls = sum(asks.calls for asks in plan.asks.values())
        self._judge_tokens = sum(asks.tokens for asks in plan.asks.values())

    def expected(self, rendered: RenderedRow, reference: ModelReference, repeat: int) -> Expected:
        """Return what asking about a row that is not there will take, as far as that can be known."""
        # Without judges, a row whose answer is kept is there.
        if self._plan.asks and self._is_kept(rendered, reference, repeat):
            return self.expected_again()
        price = self._models[reference.name].price
        longest = parameters_of(self._plan.experiment, reference, 1).get("max_tokens")
        answer = longest if isinstance(longest, int) else 0
        cost = (price.cost(rendered.tokens, answer) if price else None) or 0.0
        tokens = rendered.tokens + answer + self._judge_tokens
        return Expected(tokens, cost, 1 + self._judge_calls)

    def expected_again(self) -> Expected:
        """Return what scoring a response will take at most, as far as that can be known."""
        return Expected(self._judge_tokens, calls=self._judge_calls)

    def is_there(self, rendered: RenderedRow, reference: ModelReference, repeat: int) -> bool:
        """Return whether the row needs no call: it does not render, or its answer is kept and not judged."""
        if rendered.error is not None:
            return True
        return not self._plan.asks and self._is_kept(rendered, reference, repeat)

    def _is_kept(self, rendered: RenderedRow, reference: ModelReference, repeat: int) -> bool:
        keys = self._models[reference.name].keys
        return keys is not None and self._answers.has(keys.key(rendered, repeat))

    async def ask(
        self, row: Row, rendered: RenderedRow, reference: ModelReference, repeat: int
    ) -> RowOutcome:
        """Return what the asking came to; whatever goes wrong with the row is the result's `error`."""
        if rendered.error is not None:
            failed = self._failed(row, reference, repeat, rendered, rendered.error)
            return RowOutcome(failed)
        opened = self._models[reference.name]
        try:
            completion, cached = await self._answer(opened, row, rendered, repeat)
        except ModelError as error:
            failed = self._failed(row, reference, repeat, rendered, error.message)
            return RowOutcome(failed, error, calls=1)
        cost = None
        if opened.price is not None:
            cost = opened.price.cost(completion.input_tokens, completion.output_tokens)
        counts = (completion.input_tokens, completion.output_tokens)
        answer = _known(completion.seconds, counts, cost, self._plan.experiment.json_schema)
        note = call_note(self._note, row.number, reference.name, repeat)
        scored = await self._scorer.score(row, completion.text, answer, repeat, note)
        result = RowResult(
            id=row.id,
            number=row.number,
            line=row.line,
            model=reference.name,
            repeat=repeat,
            values=row.values,
            response=completion.text,
            scores=scored.scores,
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
            seconds=completion.seconds,
            cost=cost,
            finish_reason=completion.finish_reason,
            digest=rendered.digest,
            problem=self._check.problem(completion.text),
            cached=cached,
            judging=scored.account.to_json() if scored.is_judged else None,
            unscored=scored.unscored,
        )
        account = scored.account
        tokens = (completion.input_tokens or rendered.tokens) + (completion.output_tokens or 0)
        return RowOutcome(
            result,
            calls=account.calls + (not cached),
            tokens=account.spent_tokens + (0 if cached else tokens),
            cost=(account.paid or 0.0) + (0.0 if cached else cost or 0.0),
            judge_failure=None if account.answered else account.failure,
            judged=account.answered,
        )

    async def left(
        self, row: Row, rendered: RenderedRow, reference: ModelReference, repeat: int
    ) -> RowOutcome:
        """Return the error of a row whose call may have been paid for, and is not made a second time."""
        failed = self._failed(row, reference, repeat, rendered, LEFT_ERROR)
        return RowOutcome(failed)

    async def score_again(self, row: Row, prior: RowResult) -> RowOutcome:
        """Return the result of an earlier asking with the scores that it lacks; its model is not asked."""
        answer = _known(
            prior.seconds,
            (prior.input_tokens, prior.output_tokens),
            prior.cost,
            self._plan.experiment.json_schema,
        )
        note = call_note(self._note, row.number, prior.model, prior.repeat)
        scored = await self._scorer.score(
            row, prior.response or "", answer, prior.repeat, note, prior.unscored
        )
        account = scored.account
        result = replace(
            prior,
            scores={
                metric.name: scored.scores.get(metric.name) or prior.scores.get(metric.name) or Score(None)
                for metric in self._plan.metrics
            },
            judging=account.after(prior.judging) if scored.is_judged else prior.judging,
            unscored=scored.unscored,
        )
        return RowOutcome(
            result,
            calls=account.calls,
            tokens=account.spent_tokens,
            cost=account.paid or 0.0,
            judge_failure=None if account.answered else account.failure,
            judged=account.answered,
        )

    async def _answer(
        self, opened: OpenModel, row: Row, rendered: RenderedRow, repeat: int
    ) -> tuple[Completion, bool]:
        """Return the model's answer, and whether it came out of the cache."""
        experiment, reference = self._plan.experiment, opened.reference
        key = opened.keys.key(rendered, repeat) if opened.keys is not None else None
        note = call_note(self._note, row.number, reference.name, repeat)

        async def complete() -> Completion:
            async with opened.turns:
                return await opened.model.complete(
                    rendered.messages,
                    parameters=parameters_of(experiment, reference, repeat),
                    json_schema=experiment.json_schema,
                    before=lambda: note(reference, key),
                )

        return await self._answers.answer(key, rendered.digest, rendered.messages, complete)

    def _failed(
        self, row: Row, reference: ModelReference, repeat: int, rendered: RenderedRow, error: str
    ) -> RowResult:
        return RowResult(
            row.id,
            row.number,
            row.line,
            reference.name,
            repeat,
            row.values,
            error=self._mask.mask(error),
            digest=rendered.digest,
        )


def _known(
    seconds: float | None,
    counts: tuple[int | None, int | None],
    cost: float | None,
    output_schema: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return what metrics may ask of an answer beside its text; see `metrics.binding.ANSWER_NAMES`."""
    known = [count for count in counts if count is not None]
    return {
        "seconds": seconds,
        "tokens": sum(known) if len(known) == len(counts) else None,
        "cost": cost,
        "output_schema": output_schema,
    }
