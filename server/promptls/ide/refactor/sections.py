"""Refactorings of parts: extract a section file, inline one, sort parts for prefix caches."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from promptls.dialects.prompt_poet.vocabulary import DEFAULT_ROLE
from promptls.ide.refactor.refactoring import (
    Change,
    Offer,
    RefactorSelection,
    line_break,
    part_region,
    refused,
)
from promptls.lint.rule import Edit
from promptls.semantic.kind import Kind
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.names.scopes import GLOBALS, chunk_events
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.nodes import scalar_text
from promptls.text.filenames import file_name_problem
from promptls.text.positions import Span

_FOLDER: Final = "sections"


def extract_section(place: RefactorSelection) -> Offer | None:
    """Return the move of the selected part to a new file, which is included in its place."""
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
            "refactor.extract",
            "templates of several folders include the file, and its own includes count from each",
            makes_files=True,
        )
    name = _file_name(place, folder, region.part.name)
    title = f"Extract the part into `{name}`"
    reason = _reason(place, found.chunk, region.span, found.start)
    if reason:
        return refused(title, "refactor.extract", reason, makes_files=True)
    text = found.chunk.text[: region.span.end]

    def change() -> Change:
        end = line_break(place.template)
        section = text if text.endswith(("\n", "\r")) else text + end
        include = f'{{% include "{name}" %}}{end if text.endswith(chr(10)) else ""}'
        edit = Edit(region.span.shifted(found.start), include)
        return Change((edit,), {str(folder / name): section})

    return Offer(title, "refactor.extract", change, makes_files=True)


def _root(place: RefactorSelection) -> Path | None:
    """Return the folder that the file's includes are relative to: its own, or its entry templates'."""
    folders = {str(Path(entry).parent) for entry in place.snapshot.entries(place.path)}
    return Path(folders.pop()) if len(folders) == 1 else None


def _file_name(place: RefactorSelection, folder: Path, part: str | None) -> str:
    parts = re.findall(r"[^\W_]+", (part or "part").lower())
    stem = "_".join(parts)[:50] or "part"
    if file_name_problem(stem) is not None:
        stem = f"part_{stem}"
    name, number = f"{_FOLDER}/{stem}.yml.j2", 2
    while place.snapshot.exists(str(folder / name)):
        name, number = f"{_FOLDER}/{stem}_{number}.yml.j2", number + 1
    return name


def _reason(place: RefactorSelection, chunk: Chunk, region: Span, start: int) -> str:
    """Return why the part would have a different meaning in a separate file; else an empty text."""
    events = [event for event in chunk_events(chunk) if event.span.start < region.end]
    inside = region.shifted(start)
    if any(event.action == "read" and event.name == "loop" for event in events) and any(
        reference.binding is None or not inside.start <= reference.binding.span.start < inside.end
        for reference in place.template.names.references_of("loop")
        if inside.start <= reference.span.start < inside.end
    ):
        return "the part reads `loop`, which an included file does not see"
    outside = {
        reference.name
        for reference in place.template.names.references
        if not inside.start <= reference.span.start < inside.end
    }
    for event in events:
        if event.action == "bind" and event.name in outside:
            return f"the part sets `{event.name}`, which is read outside of it, and an include would hide it"
    after = next((tag for tag in chunk.tags if tag.span.start >= region.end), None)
    if after and after.trims_before and not chunk.text[region.end : after.span.start].strip():
        return "the tag behind the part trims the part's last lines, which it cannot do in another file"
    last = [tag for tag in chunk.tags if tag.span.end <= region.end]
    if last and last[-1].trims_after and not chunk.text[last[-1].span.end : region.end].strip():
        return "the part's last tag trims the lines behind the part, which it cannot do from another file"
    return ""


def inline_section(place: RefactorSelection) -> Offer | None:
    """Return the replacement of the include at the selection with the text of the included file."""
    found = place.template.source.located(place.span.start)
    offset = place.span.start - found.start
    tag = next((tag for tag in found.chunk.tags if tag.span.start <= offset <= tag.span.end), None)
    reference = next(
        (
            reference
            for reference in place.template.references
            if tag and tag.span.shifted(found.start).contains(reference.span.start)
        ),
        None,
    )
    if tag is None or reference is None or reference.keyword != "include" or not reference.name:
        return None
    target = place.snapshot.resolve(place.path, reference)
    section = place.snapshot.template(target) if target else None
    if target is None or section is None:
        return None
    title = f"Inline `{reference.name}`"
    reason = _inline_section_reason(place, reference, section, tag)
    if reason:
        return refused(title, "refactor.inline", reason)

    def change() -> Change:
        return Change((Edit(tag.span.shifted(found.start), _text(section)),))

    return Offer(title, "refactor.inline", change)


def _text(section: Template) -> str:
    """Return the text that the include prints: without header and final line break."""
    text = section.source.text.removeprefix("\ufeff")
    if section.header is not None:
        text = section.source.text[section.header.span.end :].lstrip()
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end):
            return text.removesuffix(end)
    return text


def _inline_section_reason(
    place: RefactorSelection, reference: TemplateReference, section: Template, tag: Tag
) -> str:
    """Return why the text would have a different meaning at the include; else an empty text."""
    if not reference.with_context:
        return "it is included `without context`, so that it sees no variables"
    if reference.alternatives or reference.is_choice:
        return "the include names several files"
    if section is place.template:
        return "the file includes itself"
    if any(each.keyword == "extends" for each in section.references):
        return "the file extends another one"
    events = [event for chunk in section.source.chunks for event in chunk_events(chunk)]
    if any(event.action == "read" and event.name == "loop" for event in events):
        return "the file reads `loop`, which it does not see as an included file, and would see here"
    if any(event.action == "open" and event.name == "block" for event in events):
        return "the file has blocks, which would be blocks of this file"
    outside = place.template.names.read_names
    kept_inside = {event.name for event in events if event.action == "bind"} & outside
    if kept_inside:
        return f"the file sets `{min(kept_inside)}`, which would be seen here too"
    return _trims(section, tag)


def _trims(section: Template, tag: Tag) -> str:
    text = _text(section)
    tags = [tag for chunk in section.source.chunks for tag in chunk.tags]
    if section.header is not None:
        tags = tags[1:]
    if tag.trims_after or tag.trims_before:
        return "the include trims what is around it"
    if tags and tags[0].trims_before and text.startswith(tags[0].text):
        return "the file's first tag trims what is before it"
    if tags and tags[-1].trims_after and text.endswith(tags[-1].text):
        return "the file's last tag trims what follows it"
    return ""


_TITLE: Final = "Sort the parts: fixed text first, for the cached prefix"


class _Movable(NamedTuple):
    """A part that can be swapped with its neighbors of the same role."""

    start: int
    text: str
    role: str
    is_fixed: bool


def sort_parts(place: RefactorSelection) -> Offer | None:
    """Return the reordering of consecutive parts with the same role: parts without variables come first.

    A part in a block, one that binds a name, and one followed by anything but blank lines is not moved, and
    no other part moves past it.
    """
    if place.kind is not Kind.PARTS:
        return None
    edits = tuple(edit for run in _runs(place) for edit in _sorted(run))
    return Offer(_TITLE, "refactor.rewrite", lambda: Change(edits)) if edits else None


def _sorted(run: list[_Movable]) -> list[Edit]:
    """Return the edits that sort the run, limited to the parts that move."""
    wanted = sorted(run, key=lambda part: not part.is_fixed)
    moved = [index for index, part in enumerate(run) if wanted[index] is not part]
    if not moved:
        return []
    first, last = moved[0], moved[-1]
    text = "".join(part.text for part in wanted[first : last + 1])
    return [Edit(Span(run[first].start, run[last].start + len(run[last].text)), text)]


def _runs(place: RefactorSelection) -> list[list[_Movable]]:
    runs: list[list[_Movable]] = [[]]
    source = place.template.source
    depth = 0
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        movable = None if depth else _movable(chunk)
        depth += sum({"open": 1, "close": -1}.get(tag.action, 0) for tag in chunk_blocks(chunk).loose)
        if movable is None:
            runs.append([])
            continue
        if runs[-1] and runs[-1][-1].role != movable.role:
            runs.append([])
        runs[-1].append(movable._replace(start=start))
    return runs


@chunk_fact
def _movable(chunk: Chunk) -> _Movable | None:
    region = part_region(chunk)
    if region is None or chunk_blocks(chunk).loose or chunk.text[region.span.end :].strip():
        return None
    if not chunk.text.endswith("\n"):
        return None
    value = region.part.value("role")
    role = DEFAULT_ROLE if value is None else scalar_text(value)
    if role is None or any(tag.trims_after or tag.trims_before for tag in chunk.tags):
        return None
    events = chunk_events(chunk)
    if any(event.action in {"bind", "open"} and event.name not in {"if", "for"} for event in events):
        return None
    reads = {event.name for event in events if event.action == "read"} - GLOBALS
    includes = any(tag.kind == "statement" and "include" in tag.text for tag in chunk.tags)
    return _Movable(0, chunk.text, role, not reads and not includes)
