"""Semantic tokens as numbers: five each, as the protocol has them, placed from the beginning of a piece."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from promptls.features.semantic_tokens.legend import NUMBER, SemanticToken
from promptls.syntax.chunk import Chunk, kept
from promptls.text.lines import Unit, units_from_column
from promptls.text.span import Span

WIDTH: Final = 5
"""How many numbers a token takes."""
_AROUND_TAGS: Final = frozenset({"promptText", "string", "key", "partName", "role", "comment"})
"""Types of YAML, in which tags may stand."""


class Run(NamedTuple):
    """The tokens of a piece of a file.

    The line of the first token counts from the piece's first line; `last_line`, that of the last
    token, does as well. `parts` are the runs that it was put together from, each with its line.
    """

    numbers: tuple[int, ...]
    last_line: int
    parts: tuple[tuple[int, Run], ...] = ()


EMPTY: Final = Run((), 0)


def joined(parts: Iterable[tuple[int, Run]]) -> Run:
    """The run of a piece that is made of pieces, each with the line that it begins on."""
    filled = tuple((line, run) for line, run in parts if run.numbers)
    numbers: list[int] = []
    last = 0
    for line, run in filled:
        numbers.append(run.numbers[0] + line - last)
        numbers += run.numbers[1:]
        last = line + run.last_line
    return Run(tuple(numbers), last, filled)


def encoded(chunk: Chunk, tokens: Iterable[SemanticToken], unit: Unit) -> Run:
    """The run of a chunk; of tokens that overlap the first one stays."""
    numbers: list[int] = []
    last_line = last_column = behind = 0
    is_plain = unit is Unit.UTF32 or chunk.text.isascii()
    for token in sorted(_on_lines(chunk, tokens)):
        if token.start < behind:
            continue
        behind = token.end
        line = bisect_right(chunk.line_starts, token.start) - 1
        begin = chunk.line_starts[line]
        column, length = token.start - begin, token.end - token.start
        if not is_plain:
            column = units_from_column(chunk.text[begin : token.start], column, unit)
            length = units_from_column(chunk.text[token.start : token.end], length, unit)
        delta = column - last_column if line == last_line else column
        numbers += (line - last_line, delta, length, NUMBER[token.type], token.modifiers)
        last_line, last_column = line, column
    return Run(tuple(numbers), last_line)


def _on_lines(chunk: Chunk, tokens: Iterable[SemanticToken]) -> Iterator[SemanticToken]:
    """The tokens cut at line ends, and around the tags that stand in them.

    So they suit clients that take no tokens of several lines, and none that overlap.
    """
    for token in tokens:
        if token.type not in _AROUND_TAGS:
            yield token
            continue
        for span in _outside_tags(chunk, Span(token.start, token.end)):
            for piece in _lines(chunk, span):
                yield SemanticToken(piece.start, piece.end, token.type, token.modifiers)


def _outside_tags(chunk: Chunk, token: Span) -> Iterator[Span]:
    starts = _tag_starts(chunk)
    position = token.start
    first = max(bisect_right(starts, token.start) - 1, 0)
    for tag in chunk.tags[first : bisect_left(starts, token.end)]:
        if tag.span.start <= token.start and token.end <= tag.span.end:
            yield token  # it is the tag's own
            return
        if tag.span.end > token.start:
            yield Span(position, max(tag.span.start, position))
            position = tag.span.end
    yield Span(position, max(token.end, position))


@kept
def _tag_starts(chunk: Chunk) -> list[int]:
    return [tag.span.start for tag in chunk.tags]


def _lines(chunk: Chunk, span: Span) -> Iterator[Span]:
    """The stretches of a span line by line, without white space at their ends."""
    position = span.start
    while position < span.end:
        line = bisect_right(chunk.line_starts, position)
        end = chunk.line_starts[line] if line < len(chunk.line_starts) else len(chunk.text)
        text = chunk.text[position : min(end, span.end)]
        bare = text.strip(" \t\r\n")
        if bare:
            start = position + text.index(bare)
            yield Span(start, start + len(bare))
        position = end


class TokensEdit(NamedTuple):
    """`deleted` numbers from number `start` on, and those that take their place."""

    start: int
    deleted: int
    numbers: tuple[int, ...]


def change(old: Run, new: Run) -> TokensEdit | None:
    """The one edit that makes the newer run's numbers of the older one's; None where they are the same.

    Runs that are shared between the two are not gone over.
    """
    start = offset = 0
    while old is not new:
        first, behind = _shared(old, new)
        ahead = sum(len(part.numbers) for _, part in old.parts[:first])
        if len(old.parts) - behind != first + 1 or len(new.parts) - behind != first + 1:
            after = sum(len(part.numbers) for _, part in old.parts[len(old.parts) - behind :])
            return _trimmed(
                _between(old, ahead, after, offset), _between(new, ahead, after, offset), start + ahead
            )
        gap = _gap(old, first)
        if gap != _gap(new, first):
            return _trimmed(_between(old, 0, 0, offset), _between(new, 0, 0, offset), start)
        # All that differs is inside of one part, whose first line counts from what stands ahead of it.
        start, offset = start + ahead, gap + (0 if first else offset)
        old, new = old.parts[first][1], new.parts[first][1]
    return None


def _between(run: Run, ahead: int, after: int, offset: int) -> tuple[int, ...]:
    """The run's numbers without so many at its ends, the first of all counted from `offset` lines before."""
    numbers = run.numbers[ahead : len(run.numbers) - after]
    return numbers if ahead or not numbers else (numbers[0] + offset, *numbers[1:])


def _shared(old: Run, new: Run) -> tuple[int, int]:
    """How many parts the two begin with that are the same in both, and how many they end with."""
    most = min(len(old.parts), len(new.parts))
    first = 0
    while first < most and _is_as(old, new, first, first):
        first += 1
    behind = 0
    while behind < most - first and _is_as(
        old, new, len(old.parts) - 1 - behind, len(new.parts) - 1 - behind
    ):
        behind += 1
    return first, behind


def _is_as(old: Run, new: Run, index: int, other: int) -> bool:
    return old.parts[index][1] is new.parts[other][1] and _gap(old, index) == _gap(new, other)


def _gap(run: Run, index: int) -> int:
    """How many lines a part begins behind the last token of the part before it."""
    if not index:
        return run.parts[0][0]
    line, before = run.parts[index - 1]
    return run.parts[index][0] - line - before.last_line


def _trimmed(old: tuple[int, ...], new: tuple[int, ...], start: int) -> TokensEdit | None:
    """The edit from `old` to `new` without the tokens that both begin or end with."""
    most = min(len(old), len(new))
    same = 0
    while same + WIDTH <= most and old[same : same + WIDTH] == new[same : same + WIDTH]:
        same += WIDTH
    end = 0
    while end + WIDTH <= most - same and _ends(old, end) == _ends(new, end):
        end += WIDTH
    if same == len(old) == len(new):
        return None
    return TokensEdit(start + same, len(old) - end - same, new[same : len(new) - end])


def _ends(numbers: tuple[int, ...], end: int) -> tuple[int, ...]:
    return numbers[len(numbers) - end - WIDTH : len(numbers) - end]
