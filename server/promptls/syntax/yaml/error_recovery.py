"""Recover what can be read of broken YAML: keys, one by one, and comments."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, ChunkList, Role, chunk_fact, join_chunks
from promptls.syntax.facts import placed_fact
from promptls.syntax.projection import Projection, dynamic_spans, project, span_map
from promptls.syntax.yaml.compose import compose, is_one_entry
from promptls.syntax.yaml.mapping_chunks import first_unsound, has_entries, mapping_of
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar
from promptls.syntax.yaml.under_jinja import chunk_yaml, projection_of
from promptls.text.positions import Span, line_end, stripped_span

_ITEM: Final = re.compile(r"-(?P<space>[ ]+)(?=[^\s#])", re.MULTILINE)
_KEY: Final = re.compile(r"(?P<key>[A-Za-z_][\w-]*)[ ]*:(?=[ \r\n]|\Z)")
TOP_KEY: Final = re.compile(r"^(?=[^\s#-])", re.MULTILINE)
"""The beginning of a key of the outermost mapping."""
_DECIDING_KEY: Final = re.compile(
    r"\W*(?:instruction|input_keys|output_key|functions|infer_cfg|ice_template|prompt_template|retriever)\b"
)
_BARE_KEY: Final = re.compile(r"[A-Za-z_]\w*\s*")
_INNER_KEY: Final = re.compile(r"[ ]+(?:-[ ]+)?[A-Za-z_]\w*[ ]*:(?=[ \r\n]|\Z)")
_FLOW_ITEM: Final = re.compile(r"[ ]*-[ ]+(?=[{\[])")
_BEGUN_INNER_KEY: Final = re.compile(r"[ ]+[A-Za-z_]\w*:?[^ ]*")
_BEGUN_KEY: Final = re.compile(r"[A-Za-z_]\w*[ ]*(?::|$)", re.MULTILINE)
_WORDS: Final = re.compile(r"[A-Za-z_][\w ,.'-]*\s*")
_BLOCK_HEADER: Final = re.compile(r"[: ][|>][-+0-9]*[ ]*$", re.MULTILINE)
_WAITING: Final = re.compile(r"(?::|(?:^|[ ])-|[: ][|>][-+0-9]*)\s*\Z", re.MULTILINE)
"""The end of a line whose value is below it."""
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")


class RecoveredItem(NamedTuple):
    """The entries of a broken item, in order, with its span; `broken` is the offset of the first error.

    The value of an entry that cannot be read is treated as printed by Jinja, because it is unknown.
    """

    span: Span
    entries: tuple[Entry, ...]
    broken: int


@chunk_fact
def recovered_item(chunk: Chunk) -> RecoveredItem | None:
    """Return what can be read of the chunk's list item, or None if the chunk does not begin with one."""
    projection = project(chunk)
    item = _ITEM.match(projection.text)
    if item is None:
        return None
    entries: list[Entry] = []
    broken: int | None = None
    for start, end in _segments(projection.text, item.end()):
        if projection.text.startswith("-", start) and start > item.end():
            # What follows is a different item, whose dash lacks its space.
            broken = projection.origin(start) if broken is None else broken
            break
        found = _read(chunk, projection, start, end)
        key = _KEY.match(projection.text, start)
        if found:
            entries += found
            continue
        broken = projection.origin(start) if broken is None else broken
        if key:
            entries.append(_unread(projection, key, end))
    if not entries:
        return None
    first = projection.origin(item.end())
    last = max(entry.value.span.end for entry in entries)
    return RecoveredItem(
        Span(first, max(first, last)), tuple(entries), len(chunk.text) if broken is None else broken
    )


def may_be_left_out(key: str, above: str) -> bool:
    """Return whether the broken text is a key, or words that become one, that does not affect the others.

    A key that determines the meaning of others may be left out as long as it has no value yet.
    """
    if _DECIDING_KEY.match(key):
        is_key = _BARE_KEY.fullmatch(key) is not None
    else:
        # Words below a block scalar may be its text that lacks its indentation.
        is_words = _WORDS.fullmatch(key) is not None and not _BLOCK_HEADER.search(above)
        is_key = is_words or _BEGUN_KEY.match(key) is not None
    return is_key and not _WAITING.search(above)


