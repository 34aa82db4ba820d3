"""The layout of a chunk's YAML frame: its keys and the lines between them, but not the scalars' contents.

Each layout is proven against what the old text rendered to.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from jinja2 import Environment
from jinja2.exceptions import TemplateSyntaxError

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.lint.rule import Edit, apply_edits
from promptls.semantic.parts import chunk_items, value_end
from promptls.syntax.chunk import Chunk, chunk_fact, cut
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_end, line_start

_ENVIRONMENT: Final = Environment(autoescape=False)  # noqa: S701  (prompts are not HTML)
_UNREAD: Final = frozenset({"whitespace", "comment"})
_TRIMMED: Final = frozenset(
    {"block_begin", "block_end", "variable_begin", "variable_end", "raw_begin", "raw_end"}
)


def same_tokens(before: str, after: str) -> bool:
    """Return whether jinja2's lexer produces the same tokens for both texts; False if it rejects one."""
    first = _tokens(before)
    return first is not None and first == _tokens(after)


@lru_cache(maxsize=1024)
def _tokens(text: str) -> tuple[tuple[str, str], ...] | None:
    try:
        lexed = _ENVIRONMENT.lex(text)
        return tuple(
            (kind, "".join(value.split()) if kind in _TRIMMED else value)
            for _line, kind, value in lexed
            if kind not in _UNREAD
        )
    except (TemplateSyntaxError, ValueError, RecursionError):
        return None


def same_yaml(chunk: Chunk, text: str, *, at_items: bool) -> bool:
    """Return whether `text` is one chunk with the same tags as `chunk`, and its YAML parses to the same data.

    False if the chunk's YAML has an error, because its meaning is unknown then.
    """
    chunks = cut(text, at_items=at_items)
    before = chunk_yaml(chunk)
    if (
        len(chunks) != 1
        or before.problems
        or [tag.text for tag in chunks[0].tags] != [tag.text for tag in chunk.tags]
    ):
        return False
    after = chunk_yaml(chunks[0])
    return not after.problems and data(before.roots) == data(after.roots)


def data(roots: tuple[Node, ...]) -> list[Any]:
    """Return the trees without their positions: kinds, texts, styles and types."""
    return [_data(root, 0) for root in roots]


def _data(node: Node, depth: int) -> Any:
    if isinstance(node, Scalar):
        return (node.text, node.style, node.tag, node.dynamic)
    if depth > _MAX_PROVED_DEPTH:
        return None
    if isinstance(node, Mapping):
        return {
            index: (_data(entry.key, depth + 1), _data(entry.value, depth + 1))
            for index, entry in enumerate(node.entries)
        }
    return [_data(item, depth + 1) for item in node.items]


_MAX_PROVED_DEPTH: Final = 250
"""More than the maximum depth of parsed YAML, so that only recursive nodes are cut off."""
_MAX_DEPTH: Final = 50
"""Deeper nodes are not laid out."""


@chunk_fact
def scalar_texts(chunk: Chunk) -> tuple[Span, ...]:
    """Return the spans of the texts of the chunk's scalars, in every variant of the chunk."""
    return tuple(_written(chunk, node) for root in chunk_yaml(chunk).roots for node in _scalars(root, 0))


def union_of_spans(spans: tuple[Span, ...]) -> list[Span]:
    """Return the union of the spans as sorted, non-overlapping spans, without empty ones."""
    merged: list[Span] = []
    for span in sorted(span for span in spans if span.start < span.end):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _written(chunk: Chunk, scalar: Scalar) -> Span:
    """Return the span of the scalar's text, without its block header."""
    start = scalar.span.start
    if scalar.style in {"|", ">"}:
        start = min(line_end(chunk.text, start), scalar.span.end)
    return Span(start, scalar.span.end)


def _scalars(node: Node, depth: int) -> Iterator[Scalar]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, Scalar):
        yield node
        return
    inside = node.items if isinstance(node, Sequence) else ()
    if isinstance(node, Mapping):
        inside = tuple(part for entry in node.entries for part in (entry.key, entry.value))
    for each in inside:
        yield from _scalars(each, depth + 1)


_KEY_END: Final = re.compile(r"[ \t]*:([ \t]+)")
_BLOCK_HEADER: Final = re.compile(r"[|>][-+\d]{0,2}")


