"""Whether the folds that a client has of its files are out of date, and it is to ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptls.meaning.kind import Kind

if TYPE_CHECKING:
    from promptls.protocol.session import Session


class Folds:
    """The kind that each file had when its folds were asked for: that of a section hangs on other files."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._answered: dict[str, Kind] = {}

    def asked_for(self, path: str) -> None:
        """The client gets the folds of the file now."""
        self._answered[path] = self._session.kind(path)

    def look_again(self, paths: list[str]) -> None:
        """Let the client ask again where one of the files is of another kind than it was."""
        if any(self._answered.get(path, kind := self._session.kind(path)) is not kind for path in paths):
            self._session.refresh_folds()

    def file_closed(self, path: str) -> None:
        """Forget what the client has of a file."""
        self._answered.pop(path, None)
