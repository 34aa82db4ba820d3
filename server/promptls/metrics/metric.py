"""Threads that wait for work, and that keep no program from ending.

The threads of the standard library's pools are waited for at the end, for ever where a function never ends;
a new thread for each row takes longer than most metrics.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, Literal, TypeAlias, cast

from promptls.metrics.result import MetricResult
from promptls.text.errors import UserError

_Work: TypeAlias = Callable[[], None]

_FREE: list[SimpleQueue[_Work]] = []
"""The inboxes of threads that have nothing to do."""


def start_in_thread(work: _Work) -> None:
    """`work`, which raises nothing, begins in a thread: a free one, or a new one where there is none."""
    try:
        inbox = _FREE.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), daemon=True).start()
    inbox.put(work)


def _serve(inbox: SimpleQueue[_Work]) -> None:
    while True:
        inbox.get()()
        _FREE.append(inbox)


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
        """Return what the undecorated function returns."""
        return self.function(*arguments, **named)

    def score(self, *unnamed: Any, **given: Any) -> MetricResult:
        """Return the score of the arguments `given`.

        An exception in the function is a result without a value.

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
        """Return the result of `score` without blocking: synchronous functions run in a thread."""
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
        """Return the scores of several sets of arguments, in their order."""
        return [self.score(**arguments) for arguments in inputs]

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """Return the same as `batch_score`, all of them at once."""
        return list(await asyncio.gather(*(self.ascore(**arguments) for arguments in inputs)))

    def _taken(self, unnamed: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that the function takes; raises `TypeError` as `score` does."""
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
        if isinstance(error, UserError):
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
    """Return the signature of a metric's function, which is asked for with each row.

    Raises what `inspect` does.
    """
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
    """Return what the function returns, from a thread that does not keep the program from ending.

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


PASS_OR_FAIL = ("pass", "fail")


def discrete_metric(
    *, name: str | None = None, allowed_values: Sequence[Any] = PASS_OR_FAIL
) -> Callable[[Callable[..., Any]], Metric]:
    """Return a decorator for functions that return one of `allowed_values`; the first is the good one."""
    return _decorator(name, "discrete", list(allowed_values))


def numeric_metric(
    *,
    name: str | None = None,
    allowed_values: tuple[float, float] | range | None = (0.0, 1.0),
    lower_is_better: bool = False,
) -> Callable[[Callable[..., Any]], Metric]:
    """Return a decorator for functions that return a number; more is better, if not said otherwise.

    `allowed_values` is the lowest and the highest value, both included, or a range, or None for any.
    """
    return _decorator(name, "numeric", allowed_values, lower_is_better=lower_is_better)


def ranking_metric(
    *, name: str | None = None, allowed_values: int | Sequence[Any] | None = None
) -> Callable[[Callable[..., Any]], Metric]:
    """Return a decorator for functions that return a ranked list of indices.

    `allowed_values` is the length that the list must have; a sequence, as the Ragas documents
    write it, leaves the length free.
    """
    return _decorator(name, "ranking", allowed_values)


def _decorator(
    name: str | None, kind: Kind, allowed_values: AllowedValues, *, lower_is_better: bool = False
) -> Callable[[Callable[..., Any]], Metric]:
    def decorate(function: Callable[..., Any]) -> Metric:
        chosen = name or function.__name__
        return Metric(chosen, kind, allowed_values, function, lower_is_better=lower_is_better)

    return decorate