def corrected_key(block: str) -> str | None:
    """Return the broken text of a key that determines the meaning of others, completed; None if not possible.

    Open quotes and brackets are closed at the end of its text, and nowhere else: all other characters keep
    their positions. If the key has one line per entry, broken values on these lines become spaces.
    """
    if not _DECIDING_KEY.match(block):
        return None
    head, *lines = block.splitlines(keepends=True)
    blanked = "".join([head, *map(_without_broken_value, lines)])
    if is_one_entry(blanked):
        return blanked
    written = block.rstrip()
    closed = f"{written}{_closing(written)}{block[len(written) :]}"
    return closed if is_one_entry(closed) else None


def _closing(text: str) -> str:
    """Return the quotes and brackets that close what is open at the end of a text."""
    needed: list[str] = []
    quote = ""
    before = ""
    for letter in text:
        if quote:
            quote = "" if letter == quote and before != "\\" else quote
        elif letter in "'\"" and before in " [{,:":
            quote = letter
        elif letter in "[{":
            needed.append("]" if letter == "[" else "}")
        elif needed and letter == needed[-1]:
            needed.pop()
        before = letter
    return quote + "".join(reversed(needed))


@lru_cache(maxsize=16_384)
def _without_broken_value(line: str) -> str:
    """Return a line with spaces in place of its value if that is broken."""
    key = _INNER_KEY.match(line) or _FLOW_ITEM.match(line)
    text = line.rstrip("\r\n")
    if key is None and _BEGUN_INNER_KEY.fullmatch(text):
        return " " * len(text) + line[len(text) :]
    if key and compose(text.strip(), Span, lambda _span: False).error is not None:
        return key.group() + " " * (len(text) - key.end()) + line[len(text) :]
    return line


class _Stretch(NamedTuple):
    """The lines from one key in the first column to the next, and the entries that can be read there.

    `is_lost` is True if a key that determines the meaning of others, or possibly its value, cannot be read.
    """

    text: str
    entries: tuple[Entry, ...]

    def is_lost(self, above: str) -> bool:
        return not self.entries and bool(self.text.strip()) and not may_be_left_out(self.text, above)


@chunk_fact
def _stretches(chunk: Chunk) -> tuple[_Stretch, ...]:
    projection = projection_of(chunk)
    found = []
    start = 0
    for text in TOP_KEY.split(projection.text):
        end = start + len(text)
        entries = _read(chunk, projection, start, end)
        if not entries and (corrected := corrected_key(text)):
            entries = _read(chunk, projection, start, end, corrected)
        found.append(_Stretch(text, entries))
        start = end
    return tuple(found)


@chunk_fact
def recovered_mapping(chunk: Chunk) -> Mapping | None:
    """Return the keys of a chunk's mapping that can be read.

    None if a key that determines the meaning of others cannot be read, or if the broken text may be the
    missing value of the key above it.
    """
    return _mapping([(0, _stretches(chunk))])


@placed_fact
def recovered_file(chunks: ChunkList) -> Mapping | None:
    """Return the result of `recovered_mapping` for a mapping that is cut into chunks."""
    groups: list[list[tuple[Chunk, int]]] = []
    for chunk, start in zip(chunks.chunks, chunks.starts, strict=False):
        if chunk.role is Role.BLOCK or not groups:
            groups.append([])
        groups[-1].append((chunk, start))
    found: list[tuple[int, tuple[_Stretch, ...]]] = []
    for group in groups:
        if first_unsound([chunk for chunk, _ in group]) is None:
            entries = mapping_of(group).entries if has_entries(group[0][0]) else ()
            found.append((0, (_Stretch(projection_of(group[-1][0]).text, entries),)))
        else:
            found.append((group[0][1], _stretches(join_chunks([chunk for chunk, _ in group], Role.BLOCK))))
    return _mapping(found)


