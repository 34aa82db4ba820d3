"""Metrics as objects with a name, a kind and `score`, in the interface of the Ragas documents."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from promptls.metrics.result import MetricResult
from promptls.metrics.threads import start_in_thread

Kind: TypeAlias = Literal["discrete", "numeric", "ranking"]
AllowedValues: TypeAlias = Sequence[Any] | range | int | None


@dataclass(frozen=True, slots=True)
class Metric:
    """A function of keyword arguments that scores one row.

    `allowed_values` are the classes of a discrete metric, the lowest and highest value (both
    included) or the range of a numeric one, and the length of a ranking. The first class of a
    discrete metric is the good one: its share of the rows is the metric's score.
    """

    name: str
    kind: Kind
    allowed_values: AllowedValues
    function: Callable[..., Any]
    lower_is_better: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that have the same value for every row."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The columns of parameters that are named otherwise."""
    judge: str | None = None
    """The model that judges, for a metric that asks one; None for the project's."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What the undecorated function returns."""
        return self.function(*arguments, **named)

    def score(self, **arguments: Any) -> MetricResult:
        """The score of `arguments`; an exception in the function is a result without a value.

        Raises `TypeError` when the arguments are not those of the function. An asynchronous
        function can be scored where no event loop runs; elsewhere `ascore` is awaited.
        """
        inspect.signature(self.function).bind(**arguments)
        try:
            value = self.function(**arguments)
            if inspect.isawaitable(value):
                value = asyncio.run(_awaited(value))
        except Exception as error:  # noqa: BLE001 - a row that cannot be scored must not end the run
            return self._broken(error)
        return self._checked(value)

    async def ascore(self, **arguments: Any) -> MetricResult:
        """The same as `score`, without blocking: a function that is not asynchronous runs in a thread."""
        inspect.signature(self.function).bind(**arguments)
        try:
            if inspect.iscoroutinefunction(self.function):
                value = await self.function(**arguments)
            else:
                value = await in_thread(self.function, arguments)
                if inspect.isawaitable(value):
                    value = await value
        except Exception as error:  # noqa: BLE001 - as in `score`
            return self._broken(error)
        return self._checked(value)

    def _broken(self, error: Exception) -> MetricResult:
        return MetricResult(None, f"Error executing metric {self.name}: {type(error).__name__}: {error}")

    def _checked(self, value: Any) -> MetricResult:
        result = as_result(value)
        if result.value is None:
            return result
        problem = _PROBLEM[self.kind](result.value, self.allowed_values)
        return result if problem is None else MetricResult(None, f"Metric {self.name} {problem}")


def as_result(value: Any) -> MetricResult:
    """`value` as a result: itself, another library's result object, or a plain value without a reason."""
    if isinstance(value, MetricResult):
        return value
    if hasattr(value, "value") and hasattr(value, "reason"):
        return MetricResult(value.value, value.reason)
    return MetricResult(value)


async def in_thread(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """What the function returns, from a thread that does not keep the program from ending.

    The threads of asyncio's own pool are waited for at the end, for ever when a function never ends.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(value)
        else:
            outcome.set_exception(error)

    def work() -> None:
        value, error = None, None
        try:
            value = function(**arguments)
        except BaseException as raised:  # noqa: BLE001 - it is raised where the score is awaited
            passable = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
            error = raised if passable else RuntimeError(repr(raised))
        # The loop is closed when nobody waits any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, error)

    start_in_thread(work)
    return await outcome


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _discrete_problem(value: Any, allowed: AllowedValues) -> str | None:
    classes = list(cast("Sequence[Any]", allowed or ()))
    return None if not classes or value in classes else f"returned '{value}' but expected one of {classes}"


def _numeric_problem(value: Any, allowed: AllowedValues) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"returned '{value}' but expected a numeric value"
    if isinstance(allowed, range):
        inside = value in allowed
    elif isinstance(allowed, Sequence) and allowed:
        inside = min(allowed) <= value <= max(allowed)
    else:
        inside = value == value  # noqa: PLR0124 - not a number is the one value that differs from itself
    return None if inside else f"returned '{value}' but expected value in range {allowed}"


def _ranking_problem(value: Any, allowed: AllowedValues) -> str | None:
    if not isinstance(value, list):
        return f"returned '{value}' but expected a list"
    if isinstance(allowed, int) and len(value) != allowed:
        return f"returned list of length {len(value)} but expected {allowed} items"
    return None


_PROBLEM: Mapping[Kind, Callable[[Any, AllowedValues], str | None]] = {
    "discrete": _discrete_problem,
    "numeric": _numeric_problem,
    "ranking": _ranking_problem,
}
