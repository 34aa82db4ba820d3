"""The mapping from a rendered text to its templates, and back."""

from __future__ import annotations

import traceback
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, NamedTuple

from promptls.rendering.source_map.data_paths import DataPaths, chain_of, iterations_of, path_text
from promptls.rendering.source_map.mapped_text import MappedText
from promptls.rendering.source_map.pieces import Iteration, Leaf, leaves_of
from promptls.text.format import shorten
from promptls.text.positions import line_column, line_starts

_MAX_ITERATIONS: Final = 8
"""The maximum number of loop iterations listed; a recursive loop can have hundreds."""


def describe_iterations(iterations: Sequence[Iteration]) -> tuple[str, ...]:
    """Describe iterations, outermost first; if there are very many, only those at both ends."""
    descriptions = tuple(
        [f"iteration {number} of `{file.sites[site].text}`" for _, file, site, number, _ in iterations]
    )
    if len(descriptions) <= _MAX_ITERATIONS:
        return descriptions
    return *descriptions[:2], f"… {len(descriptions) - 4} more …", *descriptions[-2:]


_new = tuple.__new__
"""Creates named tuples twice as fast."""


class Segment(NamedTuple):
    """Characters of a text produced by one location of a template in one evaluation."""

    start: int
    end: int
    path: str
    """The template file."""
    first: int
    last: int
    """The end of the span in the file: the same characters, or the tag that printed them."""
    verbatim: bool
    """Whether the file contains exactly this text there."""
    iterations: tuple[str, ...]
    """The loop iterations that it was produced in, such as ``iteration 3 of `for message in history` ``."""
    data_path: str | None
    """The paths of the printed data, such as `history[2].content`, separated by commas."""


class RenderedMap:
    """A rendered text with its source map. `data` must be the objects that the template used."""

    def __init__(self, text: MappedText, data: Mapping[str, Any], texts: Mapping[str, str]) -> None:
        """Map `text`, rendered from templates with `texts` by their paths."""
        self.text = str(text)
        self._mapped = text
        self._texts = texts
        self._paths = DataPaths(data)
        self._breaks: dict[str, list[int]] = {}
        self._iterations: dict[tuple[int, tuple[int, ...]], tuple[str, ...]] = {}

    @cached_property
    def leaves(self) -> list[Leaf]:
        """The leaves of the text, in order."""
        return leaves_of(self._mapped)

    def has_more_leaves(self, limit: float) -> bool:
        """Return whether the text has more leaves than `limit`."""
        pieces = self._mapped._promptls_pieces  # noqa: SLF001 - the name keeps templates from it
        # Each piece has one or more leaves; counting the pieces is faster than flattening them.
        return sum(bool(piece[0]) for piece in pieces) > limit or len(self.leaves) > limit

    @cached_property
    def starts(self) -> list[int]:
        """The start of each leaf."""
        return [0, *accumulate(len(leaf.text) for leaf in self.leaves)][:-1]

    @cached_property
    def segments(self) -> list[Segment]:
        """The segments of the text, in order, one for each leaf."""
        found: list[Segment] = []
        at = 0
        known: object = None
        path, is_doubled = "", False
        for leaf in self.leaves:
            text, file, first, last, _, _, is_text, site, _ = leaf
            if file is not known:
                known, path = file, file.path if file else ""
                is_doubled = self._has_doubled_breaks(path)
            if is_doubled:
                first, last = self.original(path, first), self.original(path, last)
            end = at + len(text)
            data_path = None if site is None else ", ".join(map(path_text, self._paths.of(leaf))) or None
            iterations = self.iterations(leaf)
            found.append(_new(Segment, (at, end, path, first, last, is_text, iterations, data_path)))
            at = end
        return found

    def index(self, offset: int) -> int:
        """Return the index of the leaf at `offset`; -1 for a text without leaves."""
        return bisect_right(self.starts, offset) - 1

    def printed_with(self, index: int) -> tuple[int, int]:
        """Return the range of leaves around `index` that one tag printed together: first and end."""
        leaves, leaf = self.leaves, self.leaves[index]
        first, stop = index, index + 1
        while first > 0 and _is_of_one_tag(leaves[first - 1], leaf):
            first -= 1
        while stop < len(leaves) and _is_of_one_tag(leaves[stop], leaf):
            stop += 1
        return first, stop

    def between(self, start: int, end: int) -> Iterator[Segment]:
        """Yield the segments from `start` to `end`, clipped to that range."""
        segments = self.segments
        for index in range(max(self.index(start), 0), len(segments)):
            segment = segments[index]
            first, last = segment[0], segment[1]
            if first >= end:
                break
            if start <= first and last <= end:
                yield segment
            elif last > start:
                yield self._cut(index, max(start, first), min(end, last))

    def _cut(self, index: int, start: int, end: int) -> Segment:
        """Return the segment of a leaf's characters from `start` to `end` of the text."""
        segment = self.segments[index]
        path, first, last, verbatim, iterations, data_path = segment[2:]
        if verbatim:
            begin = self.leaves[index].start - segment.start
            first, last = self.original(path, begin + start), self.original(path, begin + end)
        return Segment(start, end, path, first, last, verbatim, iterations, data_path)

    def original(self, path: str, offset: int) -> int:
        r"""Return the offset in the file for one in Jinja's text, where a line break is `\n`."""
        if not self._has_doubled_breaks(path):
            return offset
        return offset + bisect_right(self._breaks[path], offset - 1)

    def places(self, path: str, offset: int) -> list[Segment]:
        """Return the segments made by the character at `offset` of a file: one per loop iteration."""
        return [
            segment
            for segment in self.segments
            if segment.path == path and segment.first <= offset < segment.last
        ]

    def line(self, path: str, offset: int) -> int:
        """Return the 0-based line of an offset in the text of a file as Jinja reads it."""
        text = self._texts.get(path, "")
        return line_column(line_starts(text), self.original(path, offset)).line

    def iterations(self, leaf: Leaf) -> tuple[str, ...]:
        """Return descriptions of the iterations that produced a leaf."""
        if leaf.iteration is None and not leaf.outer:
            return ()
        key = id(leaf.iteration), tuple([id(outer.iteration) for outer in leaf.outer])
        found = self._iterations.get(key)
        if found is None:
            found = self._iterations[key] = describe_iterations(iterations_of(leaf))
        return found

    def _has_doubled_breaks(self, path: str) -> bool:
        breaks = self._breaks.get(path)
        if breaks is None:
            breaks = self._breaks[path] = _doubled_breaks(self._texts.get(path, ""))
        return bool(breaks)