def key_edits(chunk: Chunk, roots: tuple[Node, ...]) -> Iterator[Edit]:
    """Yield edits for one space between key and value, and no trailing space after a value."""
    for root in roots:
        for entry in _entries(chunk, root, 0):
            key, value = entry.key.span, entry.value.span
            match = _KEY_END.fullmatch(chunk.text, key.end, value.start)
            if match and not value.is_empty() and match.group() != ": ":
                yield Edit(Span(key.end, value.start), ": ")
            yield from _trailing(chunk, entry)


def _entries(chunk: Chunk, node: Node, depth: int) -> Iterator[Entry]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, Sequence) and not _is_flow(chunk, node):
        for item in node.items:
            yield from _entries(chunk, item, depth + 1)
    elif isinstance(node, Mapping) and not _is_flow(chunk, node):
        for entry in node.entries:
            yield entry
            yield from _entries(chunk, entry.value, depth + 1)


def _is_flow(chunk: Chunk, node: Node) -> bool:
    return chunk.text[node.span.start : node.span.start + 1] in {"{", "["}


def _trailing(chunk: Chunk, entry: Entry) -> Iterator[Edit]:
    """Yield the edit that removes trailing white space of a key's line without tags or continued scalars."""
    start = entry.key.span.start
    end = line_end(chunk.text, start)
    line = chunk.text[start:end]
    after = len(line.rstrip(" \t"))
    if after == len(line) or "{" in line or "}" in line:
        return
    value = entry.value
    if isinstance(value, Scalar) and value.span.start < end < value.span.end:
        header = chunk.text[value.span.start : start + after]
        if value.style not in {"|", ">"} or not _BLOCK_HEADER.fullmatch(header):
            return
        # An empty line within the span belongs to the header: the scalar's text begins on the next line.
    yield Edit(Span(start + after, end), "")


_PRINTING: Final = frozenset({"include", "extends", "call", "filter", "print", "block", "macro", "", "set"})
"""Statements that print, or whose body is text; `set` is examined separately."""
_SPACE: Final = re.compile(r"\s*")
_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_COMMENT_LINE: Final = re.compile(r"[ ]*#[^\r\n]*")


def is_blank(text: str, start: int, end: int) -> bool:
    """Return whether there is only white space between two positions.

    Stops at the first other character.
    """
    found = _SPACE.match(text, start, max(start, end))
    return found is not None and found.end() >= end


def is_silent(chunk: Chunk, gap: Span, column: int) -> bool:
    """Return whether every line of the gap prints at most `column` spaces, or is a YAML comment.

    Such lines are outside of every scalar for any data: the text of a scalar is indented by more than its
    key.
    """
    tags = chunk.tags_at(gap)
    if _is_glued(chunk, gap) or any(
        _prints(tag) or not gap.start <= tag.span.start < tag.span.end <= gap.end for tag in tags
    ):
        return False
    pieces = []
    position = gap.start
    for tag in tags:
        # The line breaks inside a tag are not rendered.
        pieces += [chunk.text[position : tag.span.start], "\0"]
        position = tag.span.end
    text = "".join([*pieces, chunk.text[position : gap.end]])
    return all(_is_silent_line(line, column) for line in text.splitlines())


def _is_glued(chunk: Chunk, gap: Span) -> bool:
    """Return whether a tag before the gap trims the white space in it, which joins the text before it."""
    before = [tag for tag in chunk.tags if tag.span.end <= gap.start]
    if not before or not before[-1].trims_after:
        return False
    return is_blank(chunk.text, before[-1].span.end, gap.start)


def _is_silent_line(line: str, column: int) -> bool:
    rendered = line.replace("\0", "")
    if not rendered.strip(" \t"):
        return len(rendered) <= column
    return (
        bool(_COMMENT_LINE.fullmatch(line)) and "\0" not in line and len(line) - len(line.lstrip()) <= column
    )


def _prints(tag: Tag) -> bool:
    if tag.unclosed or tag.kind in {"output", "raw"}:
        return True
    if tag.kind == "comment":
        return False
    statement = tag_tree(tag).statement
    keyword = statement.keyword.removeprefix("end")
    if keyword == "set" and not statement.opens_block and statement.keyword == "set":
        return False
    return keyword in _PRINTING


