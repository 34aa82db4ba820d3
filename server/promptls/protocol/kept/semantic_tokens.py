"""The semantic tokens that the client has of each file, so that it is told of no more than what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptls.features.semantic_tokens.numbers import Run, change
from promptls.features.semantic_tokens.runs import file_run, run_of_lines
from promptls.meaning.kind import Kind

if TYPE_CHECKING:
    from promptls.protocol.session import Session

Json = dict[str, Any]


class SemanticTokens:
    """The newest answer for each file, under the number that the client knows it by."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._answered: dict[str, tuple[str, Run]] = {}
        self._next_result = 1

    def full(self, path: str) -> Json:
        """All tokens of the file."""
        run = self._now(path)
        return {"resultId": self._taken(path, run), "data": run.numbers}

    def delta(self, path: str, previous: str) -> Json:
        """What changed since the answer `previous`; all tokens where that is not known any more."""
        known = self._answered.get(path)
        if known is None or known[0] != previous:
            return self.full(path)
        run = self._now(path)
        edit = change(known[1], run)
        if edit is None:
            return {"resultId": previous, "edits": []}
        made = {"start": edit.start, "deleteCount": edit.deleted, "data": edit.numbers}
        return {"resultId": self._taken(path, run), "edits": [made]}

    def of_lines(self, path: str, first: int, last: int) -> Json:
        """The tokens around the lines from `first` to `last`."""
        return {"data": run_of_lines(self._session.snapshot, path, self._session.unit, first, last).numbers}

    def look_again(self, paths: list[str]) -> None:
        """Let the client ask again where what it has of one of the files is out of date."""
        if any(path in self._answered and self._answered[path][1] is not self._now(path) for path in paths):
            self._session.refresh_semantic_tokens()

    def file_closed(self, path: str) -> None:
        """Forget what the client has of a file."""
        self._answered.pop(path, None)

    def _now(self, path: str) -> Run:
        if self._session.kind(path) is Kind.OTHER:
            return Run((), 0)
        return file_run(self._session.snapshot, path, self._session.unit)

    def _taken(self, path: str, run: Run) -> str:
        result = str(self._next_result)
        self._next_result += 1
        self._answered[path] = (result, run)
        return result
