"""The blocks of a file with all their tags, and those never closed, closed wrongly or never opened."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, ChunkList, chunk_fact
from promptls.syntax.facts import placed_fact, summary
from promptls.syntax.jinja.blocks import BlockTag, Pair, block_tags, chunk_blocks, loose_tags
from promptls.syntax.jinja.builtins import KEYWORDS, MIDDLES
from promptls.syntax.jinja.problems import keyword_of, meant_tag, statement_of, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.problem import Related, SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.format import in_code
from promptls.text.positions import Span, line_start


class FileBlock(NamedTuple):
    """A block: its keyword, and the spans of its tags, the first of which opens it.

    `keywords` are the spans of the keywords in these tags, `if`, `elif`, `endif`. An unclosed block has no
    closing tag.
    """

    keyword: str
    tags: tuple[Span, ...]
    keywords: tuple[Span, ...]
    is_closed: bool

    @property
    def span(self) -> Span:
        """From the start of the opening tag to the end of the last one."""
        return Span(self.tags[0].start, self.tags[-1].end)

    def with_tag(self, tag: Span, keyword: Span, *, is_closed: bool) -> FileBlock:
        """Return the block with another tag, which closes it or divides it."""
        return FileBlock(self.keyword, (*self.tags, tag), (*self.keywords, keyword), is_closed)

    def shifted(self, by: int) -> FileBlock:
        """Return the same block in a text that begins `by` characters earlier."""
        tags = tuple(span.shifted(by) for span in self.tags)
        return self._replace(tags=tags, keywords=tuple(span.shifted(by) for span in self.keywords))


@chunk_fact
def blocks_inside(chunk: Chunk) -> tuple[FileBlock, ...]:
    """Return the blocks that begin and end in one chunk, outer ones first; spans count from its start."""
    return tuple(
        FileBlock(
            pair.keyword,
            tuple(chunk.tags[index].span for index in (pair.opening, *pair.middles, pair.closing)),
            tuple(_keyword(chunk.tags[index]) for index in (pair.opening, *pair.middles, pair.closing)),
            is_closed=True,
        )
        for pair in chunk_blocks(chunk).pairs
    )


def _keyword(tag: Tag) -> Span:
    return tag_tree(tag).statement.keyword_span.shifted(tag.span.start)


def with_ends_of_blocks(chunk: Chunk, span: Span) -> Span:
    """Return the span extended by the closing tags after it of blocks that are opened in it.

    A YAML value ends with its last text; an `{% endif %}` after that is part of the value nevertheless.
    """
    blank = _blank_until(chunk, span.end)
    blocks = blocks_inside(chunk)
    first = bisect_left(blocks, span.start, key=attrgetter("span.start"))
    opened = blocks[first : bisect_left(blocks, span.end, lo=first, key=attrgetter("span.start"))]
    closed = [block.span.end for block in opened if span.end < block.span.end <= blank]
    return Span(span.start, max(closed, default=span.end))


def _blank_until(chunk: Chunk, start: int) -> int:
    """Return the end of the last tag that follows `start` with only tags and white space in between."""
    index = bisect_right(chunk.tags, start, key=lambda tag: tag.span.end)
    position = start
    for tag in chunk.tags[index:]:
        if chunk.text[position : max(tag.span.start, position)].strip():
            break
        position = tag.span.end
    return position


@placed_fact
def blocks_across(chunks: ChunkList) -> tuple[FileBlock, ...]:
    """Return the blocks that span several chunks, and those that are never closed, in order.

    A block that is open when a block around it is closed counts as never closed.
    """
    found: list[FileBlock] = []
    stack: list[FileBlock] = []
    for start, chunk in zip(chunks.starts, chunks.chunks, strict=False):
        for tag in chunk_blocks(chunk).loose:
            span, keyword = chunk.tags[tag.place].span.shifted(start), tag.span.shifted(start)
            if tag.action == "open":
                stack.append(FileBlock(tag.keyword, (span,), (keyword,), is_closed=False))
            elif tag.action == "middle":
                if stack and stack[-1].keyword in MIDDLES[tag.keyword]:
                    stack[-1] = stack[-1].with_tag(span, keyword, is_closed=False)
            elif any(opened.keyword == tag.keyword for opened in stack):
                while stack[-1].keyword != tag.keyword:
                    found.append(stack.pop())
                found.append(stack.pop().with_tag(span, keyword, is_closed=True))
    return tuple(sorted([*found, *stack], key=lambda block: block.tags))


def blocks_around(chunks: ChunkList, offset: int) -> tuple[FileBlock, ...]:
    """Return the blocks of `blocks_across` that contain `offset` or end there, in order."""
    return tuple(block for block in blocks_across(chunks) if block.span.touches(offset))


def block_at(source: Source, offset: int) -> FileBlock | None:
    """Return the block with a tag whose keyword is at `offset`."""
    located = source.located(offset)
    inside = offset - located.start
    if not any(tag.span.touches(inside) for tag in block_tags(located.chunk)):
        return None
    near = (block.shifted(located.start) for block in blocks_inside(located.chunk))
    for block in (*near, *blocks_around(source.root, offset)):
        if any(span.touches(offset) for span in block.keywords):
            return block
    return None


class BlockName(NamedTuple):
    """A `block` or `endblock` tag: its name, which an end tag may lack, and its span in the chunk."""

    opens: bool
    name: str
    span: Span


@chunk_fact
def block_names(chunk: Chunk) -> tuple[BlockName, ...]:
    """Return the `block` and `endblock` tags of the chunk, in order."""
    found = []
    for tag in chunk.tags:
        statement = statement_of(tag)
        if statement is not None and statement.keyword in {"block", "endblock"} and not tag.unclosed:
            span = statement.name_span if statement.name else statement.keyword_span
            found.append(
                BlockName(statement.keyword == "block", statement.name, span.shifted(tag.span.start))
            )
    return tuple(found)


@chunk_fact
def _filled_blocks(chunk: Chunk) -> tuple[tuple[Span, bool], ...]:
    """Return the names of the `required` blocks that are not empty, which Jinja rejects.

    With each, whether the block is blank up to the end of the chunk but not closed there: then any following
    chunk fills it.
    """
    found = []
    for index, tag in enumerate(chunk.tags):
        statement = statement_of(tag)
        if statement is None or statement.keyword != "block" or not statement.name or tag.unclosed:
            continue
        is_required = "required" in tag.text[statement.name_span.end : tag.inner_end].split()
        is_blank = _is_blank(chunk, index) if is_required else True
        if is_blank is not True:
            found.append((statement.name_span.shifted(tag.span.start), is_blank is None))
    return tuple(found)


def _is_blank(chunk: Chunk, number: int) -> bool | None:
    """Return whether there are only white space and comments between a tag and the end of its block.

    None if the chunk ends first.
    """
    for tag, following in pairwise(chunk.tags[number:]):
        if chunk.text[tag.span.end : following.span.start].strip():
            return False
        if keyword_of(following) == "endblock":
            return True
        if following.kind != "comment" and not (
            following.kind == "raw" and not chunk.slice(following.body).strip()
        ):
            return False
    return False if chunk.text[chunk.tags[-1].span.end :].strip() else None


has_blocks: Final = summary(lambda chunk: bool(block_names(chunk)), any)
"""Whether a piece has `block` tags."""


def named_block_problems(source: Source) -> Iterator[SyntaxProblem]:
    """Yield the problems of `block` tags: duplicate names, content in required blocks, wrong end names."""
    if not has_blocks(source.root):
        return
    first: dict[str, Span] = {}
    stack: list[BlockName] = []
    for located in source.root.where(has_blocks):
        for filled, is_open in _filled_blocks(located.chunk):
            if not is_open or located.start + located.chunk.length < len(source):
                message = "a `required` block contains only white space and comments: other templates fill it"
                yield SyntaxProblem("jinja", filled.shifted(located.start), message)
        for each in block_names(located.chunk):
            span = each.span.shifted(located.start)
            if not each.opens:
                opening = stack.pop() if stack else None
                if opening is not None and opening.name and each.name and opening.name != each.name:
                    related = Related(opening.span, "opened here")
                    message = f"this ends the block `{opening.name}`, not `{each.name}`"
                    expected = (opening.name,)
                    yield SyntaxProblem(
                        "jinja", span, message, (related,), kind="wrong-block-name", expected=expected
                    )
                continue
            stack.append(each._replace(span=span))
            if each.name and each.name in first:
                related = Related(first[each.name], "the first one")
                yield SyntaxProblem("jinja", span, f"the block `{each.name}` occurs twice", (related,))
            elif each.name:
                first[each.name] = span


_MAX_CHUNKS: Final = 8
"""How many chunks are searched for the missing tag of a block; such tags are close to it."""


def _misspelled_opening(
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


def _lacks_end(source: Source, keyword: str, opening: Span, before: int | None = None) -> bool:
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
        keyword = keyword_of(tag)
        if keyword and keyword not in KEYWORDS and not tag.unclosed:
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
        problem = _divide(tag, self.stack[-1] if self.stack else None)
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
                if not _lacks_end(self.source, opening.keyword, opening.span, tag.span.start):
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
            stray = SyntaxProblem("jinja", tag.span, message, kind="stray-end", expected=(tag.keyword,))
            self.problems.append(stray)

    def end(self) -> None:
        """Report all open blocks as never closed."""
        for opening in self.stack:
            stray = self._stray_in(opening)
            if stray is not None:
                self.strays.remove(stray)
                self.problems[stray.problem] = _wrong_end(stray)
            elif not _lacks_end(self.source, opening.keyword, opening.span):
                max_chunks = _MAX_CLOSING_CHUNKS if len(self.stack) <= _FEW else 1
                self.problems.append(_never_closed(self.source, opening, max_chunks))

    def _stray_in(self, opening: BlockTag) -> _Crossed | None:
        """Return an end tag with the wrong name in a block that is never closed.

        If it should end another block of the same keyword, that one has taken the end of this one.
        """
        same = (each for each in self.strays if each.opening.span == opening.span)
        inside = (
            each
            for each in self.strays
            if each.opening.keyword == opening.keyword and each.opening.span.start > opening.span.start
        )
        return next(same, None) or next(inside, None)

    def _typo(self, tag: BlockTag, keywords: Container[str]) -> int | None:
        """Return the offset of the misspelled opening of the tag's block, inside the innermost open block."""
        after = self.stack[-1].span.start if self.stack else 0
        return _misspelled_opening(self.source, keywords, tag.span.start, after, self.typos)


