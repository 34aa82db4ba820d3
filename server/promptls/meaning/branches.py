"""Which branch of which `if` a place stands in, so that two places can be told to exclude each other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.source import Source

BranchPath = tuple[tuple[int, int], ...]
"""The branches around a place, outermost first: each the number of its `if`, and its own."""


class Branches(NamedTuple):
    """The branch paths of a file: `paths[i]` holds from `offsets[i]` to the next offset.

    `repeats` says of each whether a loop, macro or call block is around as well.
    """

    offsets: tuple[int, ...]
    paths: tuple[BranchPath, ...]
    repeats: tuple[bool, ...]

    def at(self, offset: int) -> BranchPath:
        """The branches around the place at `offset`."""
        return self.paths[bisect_right(self.offsets, offset) - 1]

    def is_unconditional(self, offset: int) -> bool:
        """Whether rendering reaches the place whatever the data is."""
        index = bisect_right(self.offsets, offset) - 1
        return not self.paths[index] and not self.repeats[index]

    def exclude(self, first: int, second: int) -> bool:
        """Whether no rendering has both places."""
        known = dict(self.at(first))
        return any(known.get(block, branch) != branch for block, branch in self.at(second))


def branches_of(source: Source) -> Branches:
    """The branches of a file; blocks that are never closed reach to its end."""
    return _branches(zip(source.starts, source.chunks, strict=False))


def chunk_branches(chunk: Chunk) -> Branches:
    """The branches of a chunk by itself; its spans count from its start."""
    return _branches([(0, chunk)])


def _branches(chunks: Iterable[tuple[int, Chunk]]) -> Branches:
    offsets: list[int] = [0]
    paths: list[BranchPath] = [()]
    repeats: list[bool] = [False]
    stack: list[tuple[str, int, int]] = []
    number = 0
    for start, chunk in chunks:
        for tag in block_tags(chunk):
            if tag.action == "open":
                number += 1
                stack.append((tag.keyword, number, 0))
            elif tag.action == "middle" and stack:
                keyword, block, branch = stack[-1]
                stack[-1] = (keyword, block, branch + 1)
            elif tag.action == "close" and any(keyword == tag.keyword for keyword, _, _ in stack):
                while stack.pop()[0] != tag.keyword:
                    pass
            offsets.append(start + tag.span.start)
            paths.append(tuple((block, branch) for keyword, block, branch in stack if keyword == "if"))
            repeats.append(any(keyword in {"for", "macro", "call", "block"} for keyword, _, _ in stack))
    return Branches(tuple(offsets), tuple(paths), tuple(repeats))
