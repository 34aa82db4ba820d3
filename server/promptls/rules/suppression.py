"""Findings that the file itself asks not to hear of.

`{# promptls: ignore[rule-name] reason #}` silences the named rules on its own line, or,
where nothing else stands on its line, on the next one. A comment of YAML, `# promptls: ignore[rule-name]`,
does the same, also in the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.meaning.header import OPENING as HEADER
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import gathered, united
from promptls.syntax.source import Source
from promptls.syntax.yaml.comments import yaml_comments
from promptls.text.lines import line_end, place_of
from promptls.text.span import Span

_MARK: Final = "promptls:"
_YAML_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)
_COMMENT: Final = re.compile(r"promptls:\s*ignore\[([\w\-, ]+)\]")


def suppressed_lines(source: Source) -> dict[int, frozenset[str]]:
    """The rules that are silenced, by the lines of the file."""
    found: dict[int, frozenset[str]] = {}
    for offset, lines, names in _comments(source.root):
        line = source.place(offset).line + lines
        found[line] = found.get(line, frozenset()) | names
    return found


def suppressions(source: Source) -> object:
    """The rules that are silenced anywhere, without their places; the same object for as long as they are."""
    return _names(source.root)


class Suppression(NamedTuple):
    """A comment that is to silence rules, from its `promptls:` to its end; the span counts from the chunk's start.

    `lines` is how many lines behind its own the line stands that is silenced.
    """

    span: Span
    text: str
    lines: int


@kept
def chunk_suppressions(chunk: Chunk) -> tuple[Suppression, ...]:
    """The comments of Jinja and of YAML in the chunk, those in the header too, that are to silence rules."""
    return tuple(_suppressions(chunk)) if _MARK in chunk.text else ()


def _suppressions(chunk: Chunk) -> Iterator[Suppression]:
    for tag in chunk.tags:
        if tag.kind != "comment" or _MARK not in tag.text:
            continue
        if tag.text.startswith(HEADER):
            for match in _YAML_COMMENT.finditer(tag.text):
                if _MARK in match.group():
                    yield _suppression(chunk, Span(*match.span()).shifted(tag.span.start))
        else:
            yield _suppression(chunk, tag.span)
    for comment in yaml_comments(chunk):
        if _MARK in chunk.text[comment.start : comment.end]:
            yield _suppression(chunk, comment)


def _suppression(chunk: Chunk, span: Span) -> Suppression:
    first = place_of(chunk.line_starts, span.start)
    last = place_of(chunk.line_starts, span.end)
    before = chunk.text[span.start - first.column : span.start]
    behind = chunk.text[span.end : line_end(chunk.text, span.end)]
    is_alone = not before.strip() and not behind.strip()
    start = chunk.text.index(_MARK, span.start)
    text = chunk.text[start : span.end]
    return Suppression(Span(start, span.end), text, last.line + 1 - first.line if is_alone else 0)


def _in_chunk(chunk: Chunk) -> list[tuple[int, int, frozenset[str]]]:
    """The offset of each such comment, how many lines behind it the silenced line is, and the rules."""
    return [
        (each.span.start, each.lines, frozenset(name.strip() for name in match.group(1).split(",")))
        for each in chunk_suppressions(chunk)
        if (match := _COMMENT.match(each.text))
    ]


_names: Final = united(lambda chunk: tuple([each[1:] for each in _in_chunk(chunk)]), tuple[object, ...])
_comments: Final = gathered(_in_chunk, lambda comment, by: (comment[0] + by, *comment[1:]))
