"""Which tag closes which, within chunks and across them.

The pairs of a piece, a chunk or a group of chunks, are matched once and kept with it; only
tags whose partner is elsewhere are looked at again from further up.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import Piece, chunks_from, united
from promptls.syntax.jinja.keywords import MIDDLES
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.slips import lacks_end, misspelt_opening
from promptls.syntax.problem import Related, SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.span import NOWHERE, Span

_CLOSERS: Final = {
    f"end{keyword}": keyword
    for keyword in ("for", "if", "macro", "call", "filter", "set", "with", "autoescape", "block", "raw")
}


_MOST_CHUNKS: Final = 50
"""How far behind a block that nothing closes the one is looked for that has taken its end."""

_FEW: Final = 20
"""Where more blocks than this are never closed, each is looked at in its own chunk alone."""


class BlockTag(NamedTuple):
    """A tag that opens, divides or closes a block; `place` is its index among the chunk's tags."""

    action: str
    keyword: str
    span: Span
    place: int


class Pair(NamedTuple):
    """A block inside one chunk, by the indexes of its tags."""

    keyword: str
    opening: int
    middles: tuple[int, ...]
    closing: int


class ChunkBlocks(NamedTuple):
    """The blocks inside a chunk, and the tags whose partner is elsewhere, in order."""

    pairs: tuple[Pair, ...]
    loose: tuple[BlockTag, ...]


@kept
def block_tags(chunk: Chunk) -> tuple[BlockTag, ...]:
    """The tags of the chunk that open, divide or close a block."""
    return tuple(_block_tags(chunk))


def _block_tags(chunk: Chunk) -> Iterator[BlockTag]:
    for index, tag in enumerate(chunk.tags):
        if tag.kind != "statement":
            continue
        statement = tag_tree(tag).statement
        keyword = statement.keyword
        span = statement.keyword_span.shifted(tag.span.start)
        if statement.opens_block:
            yield BlockTag("open", keyword, span, index)
        elif keyword in MIDDLES:
            yield BlockTag("middle", keyword, span, index)
        elif keyword in _CLOSERS:
            yield BlockTag("close", _CLOSERS[keyword], span, index)


@kept
def chunk_blocks(chunk: Chunk) -> ChunkBlocks:
    """The chunk's own blocks, and what it leaves open or closes of others."""
    pairs: list[Pair] = []
    loose = _match(block_tags(chunk), pairs)
    return ChunkBlocks(tuple(sorted(pairs, key=lambda pair: pair.opening)), loose)


def loose_tags(piece: Piece) -> tuple[BlockTag, ...]:
    """The tags of a piece whose partner is outside of it; spans count from the piece's start."""
    if isinstance(piece, Chunk):
        return chunk_blocks(piece).loose
    if not _loose_words(piece):
        return ()  # the tags inside move with every letter, and need not be placed to know this
    known = piece.kept.get(loose_tags)
    if known is None:
        placed = [
            tag._replace(span=tag.span.shifted(start))
            for start, child in zip(piece.starts, piece.children, strict=False)
            for tag in loose_tags(child)
        ]
        numbered = [tag._replace(place=number) for number, tag in enumerate(placed)]
        known = piece.kept[loose_tags] = _match(numbered, [])
    return known  # type: ignore[return-value]  # put there above


def _match(tags: Iterable[BlockTag], pairs: list[Pair]) -> tuple[BlockTag, ...]:
    """The tags that have no partner among the others, in order; `pairs` gets the blocks of those that do."""
    loose: list[BlockTag] = []
    stack: list[tuple[BlockTag, list[BlockTag]]] = []
    for tag in tags:
        if tag.action == "open":
            stack.append((tag, []))
        elif tag.action == "middle" and stack and _divides(tag, *stack[-1]):
            stack[-1][1].append(tag)
        elif tag.action == "close" and stack and stack[-1][0].keyword == tag.keyword:
            opening, middles = stack.pop()
            pairs.append(
                Pair(tag.keyword, opening.place, tuple(middle.place for middle in middles), tag.place)
            )
        else:
            for opening, middles in stack:
                loose += [opening, *middles]
            stack.clear()
            loose.append(tag)
    for opening, middles in stack:
        loose += [opening, *middles]
    loose.sort(key=lambda tag: tag.place)
    return tuple(loose)


def _words(tags: Iterable[BlockTag]) -> tuple[tuple[str, str], ...]:
    return tuple([(tag.action, tag.keyword) for tag in tags])


def _joined_words(pieces: list[tuple[tuple[str, str], ...]]) -> tuple[tuple[str, str], ...]:
    words = [word for piece in pieces for word in piece]
    return _words(_match([BlockTag(*word, NOWHERE, number) for number, word in enumerate(words)], []))


_loose_words: Final = united(lambda chunk: _words(chunk_blocks(chunk).loose), _joined_words, of_tags=True)
"""What the tags of a piece whose partner is outside of it do, and to which blocks, without their places."""


def _divides(middle: BlockTag, opening: BlockTag, before: list[BlockTag]) -> bool:
    """Whether the tag may divide the block, behind the tags that divide it already."""
    return opening.keyword in MIDDLES[middle.keyword] and not (before and before[-1].keyword == "else")


