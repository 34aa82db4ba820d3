"""The exception for everything that a user can correct: what is wrong, where, and what to do.

The command line prints it and picks the exit code; the server answers with its message.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar


class FilePlace(NamedTuple):
    """A place in a file: `line` and `column` count from 0, and are None if only the file is known."""

    path: Path | str
    line: int | None = None
    column: int | None = None

    def text(self) -> str:
        """Return the place as people and editors write it, `file:line:column`, counted from 1."""
        numbers = [self.line] if self.column is None else [self.line, self.column]
        return ":".join([str(self.path), *(str(number + 1) for number in numbers if number is not None)])


class UserError(Exception):
    """Something that was asked for and could not be had: a server that is down, a row without its column.

    `message` says what is wrong in one sentence without its full stop, `place` where, and
    `remedy` what to do about it. None of them ever holds a secret.
    """

    def __init__(self, message: str, place: FilePlace | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy


class UsageError(UserError):
    """A request that can never succeed as it stands: a file that is not there, an unknown name."""


Value = TypeVar("Value")


def optional(arguments: Mapping[str, Any], name: str, kind: type[Value]) -> Value | None:
    """Return the argument, or None if it is not given; raises UsageError where it is of another type."""
    value = arguments.get(name)
    if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
        return value
    raise UsageError(f"the argument `{name}` must be of type {kind.__name__}, and not {type(value).__name__}")
