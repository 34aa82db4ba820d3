"""Find blocks that are never closed, closed by the wrong tag, or never opened."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import BlockTag, Pair, chunk_blocks, loose_tags
from promptls.syntax.jinja.keywords import KEYWORDS, MIDDLES
from promptls.syntax.jinja.problems import meant_tag, tag_tree
from promptls.syntax.problem import Related, SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.positions import Span

_MAX_CHUNKS: Final = 8
"""How many chunks are searched for the missing tag of a block; such tags are close to it."""


def misspelt_opening(
    source: Source, keywords: Container[str], end: int, after: int, taken: Container[int]
) -> int | None:
    """Return the offset of the unknown tag that is a misspelled opening of a block of these `keywords`.

    It is shortly before the offset `end`, not before `after`, and not one of `taken`.
    """
    offset = end
    for _ in range(_MAX_CHUNKS):
        located = source.located(offset)
        found = [
            located.start + place
            for place, word in _unknown(located.chunk)
            if after <= located.start + place < end
            and located.start + place not in taken
            and meant_tag(word) in keywords
        ]
        if found:
            return found[-1]
        if located.start <= after:
            return None
        offset = located.start - 1
    return None


def lacks_end(source: Source, keyword: str, opening: Span, before: int | None = None) -> bool:
    """Return whether an unknown tag shortly after a block's opening is its misspelled end."""
    offset = opening.start
    for _ in range(_MAX_CHUNKS):
        located = source.located(offset)
        after = opening.start - located.start
        for place, word in _unknown(located.chunk):
            if before is not None and located.start + place >= before:
                return False
            if place > after and (word == "end" or meant_tag(word) == f"end{keyword}"):
                return True
        offset = located.start + len(located.chunk.text)
        if offset >= len(source):
            return False
    return False


@chunk_fact
def _unknown(chunk: Chunk) -> tuple[tuple[int, str], ...]:
    """Return the offset and keyword of each tag of a chunk that Jinja does not know."""
    found = []
    for tag in chunk.tags:
        if tag.kind == "statement" and not tag.unclosed:
            keyword = tag_tree(tag).statement.keyword
            if keyword and keyword not in KEYWORDS:
                found.append((tag.span.start, keyword))
    return tuple(found)


_MAX_CLOSING_CHUNKS: Final = 50
"""How many chunks after an unclosed block are searched for the one that has taken its end."""

_FEW: Final = 20
"""If more blocks than this are never closed, each is examined in its own chunk only."""


def block_problems(source: Source) -> list[SyntaxProblem]:
    """Return the blocks of the file that are never closed, closed by the wrong tag, or never opened.

    A misspelled tag that opens or ends a block is reported itself, and its partner is not.
    """
    matching = _Matching(source)
    for tag in loose_tags(source.root):
        if tag.action == "open":
            matching.stack.append(tag)
        elif tag.action == "middle":
            matching.divide(tag)
        else:
            matching.close(tag)
    matching.end()
    return [problem for problem in matching.problems if problem is not None]


class _Crossed(NamedTuple):
    """A block with the end tag of a different block, and the index of its problem."""

    opening: BlockTag
    closing: BlockTag
    problem: int


@dataclass(slots=True)
class _Matching:
    """Matches the tags without a partner in their piece; `typos` are misspelled openings."""

    source: Source
    problems: list[SyntaxProblem | None] = field(default_factory=list)
    stack: list[BlockTag] = field(default_factory=list)
    crossed: list[_Crossed] = field(default_factory=list)
    early: dict[BlockTag, int] = field(default_factory=dict)
    strays: list[_Crossed] = field(default_factory=list)
    typos: set[int] = field(default_factory=set)

    def divide(self, tag: BlockTag) -> None:
        """Process a tag that divides the innermost block, and record an `else`."""
        problem = _divided(tag, self.stack[-1] if self.stack else None)
        if problem is None:
            if tag.keyword == "else":
                self.stack[-1] = self.stack[-1]._replace(action="else")
        elif self._typo(tag, MIDDLES[tag.keyword]) is None:
            self.problems.append(problem)

    def close(self, tag: BlockTag) -> None:
        """Process a tag that ends a block."""
        if self.stack and self.stack[-1].keyword == tag.keyword:
            self.stack.pop()
        elif (typo := self._typo(tag, (tag.keyword,))) is not None:
            self.typos.add(typo)
        elif any(opening.keyword == tag.keyword for opening in self.stack):
            while (opening := self.stack.pop()).keyword != tag.keyword:
                if not lacks_end(self.source, opening.keyword, opening.span, tag.span.start):
                    self.crossed.append(_Crossed(opening, tag, len(self.problems)))
                    self.problems.append(_not_closed(opening, tag))
        elif late := _take_crossed(self.crossed, lambda each: each.opening, tag):
            first = self.early.setdefault(late.closing, late.problem)
            self.problems[max(first, late.problem)] = None
            self.problems[min(first, late.problem)] = _in_wrong_order(late, tag)
        elif wrong := _take_crossed(self.crossed, lambda each: each.closing, tag):
            self.problems[wrong.problem] = _wrong_end(wrong)
        else:
            self.strays += [_Crossed(opening, tag, len(self.problems)) for opening in self.stack[-1:]]
            message = f"`end{tag.keyword}` closes nothing: no `{tag.keyword}` is open here"
            self.problems.append(SyntaxProblem("jinja", tag.span, message))

    def end(self) -> None:
        """Report all open blocks as never closed."""
        for opening in self.stack:
            stray = next((each for each in self.strays if each.opening.span == opening.span), None)
            if stray is not None:
                self.problems[stray.problem] = _wrong_end(stray)
            elif not lacks_end(self.source, opening.keyword, opening.span):
                max_chunks = _MAX_CLOSING_CHUNKS if len(self.stack) <= _FEW else 1
                self.problems.append(_never_closed(self.source, opening, max_chunks))

    def _typo(self, tag: BlockTag, keywords: Container[str]) -> int | None:
        """Return the offset of the misspelled opening of the tag's block, inside the innermost open block."""
        after = self.stack[-1].span.start if self.stack else 0
        return misspelt_opening(self.source, keywords, tag.span.start, after, self.typos)