def gap_edits(chunk: Chunk, gap: Span, *, is_last: bool) -> Iterator[Edit]:
    """Yield edits that remove trailing white space and collapse consecutive blank lines.

    Lines with tags, and the first blank line after one, stay: if the tag's block is omitted, they may end
    the text before it.

    With `is_last`, the blank lines at the end are left too, because they are rendered where another file
    includes this one.
    """
    pending = [tag.span for tag in reversed(chunk.tags) if gap.covers(tag.span.start)]
    text_end = gap.end
    if is_last:
        text_end = gap.start + len(chunk.slice(gap).rstrip())
    blank_before = 0
    for match in _LINE.finditer(chunk.text, gap.start, gap.end):
        start, end = match.span(1)
        if match.start() >= text_end or match.start() == gap.end:
            return
        while pending and pending[-1].end <= start:
            pending.pop()
        if pending and pending[-1].start < end:
            blank_before = 0
            continue
        written = match.group(1).rstrip(" \t")
        if written:
            blank_before = 0
        else:
            blank_before += 1
            if blank_before > 1 and match.group(2):
                yield Edit(Span(match.start(), match.end()), "")
                continue
        if len(written) < len(match.group(1)):
            yield Edit(Span(start + len(written), end), "")


_KEY_COLUMN: Final = 2
"""The column of a part's keys, after the dash and a space."""
_DASH: Final = re.compile(r"-([ \t]+)")
_HEADERS: Final = ("|", ">", "|-", ">-", "|+", ">+")
_MAX_HEADER_GAP: Final = 200
"""An upper bound for the number of characters between a block header and the text below it."""
REUSED: Final = frozenset({"macro", "set", "call", "filter", "block"})
"""Blocks whose text may be used outside of the frame."""


class FrameEdits(NamedTuple):
    """Edits that can be applied separately, and edits that must be applied together.

    Spans are relative to the chunk's start.
    """

    single: tuple[Edit, ...] = ()
    together: tuple[Edit, ...] = ()


@chunk_fact
def frame_edits(chunk: Chunk) -> FrameEdits:
    """Return the edits that lay out the frame of a chunk that is not the last one.

    Empty if its YAML could change.
    """
    return _proven(chunk, is_last=False)


@chunk_fact
def last_frame_edits(chunk: Chunk) -> FrameEdits:
    """Return the same for a file's last chunk, whose last lines are rendered where the file is included."""
    return _proven(chunk, is_last=True)


def _proven(chunk: Chunk, *, is_last: bool) -> FrameEdits:
    """Return the edits that leave the YAML unchanged, both separately and together."""
    found = _edits(chunk, is_last=is_last)
    at_items = chunk.text.startswith("-") or not chunk_yaml(chunk).roots
    both = apply_edits(chunk.text, (*found.single, *found.together))
    if both == chunk.text:
        return FrameEdits()
    if same_yaml(chunk, both, at_items=at_items):
        return found
    if same_yaml(chunk, apply_edits(chunk.text, found.single), at_items=at_items):
        return FrameEdits(found.single)
    return FrameEdits(
        tuple(
            edit
            for edit in found.single
            if same_yaml(chunk, apply_edits(chunk.text, (edit,)), at_items=at_items)
        )
        if len(found.single) <= _MAX_TRIED
        else ()
    )


_MAX_TRIED: Final = 20
"""More edits are not tried one by one, because each trial parses the chunk again."""


def _edits(chunk: Chunk, *, is_last: bool) -> FrameEdits:
    yaml = chunk_yaml(chunk)
    if yaml.problems or yaml.aliases:
        return FrameEdits()
    if not yaml.roots:
        if is_silent(chunk, Span(0, len(chunk.text)), 0):
            return FrameEdits(tuple(gap_edits(chunk, Span(0, len(chunk.text)), is_last=is_last)))
        return FrameEdits()
    mappings = _mappings(chunk, yaml.roots)
    if not mappings:
        return FrameEdits()
    texts = union_of_spans(scalar_texts(chunk))
    text_starts = [span.start for span in texts]
    reused = [
        Span(chunk.tags[pair.opening].span.start, chunk.tags[pair.closing].span.end)
        for pair in chunk_blocks(chunk).pairs
        if pair.keyword in REUSED
    ]

    def is_frame(place: Span) -> bool:
        """Return whether the place is outside of scalars and of blocks whose text is used elsewhere."""
        before = bisect_left(text_starts, place.end)
        if before and place.start < texts[before - 1].end:
            return False
        return not any(span.covers(place.start) for span in reused)

    known = {edit.span: edit for edit in key_edits(chunk, yaml.roots) if is_frame(edit.span)}
    gaps = _gaps(chunk, mappings)
    silent = [gap for gap in gaps if is_silent(chunk, gap, _column(chunk, mappings[0]))]
    for gap in silent:
        last = is_last and gap.end == len(chunk.text)
        known.update({edit.span: edit for edit in gap_edits(chunk, gap, is_last=last) if is_frame(edit.span)})
    is_sure = len(silent) == len(gaps) and not reused and not _ends_header(chunk) and not runs_on(chunk)
    together = _indentation(chunk, mappings) if is_sure else ()
    spans = [edit.span for edit in together]
    single = (edit for edit in known.values() if not any(_overlap(edit.span, span) for span in spans))
    return FrameEdits(tuple(sorted(single, key=lambda edit: edit.span)), together)


