"""The origin of each part's content: YAML and the clean-up, traced back to the rendered text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import yaml

from promptls.dialects.prompt_poet.document import LINE_BREAK
from promptls.dialects.prompt_poet.prompt_parts import PromptPart
from promptls.dialects.prompt_poet.vocabulary import clean_content, clean_section
from promptls.rendering.source_map.mapped_text import MappedText, concatenated, made_of
from promptls.rendering.source_map.mapping import RenderedMap, Segment
from promptls.rendering.source_map.pieces import Leaf, SourceFile, leaves_of

_BLANKS: Final = " \t"
_SPACES: Final = re.compile("[ \t\r\n\x85\u2028\u2029]+")
_WORD: Final = {
    "": re.compile("[^ \t\r\n\x85\u2028\u2029]+"),
    "'": re.compile("[^' \t\r\n\x85\u2028\u2029]+"),
    '"': re.compile('[^"\\\\ \t\r\n\x85\u2028\u2029]+'),
}
_HEADER: Final = re.compile(
    "([|>])([-+0-9]*)[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?(?:\r\n|[\n\r\x85\u2028\u2029]|$)"
)
_PROPERTIES: Final = re.compile("(?:[&!][^ \t\r\n\x85\u2028\u2029]*[ \t\r\n\x85\u2028\u2029]+)+")
"""An anchor or tag, which is part of the node but not of its value."""
_LEADING: Final = re.compile("( *)(\r\n|[\n\r\x85\u2028\u2029]|)")
_ESCAPES: Final = {
    "0": "\0", "a": "\x07", "b": "\x08", "t": "\t", "\t": "\t", "n": "\n", "v": "\x0b", "f": "\x0c",
    "r": "\r", "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0",
    "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_CODES: Final = {"x": 2, "u": 4, "U": 8}


class Run(NamedTuple):
    """A stretch of a value, and the characters from `start` to `end` of the source text."""

    text: str
    start: int
    end: int


def scalar_bounds(text: str, node: Any) -> tuple[int, int]:
    """Return the start and end in `text` of a scalar `node` that libyaml read from it."""
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    # libyaml treats it as a byte order mark, and does not count it.
    return (start + 1, end + 1) if text.startswith("\ufeff") else (start, end)


def scalar_runs(raw: str, value: str, style: str | None, indent: int) -> list[Run] | None:
    """Return the runs of the `value` that libyaml read from the text `raw`; None if they do not fit it.

    `style` is how the scalar is written, as libyaml names it, and `indent` the column of the mapping that
    it is a value of. The runs count from the beginning of `raw`.
    """
    properties = _PROPERTIES.match(raw)
    start = properties.end() if properties else 0
    if style in {"|", ">"}:
        runs = _block(raw, start, indent)
    elif style in {"'", '"'}:
        runs = _folded(raw, start + 1, len(raw) - 1, style)
    else:
        runs = _folded(raw, start, len(raw), "")
    found = _merge(raw, runs)
    return found if "".join([run.text for run in found]) == value else None


def _merge(text: str, runs: Iterator[Run]) -> list[Run]:
    """Return the runs, with adjacent ones merged, and without empty ones."""
    found: list[Run] = []
    # An unchanged stretch of the text is sliced once, however many runs it has.
    start = end = 0
    for run in runs:
        if not run.text:
            continue
        if text[run.start : run.end] == run.text:
            if run.start != end:
                found += _stretch(text, start, end)
                start = run.start
            end = run.end
        else:
            found += _stretch(text, start, end)
            found.append(run)
            start = end = run.end
    return [*found, *_stretch(text, start, end)]


def _stretch(text: str, start: int, end: int) -> list[Run]:
    return [Run(text[start:end], start, end)] if start < end else []


def _break_run(match: re.Match[str]) -> Run:
    """Return the run of a line break as YAML reads it."""
    is_separator = match[0] in {"\u2028", "\u2029"}
    return Run(match[0] if is_separator else "\n", match.start(), match.end())


def _folded(text: str, start: int, end: int, quote: str) -> Iterator[Run]:
    """Yield the runs of a plain or quoted scalar, between its quotes."""
    at = start
    while at < end:
        match = _SPACES.match(text, at, end)
        if match:
            yield from _fold(text, at, match.end(), is_escaped=False)
            at = match.end()
        elif quote == "'" and text[at] == "'":
            yield Run("'", at, at + 2)
            at += 2
        elif quote == '"' and text[at] == "\\":
            line_end = LINE_BREAK.match(text, at + 1, end)
            if line_end:
                spaces = _SPACES.match(text, line_end.end(), end)
                last = spaces.end() if spaces else line_end.end()
                yield from _fold(text, line_end.end(), last, is_escaped=True)
            else:
                length = 2 + _CODES.get(text[at + 1], 0)
                last = at + length
                code = text[at + 2 : last]
                yield Run(chr(int(code, 16)) if code else _ESCAPES.get(text[at + 1], ""), at, last)
            at = last
        else:
            found = _WORD[quote].match(text, at, end)
            last = found.end() if found else at + 1
            yield Run(text[at:last], at, last)
            at = last


def _fold(text: str, start: int, end: int, *, is_escaped: bool) -> Iterator[Run]:
    """Yield the runs of white space between two words.

    `is_escaped` is true after an escaped line break, which is dropped.
    """
    breaks = [_break_run(match) for match in LINE_BREAK.finditer(text, start, end)]
    if is_escaped:
        yield from breaks
    elif not breaks:
        yield Run(text[start:end], start, end)
    elif breaks[0].text != "\n":
        yield from breaks
    elif len(breaks) > 1:
        yield from breaks[1:]
    else:
        yield Run(" ", start, end)


def _block(text: str, start: int, indent: int) -> Iterator[Run]:
    """Yield the runs of a block scalar whose indicator is at `start`."""
    header = _HEADER.match(text, start)
    if header is None:
        return
    at = header.end()
    digit = next((int(sign) for sign in header[2] if sign.isdigit()), 0)
    column = indent + digit if digit else max(_detected(text, at), indent + 1, 1)
    is_folded = header[1] == ">"
    leading: Run | None = None
    was_blank = False
    line_start, at, breaks = _empty_lines(text, at, column)
    while at < len(text) and at - line_start == column:
        is_blank = text[at] in _BLANKS
        if leading is not None:
            if not is_folded or leading.text != "\n" or was_blank or is_blank:
                yield leading
            elif not breaks:
                yield Run(" ", leading.start, leading.end)
        yield from breaks
        was_blank = is_blank
        match = LINE_BREAK.search(text, at)
        if match is None:
            yield Run(text[at:], at, len(text))
            return
        yield Run(text[at : match.start()], at, match.start())
        leading = _break_run(match)
        line_start, at, breaks = _empty_lines(text, match.end(), column)
    if "-" not in header[2] and leading is not None:
        yield leading
    if "+" in header[2]:
        yield from breaks


def _detected(text: str, at: int) -> int:
    """Return the indentation of the first non-empty line, or of a longer empty line above it."""
    limit = 0
    while match := _LEADING.match(text, at):
        limit = max(limit, len(match[1]))
        if not match[2]:
            break
        at = match.end()
    return limit


def _empty_lines(text: str, at: int, column: int) -> tuple[int, int, list[Run]]:
    """Return the start of the first non-empty line, and the start of its text after the indentation.

    Also return the line breaks before it.
    """
    found: list[Run] = []
    while True:
        last = at
        limit = min(at + column, len(text))
        while last < limit and text[last] == " ":
            last += 1
        match = LINE_BREAK.match(text, last)
        if match is None:
            return at, last, found
        found.append(_break_run(match))
        at = match.end()


_KEPT_VALUES: Final = 4_096
_LONGEST_KEPT: Final = 10_000
"""Longer values are not cached: all cached values must fit into the memory of a small process."""
_RENDERED: Final = SourceFile("", 0)
"""The rendered text as a file, of whose pieces the functions of Prompt Poet make the contents."""


def part_segments(rendered: RenderedMap, root: Any, parts: Sequence[PromptPart]) -> list[list[Segment]]:
    """Return the segments of each part's content, from the YAML node of the rendered text.

    Empty for contents that are not text.
    """
    items = root.value if isinstance(root, yaml.SequenceNode) else ()
    found: list[list[Segment]] = []
    for item, part in zip(items, parts, strict=False):
        content = _content(rendered.text, item, part)
        found.append(list(_led_back(rendered, content)) if content is not None else [])
    return found + [[] for _ in parts[len(found) :]]


def mapped_value(text: str, key: Any, node: Any) -> MappedText:
    """Return the value of a scalar of the rendered `text`, with pieces from it; `key` is its key's node."""
    start, end = scalar_bounds(text, node)
    found = _value(text[start:end], node.value, node.style, key.start_mark.column)
    return MappedText(node.value, [leaf.moved(start) for leaf in leaves_of(found)])