def _is_of_one_tag(one: Leaf, other: Leaf) -> bool:
    return (
        one.file is other.file
        and (one.start, one.end) == (other.start, other.end)
        and not (one.is_text or other.is_text)
        and one.iteration is other.iteration
        and len(one.outer) == len(other.outer)
        and all(
            a.iteration is b.iteration and a.site == b.site
            for a, b in zip(one.outer, other.outer, strict=True)
        )
    )


def _doubled_breaks(text: str) -> list[int]:
    r"""Return the offset of each `\r\n` after all earlier ones were replaced by `\n`."""
    found: list[int] = []
    place = text.find("\r\n")
    while place >= 0:
        found.append(place - len(found))
        place = text.find("\r\n", place + 2)
    return found


def iterations_at(error: BaseException | None) -> list[Iteration]:
    """Return the loop iterations of templates in which `error` was raised, outermost first."""
    found: list[Iteration] = []
    for frame, _ in traceback.walk_tb(error.__traceback__ if error else None):
        if "__jinja_template__" in frame.f_globals:
            found += chain_of(frame.f_locals.get("iteration"))
    return found


def line_outside(error: BaseException | None, path: str) -> int | None:
    """Return the 0-based line of the file at `path` that was running when a different file failed."""
    for frame, line in traceback.walk_tb(error.__traceback__ if error else None):
        template = frame.f_globals.get("__jinja_template__")
        if template is not None and template.filename == path:
            line_number: int = template.get_corresponding_lineno(line)
            return line_number - 1
    return None


def describe_item(iteration: Iteration) -> str:
    """Return what the loop of an iteration has bound, shortened: `message` is {'role': 'user', …}."""
    _, file, site, _, item = iteration
    pairs = list(_bound(file.sites[site].targets, item))
    return " and ".join(f"`{name}` is {shorten(value)}" for name, value in pairs)


def _bound(targets: Any, item: Any) -> list[tuple[str, Any]]:
    if isinstance(targets, str):
        return [(targets, item)]
    if isinstance(targets, tuple) and isinstance(item, tuple):
        return [pair for target, each in zip(targets, item, strict=False) for pair in _bound(target, each)]
    return []
