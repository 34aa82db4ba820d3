"""The names of every prompt file, kept for as long as the file stays what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from lsprotocol import types

from promptls.meaning.kind import Kind
from promptls.protocol.convert import to_range
from promptls.text.file_stamp import stamp_of

if TYPE_CHECKING:
    from promptls.features.workspace_symbols import NamedThing
    from promptls.protocol.session import Session


class PlacedThing(NamedTuple):
    """Something with a name, and where the client finds it."""

    thing: NamedThing
    place: types.Range


class SymbolIndex:
    """What has a name, by file. A file is read again when it, its settings or a file around it change."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._known: dict[str, tuple[object, tuple[PlacedThing, ...]]] = {}

    def paths(self) -> list[str]:
        """The prompt files of the workspace and those that are open, sorted."""
        snapshot = self._session.snapshot
        known = sorted({*snapshot.graph.paths, *snapshot.open_files})
        for gone in self._known.keys() - set(known):
            del self._known[gone]
        return known

    def of_file(self, path: str) -> tuple[PlacedThing, ...]:
        """What has a name in one file."""
        key = self._key(path)
        known = self._known.get(path)
        if known is None or known[0] != key:
            known = self._known[path] = (key, self._read(path))
        return known[1]

    def file_changed(self, path: str) -> None:
        """Read a file that was written again: its new date may have been seen with its old text."""
        snapshot = self._session.snapshot
        for each in (path, *snapshot.graph.around(path, snapshot.exists)):
            self._known.pop(each, None)

    def _key(self, path: str) -> object:
        snapshot = self._session.snapshot
        around = snapshot.graph.around(path, snapshot.exists)
        stamps = frozenset((other, self._stamp(other)) for other in around)
        return (self._stamp(path), stamps, snapshot.project(path))

    def _stamp(self, path: str) -> object:
        """What is another one when the text of a file is: the template of an open one, the date of others."""
        opened = self._session.snapshot.open_files.get(path)
        if opened is not None:
            return opened.template
        return stamp_of(path)

    def _read(self, path: str) -> tuple[PlacedThing, ...]:
        from promptls.features.workspace_symbols import named_things

        session = self._session
        template = session.snapshot.template(path) if session.kind(path) is not Kind.OTHER else None
        if template is None:
            return ()
        return tuple(
            PlacedThing(thing, to_range(template.source, thing.span, session.unit))
            for thing in named_things(session.snapshot, path)
        )
