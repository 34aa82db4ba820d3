"""The layout of a chunk's frame: its keys and the lines between them, and never what a scalar holds.

Keys and values are one space apart, a part's keys stand two columns in, no line of the
frame ends in white space, and no more than one line between parts is blank. Where Jinja
prints something whose text nobody can know, the lines around it stay as they are. A value
in a bare place (`role: {{ x }}`) is taken for a value: one that opens a quote there makes
what follows its own text, before and after.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final, NamedTuple

from promptls.formatting.frame_lines import merged, scalar_texts
from promptls.formatting.gaps import gap_edits, is_blank, is_silent
from promptls.formatting.key_spacing import key_edits
from promptls.formatting.proof import same_yaml
from promptls.meaning.parts import chunk_items
from promptls.meaning.value_lines import line_start, value_end
from promptls.rules.rule import Edit
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.systems.prompt_poet.vocabulary import PART_KEYS
from promptls.text.span import Span

_KEY_COLUMN: Final = 2
"""The column of a part's keys, two behind the dash."""
_DASH: Final = re.compile(r"-([ \t]+)")
_HEADERS: Final = ("|", ">", "|-", ">-", "|+", ">+")
_FAR: Final = 200
"""More characters than stand between a header and the text under it."""
REUSED: Final = frozenset({"macro", "set", "call", "filter", "block"})
"""Blocks whose text may be used as something else than a frame."""


class FrameEdits(NamedTuple):
    """Edits that hold one by one, and edits that hold only together; spans count from the chunk's start."""

    single: tuple[Edit, ...] = ()
    together: tuple[Edit, ...] = ()


@kept
def frame_edits(chunk: Chunk) -> FrameEdits:
    """The edits that lay out the frame of a chunk with text behind it; none where its YAML could change."""
    return _proven(chunk, is_last=False)


@kept
def last_frame_edits(chunk: Chunk) -> FrameEdits:
    """As `frame_edits`, for a file's last chunk, whose last lines show where the file is included."""
    return _proven(chunk, is_last=True)


def applied(text: str, edits: tuple[Edit, ...]) -> str:
    """The text with the edits, none of which overlap."""
    pieces = []
    position = 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        pieces += [text[position : edit.span.start], edit.text]
        position = edit.span.end
    return "".join([*pieces, text[position:]])


def _proven(chunk: Chunk, *, is_last: bool) -> FrameEdits:
    """The edits, as far as the YAML is the same with them, alone and together."""
    found = _edits(chunk, is_last=is_last)
    at_items = chunk.text.startswith("-") or not chunk_yaml(chunk).roots
    both = applied(chunk.text, (*found.single, *found.together))
    if both == chunk.text:
        return FrameEdits()
    if same_yaml(chunk, both, at_items=at_items):
        return found
    if same_yaml(chunk, applied(chunk.text, found.single), at_items=at_items):
        return FrameEdits(found.single)
    return FrameEdits(
        tuple(
            edit for edit in found.single if same_yaml(chunk, applied(chunk.text, (edit,)), at_items=at_items)
        )
        if len(found.single) <= _MOST_TRIED
        else ()
    )


_MOST_TRIED: Final = 20


def _edits(chunk: Chunk, *, is_last: bool) -> FrameEdits:
    yaml = chunk_yaml(chunk)
    if yaml.problems or yaml.aliases:
        return FrameEdits()
    if not yaml.roots:
        if is_silent(chunk, Span(0, len(chunk.text)), 0):
            return FrameEdits(tuple(gap_edits(chunk, Span(0, len(chunk.text)), is_last=is_last)))
        return FrameEdits()
    owners = _owners(chunk, yaml.roots)
    if not owners:
        return FrameEdits()
    texts = merged(scalar_texts(chunk))
    text_starts = [span.start for span in texts]
    reused = _reused(chunk)

    def is_frame(place: Span) -> bool:
        """Whether no scalar goes on over the place, and its text is used where it stands."""
        before = bisect_left(text_starts, place.end)
        if before and place.start < texts[before - 1].end:
            return False
        return not any(span.start <= place.start < span.end for span in reused)

    known = {edit.span: edit for edit in key_edits(chunk, yaml.roots) if is_frame(edit.span)}
    gaps = _gaps(chunk, owners)
    silent = [gap for gap in gaps if is_silent(chunk, gap, _column(chunk, owners[0].entries))]
    for gap in silent:
        last = is_last and gap.end == len(chunk.text)
        known.update({edit.span: edit for edit in gap_edits(chunk, gap, is_last=last) if is_frame(edit.span)})
    is_sure = len(silent) == len(gaps) and not reused and not _ends_header(chunk) and not runs_on(chunk)
    together = _indentation(chunk, owners) if is_sure else ()
    spans = [edit.span for edit in together]
    single = (edit for edit in known.values() if not any(_overlap(edit.span, span) for span in spans))
    return FrameEdits(tuple(sorted(single, key=lambda edit: edit.span)), together)


