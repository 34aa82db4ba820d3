"""What stands for a value of a Python configuration that only running it would give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from promptls.text.failure import Failure

_MOST_VALUES: Final = 200_000
_DEEPEST: Final = 60


@dataclass(frozen=True, slots=True)
class Symbol:
    """A class, a function, or whatever else is known by its source alone."""

    text: str

    def __str__(self) -> str:
        return self.text


def is_known(value: Any) -> bool:
    """Whether nothing in the value, which may be nested, is a symbol."""
    waiting, seen = [value], set[int]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, Symbol):
            return False
        if isinstance(each, dict | list | tuple | set):
            if id(each) in seen:
                continue
            seen.add(id(each))
            waiting += [*each, *each.values()] if isinstance(each, dict) else each
    return True


def as_data(value: Any) -> Any:
    """The value as YAML can hold it: symbols are their text, tuples and sets are lists.

    Raises Failure for a value that holds itself, and for one that is too large or too deep.
    """
    return _Copy().of(value, 0)


class _Copy:
    """Copies values, and counts what it has copied."""

    def __init__(self) -> None:
        self._copied = 0

    def of(self, value: Any, depth: int) -> Any:
        self._copied += 1
        if self._copied > _MOST_VALUES or depth > _DEEPEST:
            raise Failure(
                "the configuration's data is too large or too deep", remedy="write out one data set"
            )
        if isinstance(value, dict):
            return {_key(key): self.of(its, depth + 1) for key, its in value.items()}
        if isinstance(value, set):
            return [self.of(each, depth + 1) for each in sorted(value, key=str)]
        if isinstance(value, list | tuple):
            return [self.of(each, depth + 1) for each in value]
        return value if isinstance(value, str | int | float | bool | None) else str(value)


def _key(key: Any) -> Any:
    return key if isinstance(key, str | int | float | bool | None) else str(key)
