"""Documents that are not prompts: programs and data files, whose unsaved text is used in renames.

An edit processes only the lines that it touches. Nothing is parsed until a symbol is requested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lsprotocol import types

from promptls.semantic.kind import Kind, has_keys_of_objects
from promptls.semantic.template import Template
from promptls.server.context import Context, Event
from promptls.server.to_proto import is_file
from promptls.text.positions import ClientPosition, EditedLines
from promptls.workspace.disk import source_of
from promptls.workspace.python_calls import TemplateCall

_NEVER_PROMPTS: Final = frozenset({".py", ".csv", ".jsonl", ".ndjson", ".yml", ".yaml"})
_JSON: Final = ".json"
_MAX_CHECKED: Final = 2_000
"""The longest JSON file, in characters, that is analyzed at each change: it may become a prompt."""


class AuxiliaryDocuments:
    """The texts as the client edits them; `flush` passes them to the workspace."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self.on_change: Event[[str]] = Event()
        """A document was opened or has a new text: its path."""
        self.on_close: Event[[str]] = Event()
        """A document was closed: its path."""
        self.on_calls_change: Event[[]] = Event()
        """Programs load prompts in another way than before."""
        self._texts: Final[dict[str, EditedLines]] = {}
        self._versions: Final[dict[str, int]] = {}
        self._waiting: Final[set[str]] = set()

    def __contains__(self, path: str) -> bool:
        return path in self._texts

    def accepts(self, path: str, text: str) -> bool:
        """Return whether an opened document is not a prompt, and is unlikely to become one."""
        suffix = Path(path).suffix.lower()
        if not is_file(path) or self._context.snapshot.project(path).includes(path):
            return False
        if suffix == _JSON and len(text) > _MAX_CHECKED:
            # A broken prompt gets its errors.
            return Template(source_of(path, text)).kind is Kind.OTHER and not has_keys_of_objects(text)
        return suffix in _NEVER_PROMPTS

    def open(self, path: str, text: str, version: int) -> None:
        """Use the client's text of the document until it is closed."""
        self._texts[path], self._versions[path] = EditedLines(text), version
        self._waiting.add(path)
        self.on_change.emit(path)

    def change(
        self, path: str, changes: Sequence[types.TextDocumentContentChangeEvent], version: int
    ) -> None:
        """Apply the client's changes, in order."""
        for change in changes:
            if not isinstance(change, types.TextDocumentContentChangePartial):
                self._texts[path] = EditedLines(change.text)
                continue
            first, last = change.range.start, change.range.end
            self._texts[path].edit(
                ClientPosition(first.line, first.character),
                ClientPosition(last.line, last.character),
                change.text,
                self._context.encoding,
            )
        self._versions[path] = version or self._versions[path]
        self._waiting.add(path)
        self.on_change.emit(path)

    def close(self, path: str) -> None:
        """Use the text of the file on disk again."""
        del self._texts[path], self._versions[path]
        self._waiting.discard(path)
        calls = self._context.snapshot.calls
        if path in self._context.snapshot.auxiliary:
            self._context.workspace.let_go(path)
        self.on_close.emit(path)
        self._compare(calls)

    def is_waiting(self, path: str) -> bool:
        """Return whether the document was edited since the last flush."""
        return path in self._waiting

    def flush(self, ending: str = "") -> None:
        """Pass the pending texts of files whose names end in `ending` to the workspace."""
        calls = self._context.snapshot.calls
        for path in sorted(path for path in self._waiting if path.endswith(ending)):
            self._context.workspace.hold(path, self._texts[path].text, self._versions[path])
            self._waiting.remove(path)
        self._compare(calls)

    def _compare(self, before: Mapping[str, tuple[TemplateCall, ...]]) -> None:
        calls = self._context.snapshot.calls
        if calls is not before and calls != before:
            self.on_calls_change.emit()
