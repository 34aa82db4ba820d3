"""Cut a mapping into chunks: at its entries, and at the items of lists directly below them.

A cut must not change what is reported. So lines stay in one chunk if a Jinja block spans them, if a tag
strips the line break between them, and if their YAML is only complete together.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from promptls.syntax.chunk import Chunk, Role, cut_at, join_chunks
from promptls.syntax.jinja.blocks import chunk_blocks, spanning_blocks
from promptls.syntax.yaml.mapping_chunks import (
    column_of,
    first_unsound,
    has_entries,
    in_context,
    trims_after,
)
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import leading_spaces

Known: TypeAlias = dict[tuple[str, Role], Chunk]

_START: Final = re.compile(
    r"""^(?P<lead>[ ]*)(?:
        (?P<key>(?:[A-Za-z_][\w.-]*|"[^"\\\r\n]*"|'[^'\r\n]*')[ \t]*:)(?=[ \t\r\n]|\Z)
        (?:(?P<open>[ \t]*(?:[ \t]\#[^\r\n]*)?(?=[\r\n]|\Z)) | (?P<text>[ \t]+[|>]))?
        | -(?=[ \t\r\n])
    )""",
    re.MULTILINE | re.VERBOSE,
)
"""The beginning of a line at which a chunk may begin: a key, or the dash of an item."""
_FIRST_ITEM: Final = re.compile(r"(?:[ \t]*(?:(?:#|\{[%#])[^\r\n]*)?\r?\n)*([ ]*)-(?=[ \t\r\n])")
"""The text between the line of a key without a value and its first item."""
ANCHOR: Final = re.compile(r"(?<![^\s\[{,:?-])&[^\s\[\]{},]")
_MAX_JOINED: Final = 8
"""How many chunks are joined at most if they are not complete by themselves."""
_MAX_COMPLETED: Final = 8
"""How many times chunks are joined at most; each time, the rest of the text may be parsed."""


def cut_mapping(text: str, known: Known) -> list[Chunk] | None:
    """Return the chunks of a mapping, or None for other texts and those that cannot be cut.

    A text whose YAML is broken is cut as well if its first entry is valid.
    """
    chunks = pieces(text, None, known)
    if len(chunks) <= 1 or _has_shared_nodes(text, chunks):
        return None
    index = first_unsound(chunks)
    completed = 0
    while index is not None:
        if completed == _MAX_COMPLETED or not any(map(has_entries, chunks[:index])):
            return None
        start, yaml = in_context(chunks, index)
        if yaml.is_broken:
            return chunks
        chunks = _complete(chunks, start, known)
        completed += 1
        index = first_unsound(chunks, start)
        if index == start:
            return None
    return chunks if len(chunks) > 1 else None


def _has_shared_nodes(text: str, chunks: list[Chunk]) -> bool:
    """Return whether a chunk may refer to an anchor in a different chunk."""
    anchors = len(ANCHOR.findall(text))
    return anchors > 1 or (anchors > 0 and any(chunk_yaml(chunk).aliases for chunk in chunks))


_JSON_START: Final = re.compile(
    r"""^(?P<lead>[ \t]*)(?:
        (?P<key>"(?:[^"\\\r\n]|\\.)*"[ \t]*:)(?P<open>[ \t]*\[[ \t]*(?=[\r\n]|\Z))?
        | ["{\[\w-]
    )""",
    re.MULTILINE | re.VERBOSE,
)
_LEAD: Final = re.compile(r"(?:[ \t]*\r?\n)*([ \t]*)(?=[^\s\]])")


def cut_json(text: str, known: Known) -> list[Chunk] | None:
    """Return the chunks of a JSON object with one member per line, or None for other texts."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    chunks = json_pieces(text, None, None, known)
    if len(chunks) <= 1 or first_unsound(chunks[:1], is_end=False) is not None:
        return None
    index = first_unsound(chunks)
    return chunks if index is None or in_context(chunks, index)[1].is_broken else None


def json_pieces(text: str, first: Chunk | None, member: Chunk | None, known: Known) -> list[Chunk]:
    """Return the chunks of a range of JSON, cut at its lines; `member` is a chunk that begins with a member.

    `first` is the chunk that the range begins with now, or None at the beginning of a text. The result is
    empty if no chunk begins at the start of the range any more.
    """
    indent = _lead_of(member) if member is not None else None
    column = _lead_of(first) if first is not None and first.role is Role.JSON_ELEMENTS else None
    starts, elements = [0], {0} if column is not None else set()
    begins = first is None
    for match in _JSON_START.finditer(text):
        start = match.start()
        if match["key"] is not None and (indent is None or match["lead"] == indent):
            indent = match["lead"]
            column = None
            if match["open"] is not None:
                item = _LEAD.match(text, _after_line_end(text, match.end()))
                column = item[1] if item is not None else None
            begins = begins or (start == 0 and not elements)
            starts += [start] if start else []
        elif match["lead"] == column:
            begins = begins or (start == 0 and 0 in elements)
            starts += [start] if start else []
            elements.add(start)
    if not begins:
        return []
    roles = [Role.JSON_ELEMENTS if start in elements else Role.JSON_MEMBERS for start in starts]
    ends = [*starts[1:], len(text)]
    return share_chunks(
        [Chunk(text[a:b], (), reach=0, role=role) for a, b, role in zip(starts, ends, roles, strict=True)],
        known,
    )


def _lead_of(chunk: Chunk) -> str:
    return chunk.text[: len(chunk.text) - len(chunk.text.lstrip(" \t"))]


def _complete(chunks: list[Chunk], start: int, known: Known) -> list[Chunk]:
    """Return the chunks; from index `start`, those that are only complete together are joined."""
    for end in range(start + 2, min(start + _MAX_JOINED, len(chunks)) + 1):
        made = [
            *chunks[:start],
            *share_chunks([join_chunks(chunks[start:end])], known),
            *chunks[end : end + 1],
        ]
        if first_unsound(made, start) is None:
            return [*made, *chunks[end + 1 :]]
    return [*chunks[:start], *share_chunks([join_chunks(chunks[start:])], known)]


def pieces(text: str, first: Chunk | None, known: Known) -> list[Chunk]:
    """Return the chunks of a range of text, cut at its lines and tags, before its YAML is parsed.

    `first` is the chunk that the range begins with now, or None at the beginning of a text. The result is
    empty if no such chunk begins at the start of the range any more.
    """
    roles, _ = _starts(text, first)
    if first is not None and (roles.get(0) is not first.role or column_of(first) != leading_spaces(text)):
        return []
    starts = list(roles)

    def next_start(offset: int) -> int:
        index = bisect_right(starts, offset)
        return starts[index] if index < len(starts) else len(text)

    chunks = share_chunks(cut_at(text, next_start, roles), known)
    ranges = spanning_blocks(chunks)
    ranges += [(index, index + 1) for index, chunk in enumerate(chunks[:-1]) if trims_after(chunk)]
    return share_chunks(_merge(chunks, ranges), known) if ranges else chunks


def ends_alike(old: str, new: str, first: Chunk | None) -> bool:
    """Return whether the first chunk after a range of text begins the same way if the range is replaced."""
    return _starts(old, first)[1] == _starts(new, first)[1]


def _starts(text: str, first: Chunk | None) -> tuple[dict[int, Role], int | None]:
    """Return the offsets at which chunks start, and the column of the list that is open at the end.

    The items of a list are those in the column of its first item. Chunks begin at items of lists that are
    directly below keys, and at the keys after such a list. `first` is the chunk that the text begins with.
    """
    roles: dict[int, Role] = {}
    column: int | None = None
    text_column: int | None = None
    if first is not None and first.role is not Role.BLOCK:
        column = column_of(first)
    for match in _START.finditer(text):
        start, indent = match.start(), len(match["lead"])
        if text_column is not None and indent > text_column:
            continue  # a line of a block scalar
        text_column = None
        if match["key"] is None:
            if indent == column:
                roles[start] = Role.ELEMENTS
            continue
        if column is not None and indent > column:
            continue  # a key of an item
        if indent == 0 or column is not None:
            roles[start] = Role.BLOCK if indent == 0 else Role.ENTRIES
        column = None
        if match["open"] is not None:
            item = _FIRST_ITEM.match(text, _after_line_end(text, match.end()))
            column = len(item[1]) if item is not None and len(item[1]) >= indent else None
        elif match["text"] is not None:
            text_column = indent
    return roles, column


def _after_line_end(text: str, offset: int) -> int:
    return offset + (2 if text.startswith("\r\n", offset) else 1)


def _merge(chunks: list[Chunk], ranges: Iterable[tuple[int, int]]) -> list[Chunk]:
    """Return the chunks with those in each range, from first to last index, merged into one."""
    united: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if united and first <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], last))
        else:
            united.append((first, last))
    found: list[Chunk] = []
    position = 0
    for first, last in united:
        found += [*chunks[position:first], join_chunks(chunks[first : last + 1])]
        position = last + 1
    return found + chunks[position:]


def share_chunks(chunks: Sequence[Chunk], known: Known) -> list[Chunk]:
    """Return the chunks, with each chunk that is already known replaced by the known object."""
    return [
        old
        if (old := known.get((chunk.text, chunk.role))) is not None
        and (old.tags, old.reach) == (chunk.tags, chunk.reach)
        else chunk
        for chunk in chunks
    ]


def spans_blocks(chunk: Chunk) -> bool:
    """Return whether a Jinja block begins in the chunk and ends in a different one, or vice versa."""
    return bool(chunk_blocks(chunk).loose)