def block_problems(source: Source) -> list[SyntaxProblem]:
    """The blocks of the file that are never closed, closed by the wrong tag, or never opened."""
    problems: list[SyntaxProblem | None] = []
    stack: list[BlockTag] = []
    crossed: list[_Crossed] = []
    early: dict[BlockTag, int] = {}
    strays: list[_Crossed] = []
    slips: set[int] = set()
    for tag in loose_tags(source.root):
        if tag.action == "open":
            stack.append(tag)
        elif tag.action == "middle":
            problem = _divided(tag, stack[-1] if stack else None)
            if problem and _slip(source, tag, MIDDLES[tag.keyword], stack, slips) is None:
                problems.append(problem)
            elif not problem and tag.keyword == "else":
                stack[-1] = stack[-1]._replace(action="else")
        elif not (stack and stack[-1].keyword == tag.keyword) and (
            slip := _slip(source, tag, (tag.keyword,), stack, slips)
        ):
            slips.add(slip)
        elif any(opening.keyword == tag.keyword for opening in stack):
            while (opening := stack.pop()).keyword != tag.keyword:
                crossed.append(_Crossed(opening, tag, len(problems)))
                problems.append(_not_closed(opening, tag))
        elif late := _taken(crossed, lambda each: each.opening, tag):
            first = early.setdefault(late.closing, late.problem)
            problems[max(first, late.problem)] = None
            problems[min(first, late.problem)] = _in_wrong_order(late, tag)
        elif wrong := _taken(crossed, lambda each: each.closing, tag):
            problems[wrong.problem] = _wrong_end(wrong)
        else:
            strays += [_Crossed(opening, tag, len(problems)) for opening in stack[-1:]]
            message = f"`end{tag.keyword}` closes nothing: no `{tag.keyword}` is open here"
            problems.append(SyntaxProblem("jinja", tag.span, message))
    for opening in stack:
        stray = next((each for each in strays if each.opening.span == opening.span), None)
        if stray is not None:
            problems[stray.problem] = _wrong_end(stray)
        elif not lacks_end(source, opening.keyword, opening.span):
            problems.append(_never_closed(source, opening, _MOST_CHUNKS if len(stack) <= _FEW else 1))
    return [problem for problem in problems if problem is not None]


def _slip(
    source: Source, tag: BlockTag, keywords: Container[str], stack: list[BlockTag], taken: set[int]
) -> int | None:
    """The misspelt opening of the block that a tag divides or ends, inside of the innermost open block."""
    behind = stack[-1].span.start if stack else 0
    return misspelt_opening(source, keywords, tag.span.start, behind, taken)


def _divided(tag: BlockTag, inner: BlockTag | None) -> SyntaxProblem | None:
    """What is wrong with a tag that divides the innermost open block."""
    if inner is None or inner.keyword not in MIDDLES[tag.keyword]:
        return _stray_middle(tag, inner)
    return _behind_else(tag, inner) if inner.action == "else" else None


class _Crossed(NamedTuple):
    """A block that has another block's end tag, and the number of the problem that says so."""

    opening: BlockTag
    closing: BlockTag
    problem: int


def _taken(crossed: list[_Crossed], which: Callable[[_Crossed], BlockTag], tag: BlockTag) -> _Crossed | None:
    """The first of the crossed blocks with a tag of this keyword, taken out of them."""
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
    """The problem of two blocks that overlap: the one that opens last is to close first."""
    outer = crossed.closing.keyword
    message = f"`end{late.keyword}` stands behind `end{outer}`: expected it before, because this opens inside"
    related = (
        Related(crossed.closing.span, f"this closes `{outer}` around it"),
        Related(late.span, "this comes too late"),
    )
    return SyntaxProblem("jinja", crossed.opening.span, message, related)


def _wrong_end(crossed: _Crossed) -> SyntaxProblem:
    """The problem of an end tag with the name of the block around the one that it is to close."""
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


def _never_closed(source: Source, opening: BlockTag, most_chunks: int) -> SyntaxProblem | None:
    """The problem of a block that no tag closes.

    None where a tag that is still written has taken its end, or may turn out to be no block.

    Of two blocks of which only one is closed, the one is to blame that begins in the middle of a line, or
    further to the right than the end.
    """
    located = source.located(opening.span.start)
    inside = opening.span.start - located.start
    own = next(tag for tag in located.chunk.tags if tag.span.start <= inside < tag.span.end)
    if own.unclosed and opening.keyword == "set":
        return None  # with `=` in it, it will be no block
    lead = _lead(located.chunk, own.span.start)
    message = f"`{opening.keyword}` is never closed: expected `end{opening.keyword}`"
    for start, chunk, pair in _pairs_behind(source, opening, most_chunks):
        tag = chunk.tags[pair.opening]
        if tag.unclosed:
            return None
        end = chunk.tags[pair.closing].span
        lines = chunk.text[tag.span.end : end.start]
        behind = lines.split("\n", maxsplit=1)[0]
        is_below = "\n" in lines and _lead(chunk, end.start) == lead
        if is_below and (behind.strip() or _lead(chunk, tag.span.start) != lead):
            blamed = tag_tree(tag).statement.keyword_span.shifted(start + tag.span.start)
            return SyntaxProblem("jinja", blamed, message)
    return SyntaxProblem("jinja", opening.span, message)


def _pairs_behind(source: Source, opening: BlockTag, most_chunks: int) -> Iterator[tuple[int, Chunk, Pair]]:
    """The blocks of the same keyword behind the place that lie in one chunk each, with where that begins."""
    located = source.located(opening.span.start)
    for each in islice(chunks_from(source.root, located.index), most_chunks):
        for pair in chunk_blocks(each.chunk).pairs:
            place = each.start + each.chunk.tags[pair.opening].span.start
            if pair.keyword == opening.keyword and place >= opening.span.start:
                yield each.start, each.chunk, pair


def _lead(chunk: Chunk, offset: int) -> str:
    """What stands ahead of a place on its line."""
    return chunk.text[max(chunk.text.rfind("\n", 0, offset), chunk.text.rfind("\r", 0, offset)) + 1 : offset]
