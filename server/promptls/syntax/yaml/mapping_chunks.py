"""The YAML of a mapping that is cut into chunks, from the YAML of its chunks.

Chunks are parsed separately. Their trees are combined as long as each of them is *sound*: it is complete,
and belongs to a list or mapping that is open after the preceding chunks. The first chunk that is not sound
is parsed again in context, because its error may depend on what surrounds it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence as Row
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from promptls.syntax.chunk import Chunk, ChunkList, Role, chunk_fact, fact_values, join_chunks
from promptls.syntax.facts import file_fact, placed_fact, placed_items, summary
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import ChunkYaml, chunk_yaml, json_chunk
from promptls.text.positions import Span, leading_spaces

_DOCUMENT_MARKS: Final = re.compile(r"^(?:\.\.\.(?![^\s])|---(?![^\s])|%(?![}]))", re.MULTILINE)
_FIRST_WINDOW: Final = 2
_GROWTH: Final = 4

Level: TypeAlias = tuple[str, int]
"""A list or mapping with its column. In JSON the column is 0."""
_MAPPING: Final = "mapping"
_OUTERMOST: Final = (_MAPPING, 0)
_LIST: Final = "list"
_MISSING: Final = "missing"
"""The value of a key in this column is missing: a list may follow."""
_END: Final = ("end", 0)
"""The end of a JSON object."""


class Sound(NamedTuple):
    """The effect of a sound chunk on the mapping.

    Its nodes belong to the list or mapping `of`. `open` are the lists and mappings that are open after it,
    starting with that one, each in the last entry of the previous one.
    """

    of: Level | None
    open: tuple[Level, ...]
    has_entries: bool = True


@chunk_fact
def sound(chunk: Chunk) -> Sound | None:
    """Return the effect of the chunk on the mapping, or None if its YAML is not complete."""
    if chunk.role in {Role.JSON_MEMBERS, Role.JSON_ELEMENTS}:
        return _sound_json(chunk)
    yaml = chunk_yaml(chunk)
    if yaml.is_broken or yaml.problems or trims_after(chunk) or _DOCUMENT_MARKS.search(chunk.text):
        return None
    if not yaml.roots:
        return Sound(None, (), has_entries=False)
    kind = Sequence if chunk.role is Role.ELEMENTS else Mapping
    found = {_open_in(chunk, root) if isinstance(root, kind) else () for root in yaml.roots}
    levels = found.pop()
    if found or not levels or (chunk.role is Role.BLOCK and levels[0][1]):
        return None
    if chunk.role is not Role.BLOCK and levels[0][1] != column_of(chunk):
        return None
    return Sound(levels[0], levels)


def column_of(chunk: Chunk) -> int:
    """Return how many spaces a chunk begins with."""
    return leading_spaces(chunk.text)


def has_entries(chunk: Chunk) -> bool:
    """Return whether the chunk is sound and contains a part of the mapping."""
    found = sound(chunk)
    return found is not None and found.has_entries


def trims_after(chunk: Chunk) -> bool:
    """Return whether the last tag strips the line break at the end of the chunk."""
    return (
        bool(chunk.tags) and chunk.tags[-1].trims_after and not chunk.text[chunk.tags[-1].span.end :].strip()
    )


def _open_in(chunk: Chunk, root: Node) -> tuple[Level, ...]:
    """Return the lists and mappings that are open after a tree; empty if it is not in block style."""
    levels: list[Level] = []
    node = root
    while True:
        column = node.span.start - chunk.text.rfind("\n", 0, node.span.start) - 1
        if isinstance(node, Sequence):
            is_block = chunk.text.startswith("-", node.span.start)
            return (*levels, (_LIST, column)) if is_block else tuple(levels)
        if isinstance(node, Scalar):
            is_missing = node.tag == "null" and not node.dynamic and node.span.is_empty() and not node.style
            return (*levels, (_MISSING, levels[-1][1])) if is_missing else tuple(levels)
        if not node.entries or node.entries[0].key.span.start != node.span.start:
            return tuple(levels)
        levels.append((_MAPPING, column))
        node = node.entries[-1].value


_MEMBERS: Final = ("members", 0)
_ELEMENTS: Final = ("elements", 0)


def _sound_json(chunk: Chunk) -> Sound | None:
    """Return the effect of a chunk of a JSON object; it must end with a comma unless it is the last one."""
    yaml, is_open = json_chunk(chunk)
    if yaml.is_broken:
        return None
    (root,) = yaml.roots
    of = _ELEMENTS if isinstance(root, Sequence) else _MEMBERS
    has_members = isinstance(root, Sequence) or (isinstance(root, Mapping) and bool(root.entries))
    if not is_open:
        return Sound(of, (_END,), has_members)
    last = root.entries[-1].value if isinstance(root, Mapping) and root.entries else root
    end, comma = last.span.end, ","
    if last is root and not has_members:
        end, comma = root.span.start + 1, ""
    elif is_open == "]}" and isinstance(last, Sequence):
        end = last.items[-1].span.end if last.items else last.span.start + 1
        comma = "," if last.items else ""
    if chunk.text[end:].strip() != comma:
        return None
    levels = (_MEMBERS,) if is_open == "}" else (_MEMBERS, _ELEMENTS)
    return Sound(of, levels if of == _MEMBERS else levels[1:], has_members)


def _open_after(above: tuple[Level, ...], found: Sound) -> tuple[Level, ...] | None:
    """Return what is open after a chunk if `above` is open before it; None if it does not belong there."""
    if found.of is None:
        return None if above else ()
    if not above:
        return found.open if found.of in {_MEMBERS, _OUTERMOST} else None
    kind, column = found.of
    if not found.has_entries:
        return None
    if found.of in {_MEMBERS, _ELEMENTS} and above[-1] != found.of:
        return None
    if found.of in above:
        return (*above[: above.index(found.of)], *found.open)
    if kind == _LIST and above[-1][0] == _MISSING and above[-1][1] <= column:
        return (*above[:-1], *found.open)
    return None


def first_unsound(chunks: Row[Chunk], start: int = 0, *, is_end: bool = True) -> int | None:
    """Return the index of the first chunk, from `start` on, that is not sound in its position.

    The preceding chunks must be sound. `is_end` is True if the last chunk is the last one of the file.
    """
    above = _open_above(chunks, start)
    for index, found in enumerate(fact_values(sound, chunks[start:]), start):
        after = _open_after(above, found) if found is not None else None
        if after is None:
            return index
        above = after
    is_json = chunks[0].role is Role.JSON_MEMBERS
    return len(chunks) - 1 if is_json and is_end and above[-1:] != (_END,) else None


def _open_above(chunks: Row[Chunk], index: int) -> tuple[Level, ...]:
    """Return what is open before a chunk; the preceding chunks must be sound."""
    first = index
    while first and (first == index or chunks[first].role not in {Role.BLOCK, Role.JSON_MEMBERS}):
        first -= 1
    above: tuple[Level, ...] = ()
    for found in fact_values(sound, chunks[first:index]):
        after = None
        if found is not None:
            after = _open_after(above, found) if above else found.open
        above = after or ()
    return above


def in_context(chunks: Row[Chunk], index: int) -> tuple[int, ChunkYaml]:
    """Return the YAML of a chunk that is not sound, parsed after the sound ones, and where parsing starts.

    As many of the following chunks are parsed as the first error requires; all of them if there is none.
    Parsing starts at that chunk, or at an earlier entry if the chunk depends on it. Spans count from there.
    """
    chunk = chunks[index]
    if chunk.role in {Role.JSON_MEMBERS, Role.JSON_ELEMENTS}:
        return 0, chunk_yaml(join_chunks(chunks, role=Role.BLOCK))
    context = _context(_open_above(chunks, index), chunk)
    if context is None:
        while index and chunks[index].role is not Role.BLOCK:
            index -= 1
        context = "k: k\n"
    if not any(map(has_entries, chunks[:index])):
        index, context = 0, ""
    window = _FIRST_WINDOW
    while True:
        below = chunks[index : index + window]
        yaml = chunk_yaml(join_chunks([Chunk(context, (), reach=0), *below]))
        is_last = index + window >= len(chunks)
        if is_last or (yaml.is_broken and not yaml.is_cut_off):
            break
        window *= _GROWTH
    problems = tuple([problem.shifted(-len(context)) for problem in yaml.problems])
    return index, yaml._replace(problems=problems)


def _context(above: tuple[Level, ...], chunk: Chunk) -> str | None:
    """Return lines that open what a chunk belongs to by its first line, or None if that is not open."""
    column = column_of(chunk)
    of = (_LIST if chunk.role is Role.ELEMENTS else _MAPPING, column)
    if of in above:
        levels = above[: above.index(of) + 1]
    elif chunk.role is Role.ELEMENTS and above[-1:] and above[-1][0] == _MISSING and above[-1][1] <= column:
        levels = above
    else:
        return None
    lines = [f"{' ' * level[1]}k:\n" for level in levels[:-1]]
    if levels[-1][0] != _MISSING:
        lines.append(f"{' ' * column}{'k: k' if levels[-1][0] == _MAPPING else '- k'}\n")
    return "".join(lines)


@placed_fact
def mapping_yaml(chunks: ChunkList) -> ChunkYaml:
    """Return the YAML of a mapping that is cut into chunks; spans count from the start of the file."""
    index = _first_unsound(chunks)
    if index is not None:
        index, yaml = in_context(chunks.chunks, index)
        start = chunks.starts[index]
        problems = tuple([problem.shifted(start) for problem in yaml.problems])
        return ChunkYaml((), problems, (), is_broken=True)
    roots = tuple([_mapping(chunks.starts, chunks.chunks, variant) for variant in range(_variants(chunks))])
    if chunks.chunks[0].role is Role.JSON_MEMBERS:
        end = chunks.starts[-2] + len(chunks.chunks[-1].text.rstrip())
        start = len(chunks.chunks[0].text) - len(chunks.chunks[0].text.lstrip("\ufeff \t\r\n"))
        roots = (Mapping(Span(start, end), roots[0].entries),)
    return ChunkYaml(roots, (), loose_aliases(chunks), is_plain=_is_plain(chunks))


_first_unsound: Final = file_fact(lambda chunks: first_unsound(chunks.chunks))
_variants: Final = summary(lambda chunk: len(chunk_yaml(chunk).roots), max)
_is_plain: Final = summary(lambda chunk: not (yaml := chunk_yaml(chunk)).roots or yaml.is_plain, all)
loose_aliases: Final = placed_items(
    lambda chunk: chunk_yaml(chunk).aliases, lambda alias, by: (alias[0], alias[1].shifted(by))
)
"""The aliases whose anchor is not in their chunk."""


def mapping_of(chunks: Row[tuple[Chunk, int]]) -> Mapping:
    """Return the mapping of sound chunks with their positions, in their first variant."""
    return _mapping([start for _, start in chunks], [chunk for chunk, _ in chunks], 0)


@dataclass(slots=True)
class _Open:
    """A list or mapping to which nodes can be added; `key` is that of the entry whose value it is."""

    level: Level
    start: int
    end: int
    entries: list[Entry] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    key: Node | None = None

    def node(self) -> Mapping | Sequence:
        """Return the current list or mapping."""
        span = Span(self.start, self.end)
        if self.level[0] in {_LIST, _ELEMENTS[0]}:
            return Sequence(span, tuple(self.items))
        return Mapping(span, tuple(self.entries))


def _mapping(starts: Row[int], chunks: Row[Chunk], variant: int) -> Mapping:
    """Return the mapping of one variant of sound chunks; chunks with fewer variants use their last one."""
    is_json = chunks[0].role is Role.JSON_MEMBERS
    stack = [_Open(_MEMBERS if is_json else _OUTERMOST, 0, 0)]
    below: tuple[Level, ...] = ()
    found = zip(starts, fact_values(chunk_yaml, chunks), fact_values(sound, chunks), strict=False)
    for at, yaml, known in found:
        roots = yaml.roots
        if not roots or known is None or known.of is None:
            continue
        root = roots[min(variant, len(roots) - 1)] if variant else roots[0]
        if stack[-1].level != known.of:
            _reach(stack, known.of, below, root.span.start + at)
        top = stack[-1]
        if isinstance(root, Sequence):
            top.items += [item.moved(at) for item in root.items]
        elif isinstance(root, Mapping):
            top.entries += [entry.moved(at) for entry in root.entries]
        top.end = root.span.end + at
        below = known.open[1:]
    while len(stack) > 1:
        _close(stack)
    if stack[0].entries:
        stack[0].start = stack[0].entries[0].key.span.start
    node = stack[0].node()
    assert isinstance(node, Mapping)
    return node


def _reach(stack: list[_Open], of: Level, below: tuple[Level, ...], start: int) -> None:
    """Open or close lists and mappings until the innermost is `of`; `below` are those in the last entry."""
    if any(each.level == of for each in stack):
        while stack[-1].level != of:
            _close(stack)
        return
    for level in below:
        entry = stack[-1].entries.pop()
        if level[0] == _MISSING:
            stack.append(_Open(of, start, start, key=entry.key))
        else:
            opened = _Open(level, entry.value.span.start, entry.value.span.end, key=entry.key)
            if isinstance(entry.value, Mapping):
                opened.entries += entry.value.entries
            elif isinstance(entry.value, Sequence):
                opened.items += entry.value.items
            stack.append(opened)
        if stack[-1].level == of:
            return


def _close(stack: list[_Open]) -> None:
    """Add the innermost list or mapping to the enclosing one."""
    closed = stack.pop()
    assert closed.key is not None
    stack[-1].entries.append(Entry(closed.key, closed.node()))
    stack[-1].end = closed.end
