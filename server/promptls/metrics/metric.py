"""Metrics as objects with a name, a kind and `score`, in the interface of the Ragas documents."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

from promptls.metrics.result import MetricResult
from promptls.metrics.threads import start_in_thread
from promptls.text.failure import Failure

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

    def score(self, *unnamed: Any, **given: Any) -> MetricResult:
        """The score of the arguments `given`; an exception in the function is a result without a value.

        Raises `TypeError` when one that the function needs is missing, or has no name; those that it does
        not take are left out, with a warning. An asynchronous function can be scored where no event loop
        runs; elsewhere `ascore` is awaited.
        """
        arguments = self._taken(unnamed, given)
        try:
            value = self.function(**arguments)
            if inspect.isawaitable(value):
                value = asyncio.run(_awaited(value))
        except Exception as error:  # noqa: BLE001 - a row that cannot be scored must not end the run
            return self._broken(error)
        return self._checked(value)

    async def ascore(self, *unnamed: Any, **given: Any) -> MetricResult:
        """The same as `score`, without blocking: a function that is not asynchronous runs in a thread."""
        arguments = self._taken(unnamed, given)
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

    def batch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """The scores of several sets of arguments, in their order."""
        return [self.score(**arguments) for arguments in inputs]

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """The same as `batch_score`, all of them at once."""
        return list(await asyncio.gather(*(self.ascore(**arguments) for arguments in inputs)))

    def _taken(self, unnamed: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that the function takes; raises `TypeError` as `score` does."""
        signature = signature_of(self.function)
        names = list(signature.parameters)
        if unnamed:
            values = [*(repr(value) for value in unnamed), *["…"] * len(names)]
            shown = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=False))
            raise TypeError(f"the arguments of {self.name}.score are given by their names: score({shown})")
        if any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()):
            names = list(given)
        for name in given.keys() - names:
            warnings.warn(f"the metric {self.name} takes no `{name}`: it is left out", stacklevel=3)
        arguments = {name: value for name, value in given.items() if name in names}
        signature.bind(**arguments)
        return arguments

    def _broken(self, error: Exception) -> MetricResult:
        if isinstance(error, Failure):
            # Its words are for people as they are.
            return MetricResult(None, f"{error.message}: {error.remedy}" if error.remedy else error.message)
        return MetricResult(None, f"Error executing metric {self.name}: {type(error).__name__}: {error}")

    def _checked(self, value: Any) -> MetricResult:
        result = as_result(value)
        if result.value is None:
            return result
        problem = _PROBLEM[self.kind](result.value, self.allowed_values)
        return result if problem is None else MetricResult(None, f"Metric {self.name} {problem}")


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a metric's function, which is asked for with each row; raises what `inspect` does."""
    try:
        return _kept_signature(function)
    except TypeError:  # an object that has no hash
        return inspect.signature(function)


_kept_signature = lru_cache(maxsize=256)(inspect.signature)


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
