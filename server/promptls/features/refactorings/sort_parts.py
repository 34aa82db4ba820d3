"""Parts whose text never changes put ahead of those whose text does, so that a prefix stays cached."""

from __future__ import annotations

from typing import Final, NamedTuple

from promptls.features.refactorings.part_region import part_region
from promptls.features.refactorings.refactoring import Change, Offer, Place
from promptls.meaning.kind import Kind
from promptls.meaning.name_events import chunk_events
from promptls.meaning.scopes import GLOBALS
from promptls.rules.rule import Edit
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.yaml.nodes import scalar_text
from promptls.systems.prompt_poet.vocabulary import DEFAULT_ROLE
from promptls.text.span import Span

_KIND: Final = "refactor.rewrite"
_TITLE: Final = "Sort the parts: fixed text first, for the cached prefix"


class _Movable(NamedTuple):
    """A part that may change places with its neighbours of the same role."""

    start: int
    text: str
    role: str
    is_fixed: bool


def sort_parts(place: Place) -> Offer | None:
    """The parts of each run of one role, those without variables first; order stays otherwise.

    A part in a block, one that binds a name and one with anything but blank lines behind it stays
    where it is, and no other part moves past it.
    """
    if place.kind is not Kind.PARTS:
        return None
    edits = tuple(edit for run in _runs(place) for edit in _sorted(run))
    return Offer(_TITLE, _KIND, lambda: Change(edits)) if edits else None


def _sorted(run: list[_Movable]) -> list[Edit]:
    """The edits that put the run in order, over no more than the parts that move."""
    wanted = sorted(run, key=lambda part: not part.is_fixed)
    moved = [index for index, part in enumerate(run) if wanted[index] is not part]
    if not moved:
        return []
    first, last = moved[0], moved[-1]
    text = "".join(part.text for part in wanted[first : last + 1])
    return [Edit(Span(run[first].start, run[last].start + len(run[last].text)), text)]


def _runs(place: Place) -> list[list[_Movable]]:
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


@kept
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
