"""Metrics, their results, the decorators that create them, and threads for synchronous metrics.

Metrics run in daemon threads, because the standard library's pools are joined at exit, which would block if
a function never returns. Threads are reused: starting one per row takes longer than most metrics.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import statistics
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, Final, Literal, TypeAlias, cast

from promptls.text.errors import UsageError, UserError
from promptls.text.format import in_code
from promptls.text.suggest import did_you_mean


@dataclass(frozen=True, slots=True, eq=False)
class MetricResult:
    """A score and its reason; `value` is None if there is no score, and `reason` then says why.

    It supports the arithmetic, comparison and iteration of its value: `result + 1`, `result == "pass"`,
    `if result`. Two results are equal if their values and reasons are.
    """

    value: Any
    reason: str | None = None
    traces: dict[str, Any] | None = None
    """The request to a model under `input`, and its answer under `output`."""

    def to_dict(self) -> dict[str, Any]:
        """Return value and reason, with the keys that Ragas uses."""
        return {"result": self.value, "reason": self.reason}

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MetricResult):
            return bool(self.value == other.value and self.reason == other.reason)
        return bool(self.value == other)

    def __hash__(self) -> int:
        # A result equals its value, so it must have the same hash; lists are not hashable.
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __contains__(self, item: Any) -> bool:
        return item in self.value

    def __add__(self, other: Any) -> Any:
        return self.value + _plain(other)

    def __radd__(self, other: Any) -> Any:
        return other + self.value

    def __sub__(self, other: Any) -> Any:
        return self.value - _plain(other)

    def __rsub__(self, other: Any) -> Any:
        return other - self.value

    def __mul__(self, other: Any) -> Any:
        return self.value * _plain(other)

    def __rmul__(self, other: Any) -> Any:
        return other * self.value

    def __truediv__(self, other: Any) -> Any:
        return self.value / _plain(other)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.value

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < _plain(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= _plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _plain(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= _plain(other))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, MetricResult) else value


AGGREGATIONS: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "mode": statistics.mode,
    "sum": sum,
    "min": min,
    "max": max,
    "stdev": lambda values: statistics.stdev(values) if len(values) > 1 else 0.0,
    "count": len,
}
"""Aggregations by name; `mode` is the (first) most frequent value, and also works for classes."""


def aggregate(results: Iterable[Any], how: str = "mean") -> Any:
    """Aggregate results, which may be MetricResults or values, to a number; None if there are no values.

    Results without a value are ignored. Raises UsageError for an unknown aggregation, and for classes if
    the aggregation requires numbers.
    """
    if how not in AGGREGATIONS:
        listed = in_code(AGGREGATIONS)
        raise UsageError(f"there is no aggregation `{how}`{did_you_mean(how, AGGREGATIONS)}", remedy=listed)
    plain = [each.value if isinstance(each, MetricResult) else each for each in results]
    values = [each for each in plain if each is not None]
    if not values:
        return 0 if how in {"count", "sum"} else None
    try:
        return AGGREGATIONS[how](values)
    except TypeError:
        raise UsageError(
            f"`{how}` needs numbers, but these are classes", remedy="use `mode` or `count`"
        ) from None


_Work: TypeAlias = Callable[[], None]

_FREE: list[SimpleQueue[_Work]] = []
"""The inboxes of idle threads."""


def start_in_thread(work: _Work) -> None:
    """Run `work`, which must not raise, in an idle thread, or in a new thread."""
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
    """A function of keyword arguments that scores a row.

    `allowed_values` are the classes of a discrete metric, the lowest and highest value (both
    included) or the range of a numeric one, and the length of a ranking. The first class of a
    discrete metric is the good one: its proportion among the rows is the metric's score.
    """

    name: str
    kind: Kind
    allowed_values: AllowedValues
    function: Callable[..., Any]
    lower_is_better: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that have the same value for every row."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The columns of parameters whose names differ from the column."""
    judge: str | None = None
    """The judge model of a metric that uses one; None for the project's default."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return what the undecorated function returns."""
        return self.function(*arguments, **named)

    def score(self, *unnamed: Any, **named: Any) -> MetricResult:
        """Return the score for the arguments `named`.

        An exception in the function gives a result without a value.

        Raises `TypeError` if a required argument is missing or arguments are positional; unknown arguments
        are ignored with a warning. An asynchronous function can only be scored if no event loop is
        running; otherwise use `ascore`.
        """
        arguments = self._taken(unnamed, named)
        try:
            value = self.function(**arguments)
            if inspect.isawaitable(value):
                value = asyncio.run(_await_answer(value))
        except Exception as error:  # noqa: BLE001 - a scoring error must not end the run
            return self._broken(error)
        return self._check(value)

    async def ascore(self, *unnamed: Any, **named: Any) -> MetricResult:
        """Return the result of `score` without blocking: synchronous functions run in a thread."""
        arguments = self._taken(unnamed, named)
        try:
            if inspect.iscoroutinefunction(self.function):
                value = await self.function(**arguments)
            else:
                value = await in_thread(self.function, arguments)
                if inspect.isawaitable(value):
                    value = await value
        except Exception as error:  # noqa: BLE001 - as in `score`
            return self._broken(error)
        return self._check(value)

    def batch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """Return the scores of several sets of arguments, in their order."""
        return [self.score(**arguments) for arguments in inputs]

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """Run `batch_score` concurrently."""
        return list(await asyncio.gather(*(self.ascore(**arguments) for arguments in inputs)))

    def _taken(self, unnamed: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that the function accepts; raises `TypeError` as `score` does."""
        signature = signature_of(self.function)
        names = list(signature.parameters)
        if unnamed:
            values = [*(repr(value) for value in unnamed), *["…"] * len(names)]
            shown = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=False))
            raise TypeError(f"the arguments of {self.name}.score are given by their names: score({shown})")
        if any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()):
            names = list(named)
        for name in named.keys() - names:
            warnings.warn(f"the metric {self.name} takes no `{name}`: it is left out", stacklevel=3)
        arguments = {name: value for name, value in named.items() if name in names}
        signature.bind(**arguments)
        return arguments

    def _broken(self, error: Exception) -> MetricResult:
        if isinstance(error, UserError):
            # The message is already suitable for display.
            return MetricResult(None, f"{error.message}: {error.remedy}" if error.remedy else error.message)
        return MetricResult(None, f"Error executing metric {self.name}: {type(error).__name__}: {error}")

    def _check(self, value: Any) -> MetricResult:
        result = as_result(value)
        if result.value is None:
            return result
        problem = _PROBLEM[self.kind](result.value, self.allowed_values)
        return result if problem is None else MetricResult(None, f"Metric {self.name} {problem}")


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a metric's function; cached, because it is needed for each row.

    Raises the errors of `inspect.signature`.
    """
    try:
        return _cached_signature(function)
    except TypeError:  # an unhashable object
        return inspect.signature(function)


_cached_signature = lru_cache(maxsize=256)(inspect.signature)


def as_result(value: Any) -> MetricResult:
    """Convert a MetricResult, another library's result object, or a plain value to a result."""
    if isinstance(value, MetricResult):
        return value
    if hasattr(value, "value") and hasattr(value, "reason"):
        return MetricResult(value.value, value.reason)
    return MetricResult(value)


async def in_thread(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Run the function in a daemon thread and return its result.

    The threads of asyncio's pool are joined at exit, which would block if the function never returns.
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
        except BaseException as raised:  # noqa: BLE001 - re-raised where the score is awaited
            passable = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
            error = raised if passable else RuntimeError(repr(raised))
        # The loop is closed if the caller no longer waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, error)

    start_in_thread(work)
    return await outcome


async def _await_answer(value: Awaitable[Any]) -> Any:
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
        inside = value == value  # noqa: PLR0124 - only NaN differs from itself
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
    """Return a decorator for functions that return a number; higher is better by default.

    `allowed_values` is the lowest and the highest value (inclusive), a range, or None for any number.
    """
    return _decorator(name, "numeric", allowed_values, lower_is_better=lower_is_better)


def ranking_metric(
    *, name: str | None = None, allowed_values: int | Sequence[Any] | None = None
) -> Callable[[Callable[..., Any]], Metric]:
    """Return a decorator for functions that return a ranked list of indices.

    `allowed_values` is the required length of the list; a sequence, as in the Ragas documentation,
    does not restrict the length.
    """
    return _decorator(name, "ranking", allowed_values)


def _decorator(
    name: str | None, kind: Kind, allowed_values: AllowedValues, *, lower_is_better: bool = False
) -> Callable[[Callable[..., Any]], Metric]:
    def decorate(function: Callable[..., Any]) -> Metric:
        chosen = name or function.__name__
        return Metric(chosen, kind, allowed_values, function, lower_is_better=lower_is_better)

    return decorate
