"""One call of an experiment's function: what it gave for a row, or why it gave nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from promptls.metrics.metric import in_thread
from promptls.models.keys import key_mask
from promptls.text.format import plural


class FunctionOutcome(NamedTuple):
    """What came of a row: a mapping, or an instance of the experiment's model; on an error, the row."""

    result: Any
    error: str | None


@dataclass(frozen=True, slots=True)
class RowFunction:
    """The function with everything that is the same for each row."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    model: type[BaseModel] | None
    timeout: float | None
    """Seconds that one call may take; None for no limit."""

    async def call(self, row: Any) -> FunctionOutcome:
        """Return the outcome; an exception of the function is an error, a cancellation is not caught."""
        given = dict(row) if isinstance(row, Mapping) else row
        try:
            value = await asyncio.wait_for(self._value(given), self.timeout)
            return FunctionOutcome(self._checked(value), None)
        except asyncio.TimeoutError as error:
            if str(error) or self.timeout is None:
                return failed_row(row, key_mask().mask(f"TimeoutError: {error}"))
            return failed_row(row, f"it took longer than {plural(self.timeout, 'second')}")
        except Exception as error:  # noqa: BLE001 - a row that fails must not end the run
            return failed_row(row, key_mask().mask(f"{type(error).__name__}: {error}"))

    async def _value(self, row: Any) -> Any:
        if inspect.iscoroutinefunction(self.function):
            return await self.function(row, *self.arguments, **self.named)
        value = await in_thread(lambda: self.function(row, *self.arguments, **self.named), {})
        return await value if inspect.isawaitable(value) else value

    def _checked(self, value: Any) -> Any:
        """Return the value as a row of the results; raises TypeError, or what the model raises."""
        if isinstance(value, BaseModel) and (self.model is None or isinstance(value, self.model)):
            return value if self.model is not None else value.model_dump()
        if not isinstance(value, Mapping):
            raise TypeError(f"the function gave a {type(value).__name__} and no mapping of columns to values")
        return dict(value) if self.model is None else self.model(**value)


def failed_row(row: Any, message: str) -> FunctionOutcome:
    """Return the outcome of a row that has only an error: the row with the error in its own column."""
    values = row.model_dump() if isinstance(row, BaseModel) else dict(row)
    column = "error" if "error" not in values else "experiment_error"
    return FunctionOutcome({**values, column: message}, message)
