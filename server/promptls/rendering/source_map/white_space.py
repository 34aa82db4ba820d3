"""White space of a template that its rendering strips, adds or lacks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import yaml

from promptls.dialects.prompt_poet.vocabulary import SPACE_MARKER
from promptls.rendering.outcome import WhiteSpace, WhiteSpaceKind
from promptls.rendering.source_map.mapping import RenderedMap
from promptls.rendering.source_map.part_origins import entry_nodes, scalar_bounds, scalar_runs

_TRIMMED_PART: Final = re.compile(r"-[%#}]\}[ \t]*\n\s*^(?=-(?:[ \t\n]|\Z))", re.MULTILINE)
"""A part in the first column after a tag that trims the line break before it."""
_BLANK_LINE: Final = re.compile(r"^[ \t]*\n", re.MULTILINE)
_LINE_BREAK: Final = re.compile(r"[\r\n\x85\u2028\u2029]")
_Range: TypeAlias = tuple[WhiteSpaceKind, bool, int, int]
"""White space of a value: its kind, whether it is at the start, and its offsets."""
_SPACES: Final = " \t"
_OTHER_SPACES: Final = "".join(
    sign for sign in map(chr, range(0x3001)) if sign.isspace() and sign not in "\r\n"
)
"""The white space that `str.strip` strips, without line breaks."""


def joined_parts(rendered: RenderedMap, path: str, text: str) -> Iterator[WhiteSpace]:
    """Yield the parts of the template `text` at `path` whose rendering does not begin a line."""
    text = text.replace("\r\n", "\n")
    parts = [match.end() for match in _TRIMMED_PART.finditer(text)]
    if not parts:
        return
    places: dict[int, list[int]] = {}
    for leaf, start in zip(rendered.leaves, rendered.starts, strict=True):
        if leaf.is_text and leaf.file is not None and leaf.file.path == path:
            for part in parts[bisect_left(parts, leaf.start) : bisect_left(parts, leaf.end)]:
                places.setdefault(part, []).append(start + part - leaf.start)
    for part, its in places.items():
        ahead = [rendered.text[rendered.text.rfind("\n", 0, place) + 1 : place] for place in its]
        joined = [place for place, before in zip(its, ahead, strict=True) if before]
        if joined:
            kind: WhiteSpaceKind = "joined part" if joined[0] == its[0] else "joined repetition"
            before = len(rendered.text[: joined[0]].rstrip()) - 1
            is_value = bool(ahead[its.index(joined[0])].strip())
            is_value = is_value and rendered.leaves[rendered.index(before)].site is not None
            offset = rendered.original(path, part)
            yield WhiteSpace(kind, offset, offset, "after a value" if is_value else "")


def changed_white_space(rendered: RenderedMap, root: Any, path: str) -> Iterator[WhiteSpace]:
    """Yield the blank lines from tags and the stripped white space in the contents of the parts.

    `root` is the YAML node of the rendered text. Only text of the template at `path` counts, not values.
    """
    for item in root.value if isinstance(root, yaml.SequenceNode) else ():
        _, sections = entry_nodes(item, "sections")
        if isinstance(sections, yaml.SequenceNode):
            last = len(sections.value) - 1
            for index, section in enumerate(sections.value):
                edges = (index == 0, index == last)
                yield from _in_content(rendered, *entry_nodes(section, "content"), path, edges)
        else:
            yield from _in_content(rendered, *entry_nodes(item, "content"), path, None)


def _in_content(
    rendered: RenderedMap, key: Any, node: Any, path: str, outer: tuple[bool, bool] | None
) -> Iterator[WhiteSpace]:
    """Yield the white space of one content; for a section, `outer` is which ends are ends of the part."""
    if not isinstance(node, yaml.ScalarNode) or not node.value:
        return
    start, end = scalar_bounds(rendered.text, node)
    raw = rendered.text[start:end]
    if node.style == "|":
        yield from _blank_lines(rendered, start, raw, path)
    value: str = node.value
    found = [*_stripped(value, node.style, outer), *_lost_markers(value, outer)]
    if not found:
        return
    runs = scalar_runs(raw, value, node.style, key.start_mark.column)
    for kind, at_start, first, stop in found:
        place = _place_of(runs or (), first, stop)
        if place is None or (node.style in {"'", '"'} and _LINE_BREAK.search(raw, *place)):
            continue
        origin = _origin(rendered, start + place[0], start + place[1], path, at_start=at_start)
        if origin is not None:
            yield WhiteSpace(kind, *origin, "start" if at_start else "end")


def _blank_lines(rendered: RenderedMap, start: int, raw: str, path: str) -> Iterator[WhiteSpace]:
    """Yield the beginnings of the blank lines between the lines of a block scalar."""
    begin = raw.find("\n") + 1
    first, last = len(raw) - len(raw[begin:].lstrip()), len(raw.rstrip())
    for match in _BLANK_LINE.finditer(raw, begin, last):
        if match.start() > first:
            at = start + match.start()
            origin = _origin(rendered, at, at + 1, path, at_start=True)
            if origin is not None:
                yield WhiteSpace("blank line", *origin)


def _stripped(value: str, style: str | None, outer: tuple[bool, bool] | None) -> Iterator[_Range]:
    """Yield the ranges of a value that are stripped."""
    for at_start in (True, False):
        is_edge = outer is None or outer[0 if at_start else 1]
        kind: WhiteSpaceKind = "stripped" if outer is None or not is_edge else "stripped at edge"
        # A line break at the end of a part's last section is as natural as one between sections.
        characters = None if outer is None else _OTHER_SPACES if is_edge else _SPACES
        if at_start:
            first, stop = 0, len(value) - len(value.lstrip(characters))
            if style in {"|", ">"}:
                first = value.rfind("\n", 0, stop) + 1
        else:
            first, stop = len(value.rstrip(characters)), len(value)
            if style in {"|", ">"}:
                line_end = value.find("\n", first)
                stop = stop if line_end < 0 else line_end
        if first < stop and stop - first < len(value):
            yield kind, at_start, first, stop


def _lost_markers(value: str, outer: tuple[bool, bool] | None) -> Iterator[_Range]:
    """Yield the space markers at the ends of a part with sections, which are stripped like spaces."""
    if outer is None or SPACE_MARKER not in value:
        return
    first, last = len(value) - len(value.lstrip()), len(value.rstrip())
    if outer[0] and value.startswith(SPACE_MARKER, first):
        yield "stripped marker", True, first, first + len(SPACE_MARKER)
    if outer[1] and value.endswith(SPACE_MARKER, 0, last) and last - first > len(SPACE_MARKER):
        yield "stripped marker", False, last - len(SPACE_MARKER), last


def _place_of(runs: Any, first: int, stop: int) -> tuple[int, int] | None:
    """Return the range of the raw text that the characters of a value from `first` to `after` come from."""
    at = 0
    start = end = None
    for run in runs:
        is_plain = run.end - run.start == len(run.text)
        if start is None and first < at + len(run.text):
            start = run.start + (first - at if is_plain else 0)
        if stop <= at + len(run.text):
            end = run.start + stop - at if is_plain else run.end
            break
        at += len(run.text)
    return None if start is None or end is None else (start, end)


def _origin(
    rendered: RenderedMap, first: int, stop: int, path: str, *, at_start: bool
) -> tuple[int, int] | None:
    """Return the span of the template text that a rendered range was copied from; None for a value.

    If the range has several origins, return that of its first piece for `at_start`, else of its last.
    """
    index = rendered.index(first if at_start else stop - 1)
    leaf, start = rendered.leaves[index], rendered.starts[index]
    if not leaf.is_text or leaf.file is None or leaf.file.path != path:
        return None
    first, stop = max(first, start), min(stop, start + len(leaf.text))
    by = leaf.start - start
    return rendered.original(path, first + by), rendered.original(path, stop + by)