def _ends_header(chunk: Chunk) -> bool:
    """Return whether Jinja may print text directly after the header of a block scalar."""
    for tag in chunk.tags:
        before = chunk.text[max(tag.span.start - _MAX_HEADER_GAP, 0) : tag.span.start]
        if (before.rstrip() if tag.trims_before else before).endswith(_HEADERS):
            return True
    return False


@chunk_fact
def runs_on(chunk: Chunk) -> bool:
    """Return whether the chunk's last tag trims the line break that separates it from the next chunk."""
    last = chunk.tags[-1] if chunk.tags else None
    if last is None or not last.trims_after or not is_blank(chunk.text, last.span.end, len(chunk.text)):
        return False
    starts_line = line_start(chunk.text, last.span.start) == last.span.start
    return last.kind == "output" or last.trims_before or not starts_line


@chunk_fact
def prints_nothing(chunk: Chunk) -> bool:
    """Return whether the chunk renders to white space only, as a header does."""
    pieces = []
    position = 0
    for tag in chunk.tags:
        if _prints(tag):
            return False
        pieces.append(chunk.text[position : tag.span.start])
        position = tag.span.end
    return not "".join([*pieces, chunk.text[position:]]).strip()


def _overlap(first: Span, second: Span) -> bool:
    return first.start < second.end and second.start < first.end


_Mapping: TypeAlias = tuple[Entry, ...]
"""The entries of a mapping of the frame, those of all variants in the order of their positions."""


def _mappings(chunk: Chunk, roots: tuple[Node, ...]) -> tuple[_Mapping, ...]:
    """Return the parts of the chunk, or its single mapping; empty if it may be anything else."""
    if all(isinstance(root, Sequence) for root in roots):
        items = chunk_items(chunk)
        if items.others or not all(_is_part(part.entries) for part in items.parts):
            return ()
        return tuple(part.entries for part in items.parts)
    if all(isinstance(root, Mapping) for root in roots):
        entries = {
            entry.key.span: entry for root in roots if isinstance(root, Mapping) for entry in root.entries
        }
        return (tuple(entries[span] for span in sorted(entries)),) if entries else ()
    return ()


def _is_part(entries: tuple[Entry, ...]) -> bool:
    keys = {entry.key.text for entry in entries if isinstance(entry.key, Scalar) and not entry.key.dynamic}
    return len(keys & {"name", "content", "sections", "role"}) > 1 and keys <= set(PART_KEYS)


# -- lines between keys -----------------------------------------------------------


def _gaps(chunk: Chunk, mappings: tuple[_Mapping, ...]) -> list[Span]:
    """Return the lines between a value and the next key, before the first key and after the last one."""
    places = sorted(
        (line_start(chunk.text, entry.key.span.start), value_end(chunk, entry))
        for entries in mappings
        for entry in entries
    )
    gaps = []
    after = 0
    for start, end in places:
        if start > after:
            gaps.append(Span(after, start))
        after = max(after, end)
    if after < len(chunk.text):
        gaps.append(Span(after, len(chunk.text)))
    return gaps


def _column(chunk: Chunk, entries: tuple[Entry, ...]) -> int:
    """Return the smallest column of the keys: a blank line up to this length is never part of a scalar."""
    columns = [entry.key.span.start - line_start(chunk.text, entry.key.span.start) for entry in entries]
    return min(columns, default=0)


def _indentation(chunk: Chunk, mappings: tuple[_Mapping, ...]) -> tuple[Edit, ...]:
    """Return the edits that move the keys of parts to the second column; none if text precedes a key."""
    if not chunk.text.startswith("-"):
        return ()
    edits: list[Edit] = []
    for entries in mappings:
        for entry in entries:
            start = line_start(chunk.text, entry.key.span.start)
            before = chunk.text[start : entry.key.span.start]
            if match := _DASH.fullmatch(before):
                if len(match.group(1)) != 1:
                    edits.append(Edit(Span(start + 1, entry.key.span.start), " "))
            elif before.strip(" "):
                return ()
            elif len(before) != _KEY_COLUMN:
                edits.append(Edit(Span(start, entry.key.span.start), " " * _KEY_COLUMN))
    return tuple(edits)