def _divide(tag: BlockTag, inner: BlockTag | None) -> SyntaxProblem | None:
    """Return the problem of a tag that divides the innermost open block."""
    if inner is None or inner.keyword not in MIDDLES[tag.keyword]:
        owners = tuple(MIDDLES[tag.keyword])
        if inner is None:
            message = f"`{tag.keyword}` without an open {in_code(owners, ' or ')}"
            return SyntaxProblem("jinja", tag.span, message, kind="stray-branch", expected=owners)
        end = f"end{inner.keyword}"
        message = f"`{tag.keyword}` in a `{inner.keyword}` block: expected `{end}` first"
        related = Related(inner.span, "opened here")
        return SyntaxProblem("jinja", tag.span, message, (related,), kind="misplaced-branch", expected=(end,))
    return _after_else(tag, inner) if inner.action == "else" else None


def _take_crossed(
    crossed: list[_Crossed], which: Callable[[_Crossed], BlockTag], tag: BlockTag
) -> _Crossed | None:
    """Remove and return the first of the crossed blocks with a tag of this keyword."""
    found = next((each for each in crossed if which(each).keyword == tag.keyword), None)
    if found is not None:
        crossed.remove(found)
    return found


def _not_closed(opening: BlockTag, closing: BlockTag) -> SyntaxProblem:
    end = f"end{opening.keyword}"
    message = f"`{opening.keyword}` is not closed: expected `{end}` before `end{closing.keyword}`"
    related = Related(closing.span, f"expected `{end}` before this")
    return SyntaxProblem("jinja", opening.span, message, (related,), kind="unclosed-block", expected=(end,))


