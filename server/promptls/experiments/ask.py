"""Asking one model about one row, and scoring what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from promptls.datasets.dataset import Row
from promptls.experiments.plan import Plan
from promptls.experiments.row_rendering import RenderedRow, RowRenderer, row_renderer
from promptls.experiments.row_result import RowResult, Score
from promptls.metrics.binding import bound_arguments
from promptls.metrics.metric import Metric
from promptls.models.model import Completion, Model, ModelError
from promptls.models.registry import ModelReference, open_model


@asynccontextmanager
async def opened_models(plan: Plan, renderer: RowRenderer | None) -> AsyncIterator[Asker]:
    """What asks the plan's models, each opened once; at the end all of them are closed."""
    async with AsyncExitStack() as stack:
        rows = await stack.enter_async_context(row_renderer(plan.experiment, renderer))
        models: dict[str, Model] = {}
        for reference in plan.experiment.models:
            models[reference.name] = open_model(reference)
            stack.push_async_callback(models[reference.name].close)
        yield Asker(plan, rows, models)


class Asker:
    """Holds the open models, and lets no model work on more requests than it says it can."""

    def __init__(self, plan: Plan, renderer: RowRenderer, models: Mapping[str, Model]) -> None:
        self._plan = plan
        self._renderer = renderer
        self._models = models
        self._turns = {
            name: asyncio.Semaphore(model.most_at_once or plan.experiment.concurrency)
            for name, model in models.items()
        }

    async def ask(
        self, row: Row, reference: ModelReference, repeat: int
    ) -> tuple[RowResult, ModelError | None]:
        """The result for `row`, and the model's error where that is why there is none.

        Whatever goes wrong with the row is the result's `error`.
        """
        rendered = await self._renderer.render(row)
        if rendered.error is not None:
            return self._failed(row, reference, repeat, rendered, rendered.error), None
        try:
            completion = await self._complete(reference, rendered)
        except ModelError as error:
            return self._failed(row, reference, repeat, rendered, error.message), error
        scores = {metric.name: await self._score(metric, row, completion) for metric in self._plan.metrics}
        result = RowResult(
            id=row.id,
            number=row.number,
            line=row.line,
            model=reference.name,
            repeat=repeat,
            values=row.values,
            response=completion.text,
            scores=scores,
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
            seconds=completion.seconds,
            cost=_cost(reference, completion),
            finish_reason=completion.finish_reason,
            digest=rendered.digest,
        )
        return result, None

    async def _complete(self, reference: ModelReference, rendered: RenderedRow) -> Completion:
        experiment = self._plan.experiment
        async with self._turns[reference.name]:
            asked = self._models[reference.name].complete(
                rendered.messages,
                parameters={**reference.parameters, **experiment.parameters},
                json_schema=experiment.json_schema,
            )
            try:
                return await asyncio.wait_for(asked, experiment.timeout)
            except asyncio.TimeoutError:
                raise ModelError(
                    f"`{reference.name}` did not answer within {experiment.timeout:g} seconds",
                    "set a longer `timeout` in the experiment, or ask for shorter answers with `max_tokens`",
                    retryable=True,
                ) from None

    async def _score(self, metric: Metric, row: Row, completion: Completion) -> Score:
        experiment = self._plan.experiment
        try:
            arguments = bound_arguments(metric, row.values, completion.text, experiment.output_key)
            result = await asyncio.wait_for(metric.ascore(**arguments), experiment.timeout)
        except asyncio.TimeoutError:
            return Score(None, f"the metric took longer than {experiment.timeout:g} seconds")
        except Exception as error:  # noqa: BLE001 - a row that cannot be scored must not end the run
            return Score(None, f"{type(error).__name__}: {error}")
        reason = None if result.reason is None else str(result.reason)
        return Score(_plain(result.value), reason)

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
            error=error,
            digest=rendered.digest,
        )


def _cost(reference: ModelReference, completion: Completion) -> float | None:
    """US dollars that the completion cost; None where no price or no token count is known."""
    prices = (
        (reference.input_price, completion.input_tokens),
        (reference.output_price, completion.output_tokens),
    )
    known = [price * tokens / 1e6 for price, tokens in prices if price is not None and tokens is not None]
    return sum(known) if known else None


def _plain(value: Any) -> Any:
    """A value that JSON can carry; numbers of other libraries become Python's."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    # NumPy's scalars have this method, and nothing else does.
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)
