"""Documents that are no prompts: programs and files of data, whose unsaved text counts in renames.

An edit costs the lines that it touches. Nothing is parsed until somebody asks about a symbol.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.meaning.kind import Kind
from promptls.meaning.template import Template
from promptls.protocol.convert import is_file
from promptls.text.edited_lines import EditedLines, UnitPlace
from promptls.workspace.disk import source_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_NEVER_PROMPTS: Final = frozenset({".py", ".csv", ".jsonl", ".ndjson", ".yml", ".yaml"})
_JSON: Final = ".json"
_MOST_LOOKED_AT: Final = 2_000
"""Characters of a JSON file that is looked at with each letter: it may be about to become a prompt."""


class HeldDocuments:
    """The texts as the client edits them; those that the workspace has not been given yet are waiting."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._texts: Final[dict[str, EditedLines]] = {}
        self._versions: Final[dict[str, int]] = {}
        self._waiting: Final[set[str]] = set()

    def __contains__(self, path: str) -> bool:
        return path in self._texts

    def takes(self, path: str, text: str) -> bool:
        """Whether a document that is opened is no prompt, and will hardly become one."""
        suffix = Path(path).suffix.lower()
        if not is_file(path) or self._session.snapshot.project(path).includes(path):
            return False
        if suffix == _JSON and len(text) > _MOST_LOOKED_AT:
            return Template(source_of(path, text)).kind is Kind.OTHER
        return suffix in _NEVER_PROMPTS

    def open(self, path: str, text: str, version: int) -> None:
        """Take the document's text from the client until it is closed."""
        self._texts[path], self._versions[path] = EditedLines(text), version
        self._waiting.add(path)
        self._session.program_findings.edited(path)

    def change(self, path: str, changes: list[dict[str, Any]], version: int | None) -> None:
        """Apply the client's changes, in order."""
        for change in changes:
            place = change.get("range")
            if place is None:
                self._texts[path] = EditedLines(change["text"])
                continue
            first, last = place["start"], place["end"]
            self._texts[path].edit(
                UnitPlace(first["line"], first["character"]),
                UnitPlace(last["line"], last["character"]),
                change["text"],
                self._session.unit,
            )
        self._versions[path] = version or self._versions[path]
        self._waiting.add(path)
        self._session.program_findings.edited(path)

    def close(self, path: str) -> None:
        """Take the file from the disk again."""
        del self._texts[path], self._versions[path]
        self._waiting.discard(path)
        if path in self._session.snapshot.held:
            self._session.workspace.let_go(path)
        self._session.program_findings.closed(path)

    def is_waiting(self, path: str) -> bool:
        """Whether the document has been edited since the workspace was given its text."""
        return path in self._waiting

    def settle(self, ending: str = "") -> None:
        """Give the workspace the texts that wait, of files whose names end so."""
        for path in sorted(path for path in self._waiting if path.endswith(ending)):
            self._session.workspace.hold(path, self._texts[path].text, self._versions[path])
            self._waiting.remove(path)