def _ends_header(chunk: Chunk) -> bool:
    """Whether what Jinja prints may stand in the header of a block scalar, and state an indentation."""
    for tag in chunk.tags:
        before = chunk.text[max(tag.span.start - _FAR, 0) : tag.span.start]
        if (before.rstrip() if tag.trims_before else before).endswith(_HEADERS):
            return True
    return False


@kept
def runs_on(chunk: Chunk) -> bool:
    """Whether the chunk's last tag trims the line end away that parts its text from the next chunk."""
    last = chunk.tags[-1] if chunk.tags else None
    if last is None or not last.trims_after or not is_blank(chunk.text, last.span.end, len(chunk.text)):
        return False
    starts_line = line_start(chunk, last.span.start) == last.span.start
    return last.kind == "output" or last.trims_before or not starts_line


def _overlap(first: Span, second: Span) -> bool:
    return first.start < second.end and second.start < first.end


class _Owner(NamedTuple):
    """A mapping of the frame, with the entries of every reading in the order of their places."""

    start: int
    entries: tuple[Entry, ...]


def _owners(chunk: Chunk, roots: tuple[Node, ...]) -> tuple[_Owner, ...]:
    """The parts of the chunk, or the mapping that it is; none where it may be anything else."""
    if all(isinstance(root, Sequence) for root in roots):
        items = chunk_items(chunk)
        if items.others or not all(_is_part(part.entries) for part in items.parts):
            return ()
        return tuple(_Owner(part.span.start, part.entries) for part in items.parts)
    if all(isinstance(root, Mapping) for root in roots):
        entries = {
            entry.key.span: entry for root in roots if isinstance(root, Mapping) for entry in root.entries
        }
        return (_Owner(0, tuple(entries[span] for span in sorted(entries))),) if entries else ()
    return ()


def _is_part(entries: tuple[Entry, ...]) -> bool:
    keys = {entry.key.text for entry in entries if isinstance(entry.key, Scalar) and not entry.key.dynamic}
    return len(keys & {"name", "content", "sections", "role"}) > 1 and keys <= set(PART_KEYS)


def _reused(chunk: Chunk) -> list[Span]:
    return [
        Span(chunk.tags[pair.opening].span.start, chunk.tags[pair.closing].span.end)
        for pair in chunk_blocks(chunk).pairs
        if pair.keyword in REUSED
    ]


# -- lines between keys -----------------------------------------------------------


def _gaps(chunk: Chunk, owners: tuple[_Owner, ...]) -> list[Span]:
    """The lines from the end of a value to the next key, before the first one, and behind the last one."""
    places = sorted(
        (line_start(chunk, entry.key.span.start), value_end(chunk, entry))
        for owner in owners
        for entry in owner.entries
    )
    gaps = []
    behind = 0
    for start, end in places:
        if start > behind:
            gaps.append(Span(behind, start))
        behind = max(behind, end)
    if behind < len(chunk.text):
        gaps.append(Span(behind, len(chunk.text)))
    return gaps


def _column(chunk: Chunk, entries: tuple[Entry, ...]) -> int:
    """The least column of the keys: a blank line that is no longer is never part of a scalar."""
    columns = [entry.key.span.start - line_start(chunk, entry.key.span.start) for entry in entries]
    return min(columns, default=0)


def _indentation(chunk: Chunk, owners: tuple[_Owner, ...]) -> tuple[Edit, ...]:
    """Every key of every part to the second column; nothing where one shares its line with something."""
    edits: list[Edit] = []
    for owner in owners:
        if not chunk.text.startswith("-"):
            return ()
        for entry in owner.entries:
            start = line_start(chunk, entry.key.span.start)
            before = chunk.text[start : entry.key.span.start]
            if match := _DASH.fullmatch(before):
                if len(match.group(1)) != 1:
                    edits.append(Edit(Span(start + 1, entry.key.span.start), " "))
            elif before.strip(" "):
                return ()
            elif len(before) != _KEY_COLUMN:
                edits.append(Edit(Span(start, entry.key.span.start), " " * _KEY_COLUMN))
    return tuple(edits)
