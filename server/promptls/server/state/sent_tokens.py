"""The semantic tokens and folds that the client has of each file, so that only changes are sent."""

from __future__ import annotations

from typing import Any, Final

from promptls.ide.semantic_tokens import EMPTY, TokenRun, change, file_run, run_of_lines
from promptls.semantic.kind import Kind
from promptls.server.context import Context

Json = dict[str, Any]


class SemanticTokens:
    """The latest response for each file, with its result id."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self._answered: dict[str, tuple[str, TokenRun]] = {}
        self._next_result = 1

    def full(self, path: str) -> Json:
        """Return all tokens of a file."""
        run = self._now(path)
        return {"resultId": self._taken(path, run), "data": run.numbers}

    def delta(self, path: str, previous: str) -> Json:
        """Return what changed since the result `previous`; all tokens if that is unknown."""
        known = self._answered.get(path)
        if known is None or known[0] != previous:
            return self.full(path)
        run = self._now(path)
        edit = change(known[1].numbers, run.numbers)
        if edit is None:
            return {"resultId": previous, "edits": []}
        made = {"start": edit.start, "deleteCount": edit.deleted, "data": edit.numbers}
        return {"resultId": self._taken(path, run), "edits": [made]}

    def in_lines(self, path: str, first: int, last: int) -> Json:
        """Return the tokens around the lines from `first` to `last`."""
        return {
            "data": run_of_lines(self._context.snapshot, path, self._context.encoding, first, last).numbers
        }

    def refresh(self, paths: list[str]) -> None:
        """Have the client request tokens again if they are out of date for one of the files."""
        is_stale = any(
            path in self._answered and self._answered[path][1].numbers != self._now(path).numbers
            for path in paths
        )
        if is_stale and self._context.capabilities.refreshes_semantic_tokens:
            self._context.server.workspace_semantic_tokens_refresh(None)

    def on_did_close(self, path: str) -> None:
        """Forget a closed file."""
        self._answered.pop(path, None)

    def _now(self, path: str) -> TokenRun:
        if self._context.kind(path) is Kind.OTHER:
            return EMPTY
        return file_run(self._context.snapshot, path, self._context.encoding)

    def _taken(self, path: str, run: TokenRun) -> str:
        result = str(self._next_result)
        self._next_result += 1
        self._answered[path] = (result, run)
        return result


class Folds:
    """The kind of each file when its folds were requested; the kind of a section depends on other files."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self._answered: dict[str, Kind] = {}

    def requested(self, path: str) -> None:
        """Record that the client has requested the folds of a file."""
        self._answered[path] = self._context.kind(path)

    def refresh(self, paths: list[str]) -> None:
        """Have the client request folds again if the kind of one of the files has changed."""
        is_stale = any(
            self._answered.get(path, kind := self._context.kind(path)) is not kind for path in paths
        )
        if is_stale and self._context.capabilities.refreshes_folds:
            self._context.server.workspace_folding_range_refresh(None)

    def on_did_close(self, path: str) -> None:
        """Forget a closed file."""
        self._answered.pop(path, None)
