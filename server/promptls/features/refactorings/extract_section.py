"""A part taken into a section file of its own, with an include in its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from promptls.features.refactorings.part_region import part_region
from promptls.features.refactorings.refactoring import Change, Offer, Place, line_break, refused
from promptls.meaning.kind import Kind
from promptls.meaning.name_events import chunk_events
from promptls.rules.rule import Edit
from promptls.syntax.chunk import Chunk
from promptls.text.span import Span

_FOLDER: Final = "sections"
_KIND: Final = "refactor.extract"


def extract_section(place: Place) -> Offer | None:
    """The part at the selection as a file, which is included where the part stood."""
    if place.kind not in {Kind.PARTS, Kind.SECTION}:
        return None
    found = place.template.source.located(place.span.start)
    region = part_region(found.chunk)
    if region is None or place.span.end - found.start > region.span.end:
        return None
    if place.span.start - found.start >= region.span.end:
        return None
    folder = _root(place)
    title = f"Extract the part into a file of `{_FOLDER}/`"
    if folder is None:
        return refused(
            title,
            _KIND,
            "templates of several folders include the file, and its own includes count from each",
            makes_files=True,
        )
    name = _file_name(place, folder, region.part.name)
    title = f"Extract the part into `{name}`"
    reason = _reason(place, found.chunk, region.span, found.start)
    if reason:
        return refused(title, _KIND, reason, makes_files=True)
    text = found.chunk.text[: region.span.end]

    def change() -> Change:
        end = line_break(place.template)
        section = text if text.endswith(("\n", "\r")) else text + end
        include = f'{{% include "{name}" %}}{end if text.endswith(chr(10)) else ""}'
        edit = Edit(region.span.shifted(found.start), include)
        return Change((edit,), {str(folder / name): section})

    return Offer(title, _KIND, change, makes_files=True)


def _root(place: Place) -> Path | None:
    """The folder that includes of the file count from: that of its entry templates, where it is one."""
    folders = {str(Path(entry).parent) for entry in place.snapshot.entries(place.path)}
    return Path(folders.pop()) if len(folders) == 1 else None


def _file_name(place: Place, folder: Path, part: str | None) -> str:
    words = re.findall(r"[^\W_]+", (part or "part").lower())
    stem = "_".join(words)[:50] or "part"
    name, number = f"{_FOLDER}/{stem}.yml.j2", 2
    while place.snapshot.exists(str(folder / name)):
        name, number = f"{_FOLDER}/{stem}_{number}.yml.j2", number + 1
    return name


def _reason(place: Place, chunk: Chunk, region: Span, start: int) -> str:
    """Why the part would mean something else in a file of its own; else an empty text."""
    events = [event for event in chunk_events(chunk) if event.span.start < region.end]
    inside = region.shifted(start)
    if any(event.action == "read" and event.name == "loop" for event in events) and any(
        reading.binding is None or not inside.start <= reading.binding.span.start < inside.end
        for reading in place.template.names.readings_of("loop")
        if inside.start <= reading.span.start < inside.end
    ):
        return "the part reads `loop`, which an included file does not see"
    for event in events:
        if event.action == "bind" and any(
            not inside.start <= reading.span.start < inside.end
            for reading in place.template.names.readings_of(event.name)
        ):
            return f"the part sets `{event.name}`, which is read outside of it, and an include would hide it"
    behind = next((tag for tag in chunk.tags if tag.span.start >= region.end), None)
    if behind and behind.trims_before and not chunk.text[region.end : behind.span.start].strip():
        return "the tag behind the part trims the part's last lines, which it cannot do in another file"
    last = [tag for tag in chunk.tags if tag.span.end <= region.end]
    if last and last[-1].trims_after and not chunk.text[last[-1].span.end : region.end].strip():
        return "the part's last tag trims the lines behind the part, which it cannot do from another file"
    return ""