def _in_wrong_order(crossed: _Crossed, late: BlockTag) -> SyntaxProblem:
    """Return the problem of two overlapping blocks: the one that opens last must close first."""
    outer = crossed.closing.keyword
    end = f"end{late.keyword}"
    message = f"expected `{end}` before `end{outer}`: that block opens inside of this one"
    related = (
        Related(crossed.closing.span, f"this closes `{outer}`"),
        Related(late.span, "this comes too late"),
    )
    return SyntaxProblem(
        "jinja", crossed.closing.span, message, related, kind="unordered-ends", expected=(end,)
    )


def _wrong_end(crossed: _Crossed) -> SyntaxProblem:
    """Return the problem of an end tag whose name is that of an outer block."""
    opening, closing = crossed.opening, crossed.closing
    end = f"end{opening.keyword}"
    message = f"expected `{end}` instead of `end{closing.keyword}`"
    related = Related(opening.span, f"this `{opening.keyword}` is open here")
    return SyntaxProblem("jinja", closing.span, message, (related,), kind="wrong-end", expected=(end,))


def _after_else(middle: BlockTag, opening: BlockTag) -> SyntaxProblem:
    end = f"end{opening.keyword}"
    message = f"`{middle.keyword}` after `else`: expected `{end}`"
    return SyntaxProblem(
        "jinja", middle.span, message, (Related(opening.span, "opened here"),), expected=(end,)
    )