def _mapping(groups: list[tuple[int, tuple[_Stretch, ...]]]) -> Mapping | None:
    """Return the mapping of stretches, each with the offset that its spans count from."""
    entries: list[Entry] = []
    above = ""
    for start, stretches in groups:
        for stretch in stretches:
            if stretch.is_lost(above):
                return None
            entries += [entry.moved(start) for entry in stretch.entries] if start else stretch.entries
            above = stretch.text
    if not entries:
        return None
    return Mapping(Span(entries[0].key.span.start, entries[-1].value.span.end), tuple(entries))


def _segments(text: str, first: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges from one key of the item to the next; a line that is not a key is its own range."""
    column = first
    start = position = first
    while position < len(text):
        line = _LINE.match(text, position)
        assert line is not None
        content = line.group().strip()
        indent = len(line.group()) - len(line.group().lstrip(" ")) if position != first else column
        if content and indent <= column and position != first:
            yield start, position
            start = position + min(indent, column)
        position = line.end()
    yield start, len(text)


def _read(
    chunk: Chunk, projection: Projection, start: int, end: int, corrected: str | None = None
) -> tuple[Entry, ...]:
    """Return the entries in a range, or in its corrected text, parsed separately.

    Empty if it cannot be parsed.
    """
    column = start - (projection.text.rfind("\n", 0, start) + 1)
    padding = " " * column
    placed = span_map(projection)

    def span(first: int, last: int) -> Span:
        return placed(min(max(first - column, 0) + start, end), min(max(last - column, 0) + start, end))

    composed = compose(padding + (corrected or projection.text[start:end]), span, dynamic_spans(chunk))
    root = composed.root
    return root.entries if isinstance(root, Mapping) else ()


def _unread(projection: Projection, key: re.Match[str], end: int) -> Entry:
    span = span_map(projection)
    name = Scalar(span(*key.span("key")), key.group("key"), "", "str", dynamic=False)
    value = stripped_span(projection.text[key.end() : end], key.end())
    return Entry(name, Scalar(span(*value), "", "", "", dynamic=True))


@chunk_fact
def yaml_comments(chunk: Chunk) -> tuple[Span, ...]:
    """Return the comments in the chunk, in order, each from its `#` to the end of its line.

    A `#` inside a text, a quoted value or a Jinja tag does not begin a comment. If the chunk's YAML is
    broken, only comments in the readable part are found.
    """
    roots: tuple[Node, ...] | None = None
    found = []
    position = chunk.text.find("#")
    while position >= 0:
        end = position + 1
        if position == 0 or chunk.text[position - 1] in " \t\n":
            end = line_end(chunk.text, position)
            roots = _roots(chunk) if roots is None else roots
            if not _is_in_tag(chunk, position) and not any(
                _is_in_text(chunk, each, position) for each in roots
            ):
                found.append(Span(position, end))
        position = chunk.text.find("#", end)
    return tuple(found)


def _is_in_tag(chunk: Chunk, offset: int) -> bool:
    index = bisect_left(chunk.tags, offset, key=attrgetter("span.start")) - 1
    return index >= 0 and offset < chunk.tags[index].span.end


def _roots(chunk: Chunk) -> tuple[Node, ...]:
    yaml = chunk_yaml(chunk)
    if yaml.roots or not yaml.problems:
        return yaml.roots
    item = recovered_item(chunk)
    if item is not None:
        return tuple([node for entry in item.entries for node in (entry.key, entry.value)])
    mapping = recovered_mapping(chunk)
    return () if mapping is None else (mapping,)


def _is_in_text(chunk: Chunk, node: Node, offset: int) -> bool:
    """Return whether a scalar of the node contains the offset.

    The line of a block scalar's `|` is not part of it.
    """
    start, end = node.span
    if not start <= offset < end:
        return False
    if isinstance(node, Scalar):
        return node.style not in {"|", ">"} or line_end(chunk.text, start) <= offset
    children: Iterable[Node]
    if isinstance(node, Mapping):
        children = [each for entry in node.entries for each in (entry.key, entry.value)]
    elif chunk_yaml(chunk).is_plain:
        index = bisect_right(node.items, offset, key=attrgetter("span.start"))
        children = node.items[max(index - 1, 0) : index]
    else:
        children = node.items
    return any(_is_in_text(chunk, child, offset) for child in children)