def segments_of(rendered: RenderedMap, content: str) -> list[Segment]:
    """Return the segments of a text derived from mapped values."""
    return list(_led_back(rendered, content)) if type(content) is MappedText else []


def _content(text: str, item: Any, part: PromptPart) -> MappedText | None:
    """Return the part's content, with pieces from the rendered text."""
    if not isinstance(part.content, str) or not isinstance(item, yaml.MappingNode):
        return None
    if part.sections:
        _, sections = entry_nodes(item, "sections")
        nodes = sections.value if isinstance(sections, yaml.SequenceNode) else ()
        texts = [_clean(text, *entry_nodes(node, "content"), clean_section) for node in nodes]
        found = concatenated(texts).strip()
    else:
        found = _clean(text, *entry_nodes(item, "content"), clean_content)
    if found == part.content and type(found) is MappedText:
        return found
    return MappedText(
        part.content, [Leaf(part.content, _RENDERED, item.start_mark.index, item.end_mark.index)]
    )


def entry_nodes(item: Any, key: str) -> tuple[Any, Any]:
    """Return the nodes of a key and its value: the last occurrence, as in Prompt Poet, or a merged one."""
    found: tuple[Any, Any] = None, None
    for name, value in item.value if isinstance(item, yaml.MappingNode) else ():
        if isinstance(name, yaml.ScalarNode) and name.value == key:
            found = name, value
    return found


