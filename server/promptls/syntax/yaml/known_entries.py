"""The entries of a broken mapping that stood in it when it was without an error."""

from __future__ import annotations

from dataclasses import dataclass, replace

from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.leading_back import dynamics, spans
from promptls.syntax.yaml.nodes import Entry, Mapping
from promptls.syntax.yaml.reread import reread
from promptls.syntax.yaml.stretches import LastReading, Written, changed, place_in
from promptls.syntax.yaml.under_jinja import error_seen, last_reading, projection_of
from promptls.text.positions import Span


@dataclass(frozen=True, slots=True)
class KnownEntries:
    """What is known of a broken chunk by its last text without an error, where there was one.

    `entries` are those that are as they were, by where their lines begin and end in what the chunk gives.
    `edited` is what has changed since, and `seen` up to where the first error makes itself known.
    """

    chunk: Chunk
    before: LastReading | None
    entries: dict[tuple[int, int], Entry]
    edited: Span
    seen: int | None

    def at(self, start: int, end: int) -> tuple[Entry, ...]:
        """Return the entry that is all that stands there; none if it is not known."""
        found = self.entries.get((start, end))
        return () if found is None else (found,)

    def is_broken(self, start: int, end: int) -> bool:
        """Return whether the lines from a key in the first column on are certainly broken by themselves."""
        return self.seen is not None and start <= self.edited.start and self.seen < end

    def with_text(self, start: int, text: str) -> tuple[Entry, ...]:
        """Return the entry that another text of the same length gives there.

        None if that is not certain.
        """
        if self.before is None:
            return ()
        projection = projection_of(self.chunk)
        end = start + len(text)
        whole = projection.text[:start] + text + projection.text[end:]
        now = Written(
            self.chunk.text,
            self.chunk.tags,
            replace(projection, text=whole),
            spans(projection),
            dynamics(self.chunk),
        )
        known = reread(self.before, now)
        root = known.found if known is not None else None
        if not isinstance(root, Mapping):
            return ()
        places = [place_in(projection, entry.key.span.start) for entry in root.entries]
        if start not in places:
            return ()
        number = places.index(start)
        behind = places[number + 1] if number + 1 < len(places) else len(whole)
        return (root.entries[number],) if behind == end else ()


def known_entries(chunk: Chunk) -> KnownEntries:
    """Return what is known of a broken chunk by its last text without an error."""
    before = last_reading(chunk)
    if before is None:
        return KnownEntries(chunk, None, {}, Span(0, 0), None)
    projection = projection_of(chunk)
    now = Written(chunk.text, chunk.tags, projection, spans(projection), dynamics(chunk))
    edited = changed(before, now)
    grown, growth = len(projection.text) - len(before.projection.text), len(chunk.text) - before.length
    places = [place_in(before.projection, entry.key.span.start) for entry in before.root.entries]
    entries = {}
    for entry, begin, end in zip(
        before.root.entries, places, [*places[1:], len(before.projection.text)], strict=True
    ):
        if end <= edited.start:
            entries[begin, end] = entry
        elif begin >= edited.end:
            entries[begin + grown, end + grown] = entry.moved(growth)
    return KnownEntries(chunk, before, entries, edited, error_seen(chunk))
