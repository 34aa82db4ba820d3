"""The one exception for what a user can mend: it carries what is wrong, where, and what to do.

Every room raises it, and whoever shows it decides how: the command line prints it and picks the
exit code, the protocol package answers with its message.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class FilePlace(NamedTuple):
    """A place in a file: `line` and `column` count from 0, and are None where only the file is known."""

    path: Path | str
    line: int | None = None
    column: int | None = None

    def text(self) -> str:
        """The place as people and editors write it, `file:line:column`, counted from 1."""
        numbers = [self.line] if self.column is None else [self.line, self.column]
        return ":".join([str(self.path), *(str(number + 1) for number in numbers if number is not None)])


class Failure(Exception):  # noqa: N818 - it reports a fact about the user's input, not an error of the program
    """Something that was asked for and could not be had: a server that is down, a row without its column.

    `message` says what is wrong in one sentence without its full stop, `place` where, and
    `remedy` what to do about it. None of them ever holds a secret.
    """

    def __init__(self, message: str, place: FilePlace | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy


class WrongUse(Failure):
    """A request that can never succeed as it stands: a file that is not there, an unknown name."""