def _clean(text: str, key: Any, node: Any, clean: Callable[[str], str]) -> str:
    """Return the value of a scalar after `clean`, with pieces from the text."""
    if not isinstance(node, yaml.ScalarNode):
        return clean(MappedText("", []))
    start, end = scalar_bounds(text, node)
    value = text[start:end], node.value, node.style, key.start_mark.column
    if end - start > _LONGEST_KEPT:
        leaves = _cleaned_leaves.__wrapped__(*value, clean)
    else:
        leaves = _cleaned_leaves(*value, clean)
    return made_of([leaf.moved(start) for leaf in leaves])


@lru_cache(maxsize=_KEPT_VALUES)
def _cleaned_leaves(
    raw: str,
    value: str,
    style: str | None,
    indent: int,
    clean: Callable[[str], str],
) -> list[Leaf]:
    """Return the leaves of a cleaned value, which refer to `raw`; cached, since most values do not change."""
    return [
        leaf if leaf.file is not None else leaf._replace(file=_RENDERED, end=len(raw))
        for leaf in leaves_of(clean(_value(raw, value, style, indent)))
    ]


def _value(raw: str, value: str, style: str | None, indent: int) -> MappedText:
    """Return the value of the scalar text `raw`, with pieces from it."""
    runs = scalar_runs(raw, value, style, indent)
    if runs is None:
        return MappedText(value, [Leaf(value, _RENDERED, 0, len(raw))])
    return MappedText(
        value,
        [
            Leaf(run.text, _RENDERED, run.start, run.end, is_text=raw[run.start : run.end] == run.text)
            for run in runs
        ],
    )


def _led_back(rendered: RenderedMap, content: MappedText) -> Iterator[Segment]:
    """Yield the segments of a content, traced from the rendered text back to the templates."""
    at = 0
    for leaf in leaves_of(content):
        if leaf.is_text:
            by = at - leaf.start
            for segment in rendered.between(leaf.start, leaf.end):
                yield Segment(segment[0] + by, segment[1] + by, *segment[2:])
        else:
            made = list(rendered.between(leaf.start, leaf.end))
            if made:
                yield _made(made, at, at + len(leaf.text))
        at += len(leaf.text)


def _made(segments: list[Segment], start: int, end: int) -> Segment:
    """Return the segment of characters derived from several characters of the rendered text."""
    first = segments[0]
    last = next(segment for segment in reversed(segments) if segment.path == first.path)
    return first._replace(start=start, end=end, last=max(first.last, last.last), verbatim=False)