def _divided(tag: BlockTag, inner: BlockTag | None) -> SyntaxProblem | None:
    """Return the problem of a tag that divides the innermost open block."""
    if inner is None or inner.keyword not in MIDDLES[tag.keyword]:
        return _stray_middle(tag, inner)
    return _behind_else(tag, inner) if inner.action == "else" else None


def _take_crossed(
    crossed: list[_Crossed], which: Callable[[_Crossed], BlockTag], tag: BlockTag
) -> _Crossed | None:
    """Remove and return the first of the crossed blocks with a tag of this keyword."""
    found = next((each for each in crossed if which(each).keyword == tag.keyword), None)
    if found is not None:
        crossed.remove(found)
    return found


def _not_closed(opening: BlockTag, closing: BlockTag) -> SyntaxProblem:
    expected = f"expected `end{opening.keyword}`"
    message = f"`{opening.keyword}` is not closed: {expected} before `end{closing.keyword}`"
    related = Related(closing.span, f"{expected} before this")
    return SyntaxProblem("jinja", opening.span, message, (related,))


def _in_wrong_order(crossed: _Crossed, late: BlockTag) -> SyntaxProblem:
    """Return the problem of two overlapping blocks: the one that opens last must close first."""
    outer = crossed.closing.keyword
    message = f"`end{late.keyword}` stands behind `end{outer}`: expected it before, because this opens inside"
    related = (
        Related(crossed.closing.span, f"this closes `{outer}` around it"),
        Related(late.span, "this comes too late"),
    )
    return SyntaxProblem("jinja", crossed.opening.span, message, related)


def _wrong_end(crossed: _Crossed) -> SyntaxProblem:
    """Return the problem of an end tag whose name is that of an outer block."""
    opening, closing = crossed.opening, crossed.closing
    message = f"expected `end{opening.keyword}` instead of `end{closing.keyword}`"
    related = Related(opening.span, f"this `{opening.keyword}` is open here")
    return SyntaxProblem("jinja", closing.span, message, (related,))


def _stray_middle(middle: BlockTag, inner: BlockTag | None) -> SyntaxProblem:
    owners = " or ".join(f"`{keyword}`" for keyword in MIDDLES[middle.keyword])
    if inner is None:
        return SyntaxProblem("jinja", middle.span, f"`{middle.keyword}` without an open {owners}")
    message = f"`{middle.keyword}` in a `{inner.keyword}` block: expected `end{inner.keyword}` first"
    return SyntaxProblem("jinja", middle.span, message, (Related(inner.span, "opened here"),))


def _behind_else(middle: BlockTag, opening: BlockTag) -> SyntaxProblem:
    message = f"`{middle.keyword}` behind `else`: expected `end{opening.keyword}`"
    return SyntaxProblem("jinja", middle.span, message, (Related(opening.span, "opened here"),))


def _never_closed(source: Source, opening: BlockTag, max_chunks: int) -> SyntaxProblem | None:
    """Return the problem of a block that no tag closes.

    None if an unfinished tag has taken its end, or may turn out not to be a block.

    If two blocks share one end tag, the one that is reported begins in the middle of a line, or further
    to the right than the end tag.
    """
    located = source.located(opening.span.start)
    inside = opening.span.start - located.start
    own = next(tag for tag in located.chunk.tags if tag.span.start <= inside < tag.span.end)
    if own.unclosed and opening.keyword == "set":
        return None  # with a `=` added, it will not be a block
    indent = _text_before(located.chunk, own.span.start)
    message = f"`{opening.keyword}` is never closed: expected `end{opening.keyword}`"
    for start, chunk, pair in _pairs_behind(source, opening, max_chunks):
        tag = chunk.tags[pair.opening]
        if tag.unclosed:
            return None
        end = chunk.tags[pair.closing].span
        lines = chunk.text[tag.span.end : end.start]
        after = lines.split("\n", maxsplit=1)[0]
        is_below = "\n" in lines and _text_before(chunk, end.start) == indent
        if is_below and (after.strip() or _text_before(chunk, tag.span.start) != indent):
            blamed = tag_tree(tag).statement.keyword_span.shifted(start + tag.span.start)
            return SyntaxProblem("jinja", blamed, message)
    return SyntaxProblem("jinja", opening.span, message)


def _pairs_behind(source: Source, opening: BlockTag, max_chunks: int) -> Iterator[tuple[int, Chunk, Pair]]:
    """Yield later blocks of the same keyword that are each inside one chunk, with their offsets."""
    located = source.located(opening.span.start)
    for each in islice(source.root.placed(located.index), max_chunks):
        for pair in chunk_blocks(each.chunk).pairs:
            place = each.start + each.chunk.tags[pair.opening].span.start
            if pair.keyword == opening.keyword and place >= opening.span.start:
                yield each.start, each.chunk, pair


def _text_before(chunk: Chunk, offset: int) -> str:
    """Return the text before an offset on its line."""
    return chunk.text[max(chunk.text.rfind("\n", 0, offset), chunk.text.rfind("\r", 0, offset)) + 1 : offset]
