"""The scores of responses, by the metrics of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from promptls.datasets.files import Row
from promptls.experiments.judges import Judges, RowAccount
from promptls.experiments.plan import Plan
from promptls.experiments.row_result import Score
from promptls.experiments.under_way import CallNote
from promptls.metrics.binding import bound_arguments
from promptls.metrics.metric import Metric
from promptls.models.keys import KeyMask
from promptls.text.format import plural


class Scored(NamedTuple):
    """The scores of a response by metric, what its judges took, and whose judge gave no verdict."""

    scores: dict[str, Score]
    account: RowAccount
    unscored: tuple[str, ...]

    @property
    def is_judged(self) -> bool:
        """Whether any judge was asked."""
        return self.account.answered or self.account.failure is not None


class Scorer:
    """Scores with the metrics of a plan; no secret that `mask` knows comes out of a metric."""

    def __init__(self, plan: Plan, judges: Judges, mask: KeyMask) -> None:
        self._plan = plan
        self._judges = judges
        self._mask = mask

    async def score(
        self,
        row: Row,
        response: str,
        answer: Mapping[str, Any],
        repeat: int,
        note: CallNote,
        again: Collection[str] | None = None,
    ) -> Scored:
        """Return what all metrics say, or those that are asked `again`.

        Those that ask judges are asked at once.

        `note` is told of each call of a judge.
        """
        metrics = [each for each in self._plan.metrics if again is None or each.name in again]
        accounts: dict[str, RowAccount] = {}
        asked: dict[str, Mapping[str, Any]] = {}
        for metric in metrics:
            if (asks := self._plan.asks.get(metric.name)) is not None:
                account = accounts[metric.name] = RowAccount()
                asked[metric.name] = self._judges.of(asks, repeat, account, note, again=again is not None)
        scores = [self._score(metric, row, response, answer, asked.get(metric.name)) for metric in metrics]
        found = await asyncio.gather(*scores) if asked else [await score for score in scores]
        by_name = {metric.name: score for metric, score in zip(metrics, found, strict=True)}
        total = RowAccount()
        for account in accounts.values():
            total.take(account)
        # One that came to no question has its reasons in the row, and would have them again.
        unscored = tuple(
            name
            for name, account in accounts.items()
            if by_name[name].value is None and (account.answered or account.failure is not None)
        )
        return Scored(by_name, total, unscored)

    async def _score(
        self,
        metric: Metric,
        row: Row,
        response: str,
        answer: Mapping[str, Any],
        asked: Mapping[str, Any] | None,
    ) -> Score:
        experiment = self._plan.experiment
        # Each question to a judge has a limit of its own, and may wait for its turn.
        limit = experiment.timeout if asked is None else None
        try:
            arguments = bound_arguments(metric, row.values, response, experiment.output_key, answer)
            result = await asyncio.wait_for(metric.ascore(**arguments, **(asked or {})), limit)
        except asyncio.TimeoutError:
            return Score(None, f"the metric took longer than {plural(experiment.timeout, 'second')}")
        except Exception as error:  # noqa: BLE001 - a row that cannot be scored must not end the run
            return Score(None, self._mask.mask(f"{type(error).__name__}: {error}"))
        reason = None if result.reason is None else self._mask.mask(str(result.reason))
        value = _plain(result.value)
        return Score(self._mask.mask(value) if isinstance(value, str) else value, reason)


def _plain(value: Any) -> Any:
    """Return a value that JSON can carry; numbers of other libraries become Python's."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    # NumPy's scalars have this method, and nothing else does.
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)
