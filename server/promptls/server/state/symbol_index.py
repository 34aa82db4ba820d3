"""The names in every prompt file, cached until a file changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from promptls.facts.reads import Reads, recording
from promptls.semantic.kind import Kind
from promptls.server.to_proto import to_range

if TYPE_CHECKING:
    from lsprotocol import types

    from promptls.ide.document_symbols import NamedThing
    from promptls.server.context import Context


class PlacedThing(NamedTuple):
    """Something with a name, and its range at the client."""

    thing: NamedThing
    place: types.Range


class SymbolIndex:
    """Names by file. A file is read again when something that was read for it changes."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self._cache: dict[str, tuple[Reads, tuple[PlacedThing, ...]]] = {}

    def paths(self) -> list[str]:
        """Return the prompt files of the workspace and those that are open, sorted."""
        snapshot = self._context.snapshot
        known = sorted({*snapshot.graph.paths, *snapshot.open_files})
        for gone in self._cache.keys() - set(known):
            del self._cache[gone]
        return known

    def of_file(self, path: str) -> tuple[PlacedThing, ...]:
        """Return what has a name in one file."""
        cached = self._cache.get(path)
        if cached is None or not cached[0].hold(self._context.snapshot):
            with recording() as reads:
                cached = self._cache[path] = (reads, self._read(path))
        return cached[1]

    def on_files_change(self, paths: list[str]) -> None:
        """Forget what was read of written files: their new date may have been seen with their old text."""
        for path in paths:
            for stale in [each for each, (reads, _) in self._cache.items() if reads.mention(path)]:
                del self._cache[stale]

    def _read(self, path: str) -> tuple[PlacedThing, ...]:
        from promptls.ide.document_symbols import named_things

        context = self._context
        template = context.snapshot.template(path) if context.kind(path) is not Kind.OTHER else None
        if template is None:
            return ()
        return tuple(
            PlacedThing(thing, to_range(template.source, thing.span, context.encoding))
            for thing in named_things(context.snapshot, path)
        )