def _never_closed(source: Source, opening: BlockTag, max_chunks: int) -> SyntaxProblem | None:
    """Return the problem of a block that no tag closes.

    None if an unfinished tag has taken its end, or may turn out not to be a block.

    If two blocks share one end tag, the one that is reported begins in the middle of a line, or further
    to the right than the end tag.
    """
    located = source.located(opening.span.start)
    own = located.tag_at(opening.span.start)
    assert own is not None
    if own.unclosed and opening.keyword == "set":
        return None  # with a `=` added, it will not be a block
    indent = _text_before(located.chunk, own.span.start)
    end = f"end{opening.keyword}"
    message = f"`{opening.keyword}` is never closed: expected `{end}`"
    problem = SyntaxProblem("jinja", opening.span, message, kind="unclosed-block", expected=(end,))
    for start, chunk, pair in _pairs_after(source, opening, max_chunks):
        tag = chunk.tags[pair.opening]
        if tag.unclosed:
            return None
        closing = chunk.tags[pair.closing].span
        lines = chunk.text[tag.span.end : closing.start]
        after = lines.split("\n", maxsplit=1)[0]
        is_below = "\n" in lines and _text_before(chunk, closing.start) == indent
        if is_below and (after.strip() or _text_before(chunk, tag.span.start) != indent):
            blamed = tag_tree(tag).statement.keyword_span.shifted(start + tag.span.start)
            return replace(problem, span=blamed)
    return problem


def _pairs_after(source: Source, opening: BlockTag, max_chunks: int) -> Iterator[tuple[int, Chunk, Pair]]:
    """Yield later blocks of the same keyword that are each inside one chunk, with their offsets."""
    located = source.located(opening.span.start)
    for each in islice(source.root.placed(located.index), max_chunks):
        for pair in chunk_blocks(each.chunk).pairs:
            place = each.start + each.chunk.tags[pair.opening].span.start
            if pair.keyword == opening.keyword and place >= opening.span.start:
                yield each.start, each.chunk, pair


def _text_before(chunk: Chunk, offset: int) -> str:
    return chunk.text[line_start(chunk.text, offset) : offset]
