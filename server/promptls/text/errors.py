"""The exception for errors that a user can correct: what is wrong, where, and how to fix it.

The command line prints it and chooses the exit code; the server responds with its message.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar


class FilePlace(NamedTuple):
    """A position in a file: `line` and `column` are zero-based, and None if only the file is known."""

    path: Path | str
    line: int | None = None
    column: int | None = None

    def text(self) -> str:
        """Return the position in the usual format, `file:line:column`, counted from 1."""
        positions = [self.line] if self.column is None else [self.line, self.column]
        return ":".join(
            [str(self.path), *(str(position + 1) for position in positions if position is not None)]
        )


class UserError(Exception):
    """A request that failed for a reason outside promptls: a server is down, a row lacks a column.

    `message` is what is wrong in one sentence without a full stop, `place` is where, and
    `remedy` is how to fix it. They never contain a secret.
    """

    def __init__(self, message: str, place: FilePlace | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy
        if remedy and sys.version_info >= (3, 11):
            self.add_note(f"→ {remedy}")  # Python prints it below the traceback

    def to_json(self) -> dict[str, Any]:
        """Return the error as JSON, for another process."""
        place = self.place and [str(self.place.path), self.place.line, self.place.column]
        is_usage = isinstance(self, UsageError)
        return {"message": self.message, "place": place, "remedy": self.remedy, "usage": is_usage}


def error_of(value: Mapping[str, Any]) -> UserError:
    """Return the error that `UserError.to_json` wrote."""
    kind = UsageError if value["usage"] else UserError
    return kind(value["message"], value["place"] and FilePlace(*value["place"]), value["remedy"])


class UsageError(UserError):
    """A request that can never succeed unless it is changed: a missing file, an unknown name."""


Value = TypeVar("Value")


def refused_by_system(failure: OSError) -> UserError:
    """Return the error for a file that the operating system does not let promptls use."""
    reason = (failure.strerror or str(failure) or type(failure).__name__).lower()
    named = isinstance(failure.filename, str | bytes | os.PathLike)
    remedies = {
        errno.ENOENT: "check the path",
        errno.EACCES: "change the file's permissions, or run as a user who may use it",
        errno.ENOSPC: "free some space and try again; finished work is saved",
        errno.EROFS: "choose a folder that can be written to",
    }
    return UserError(
        f"the system refused: {reason}",
        FilePlace(os.fsdecode(failure.filename)) if named else None,
        remedies.get(failure.errno or 0),
    )


def optional(arguments: Mapping[str, Any], name: str, kind: type[Value]) -> Value | None:
    """Return the argument, or None if it is missing; raises UsageError if its type is wrong."""
    value = arguments.get(name)
    if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
        return value
    raise UsageError(f"the argument `{name}` must be of type {kind.__name__}, and not {type(value).__name__}")


def parse_json(text: str) -> Any:
    """Return the value of a JSON text of others; raises ValueError, also where Python gives up.

    `json.loads` raises RecursionError for deep nesting; numbers of very many digits are not JSONDecodeError.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def trailing_comma(error: json.JSONDecodeError) -> int | None:
    """Return the offset of a comma after the last entry of a list or mapping; None for another error.

    Python reports the closing bracket before 3.13, and the comma since.
    """
    if error.msg.startswith("Illegal trailing comma"):
        return error.pos
    before = error.doc[: error.pos].rstrip()
    is_last = before.endswith(",") and error.doc[error.pos : error.pos + 1] in {"}", "]"}
    return len(before) - 1 if is_last else None
