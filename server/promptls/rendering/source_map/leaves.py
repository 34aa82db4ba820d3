"""The leaves of texts with pieces: contiguous stretches of text with one origin each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from promptls.rendering.source_map.pieces import Deferred, Leaf, Outer, inserted, unsure


class PiecedText(str):
    """A text with its pieces, which are converted to leaves on demand."""

    __slots__ = ("_promptls_pieces",)

    _promptls_pieces: list[Any]


def leaves_of(text: str) -> list[Leaf]:
    """Return the leaves of a text, in order: each has one origin, and together they cover the text."""
    if not isinstance(text, PiecedText):
        return [inserted(str(text))] if text else []
    found = _flat(text._promptls_pieces)  # noqa: SLF001 - the name prevents access by templates
    text._promptls_pieces = found  # noqa: SLF001 - as above
    return found


def _flat(pieces: Iterable[Any]) -> list[Leaf]:
    """Flatten pieces into leaves."""
    found: list[Leaf] = []
    waiting: list[tuple[Iterator[Any], tuple[Outer, ...]]] = [(iter(pieces), ())]
    while waiting:
        inner, outer = waiting[-1]
        for piece in inner:
            kind = type(piece)
            if kind is Leaf:
                if piece.text:
                    found.append(within(piece, outer) if outer else piece)
            elif kind is not tuple:
                waiting.append((iter(_inside(piece)), outer))
                break
            elif not piece[0]:
                continue
            elif len(piece) == 4:  # noqa: PLR2004 - the two forms of pieces
                text, file, start, turn = piece
                start += file.start
                found.append(
                    _new(Leaf, (text, file, start, start + len(text), turn, outer, True, None, None))
                )
            else:
                text, file, site, turn, value = piece
                if issubclass(type(value), PiecedText):
                    around = (*outer, Outer(file, site, turn))
                    waiting.append((iter(value._promptls_pieces), around))  # noqa: SLF001 - as above
                    break
                if type(value) is tuple and file.sites[site].kind in _PASSES_ON:
                    waiting.append((iter((value,)), (*outer, Outer(file, site, turn))))
                    break
                first, last = file.spans[site]
                leaf = _new(Leaf, (text, file, first, last, turn, (), False, site, value))
                found.append(within(leaf, outer) if outer else leaf)
        else:
            waiting.pop()
    return found


def _inside(piece: Any) -> list[Any]:
    """Return the pieces inside a piece that is not a plain tuple."""
    if type(piece) is Deferred:
        made = piece.made()
        return leaves_of(made) if made == piece.text else [unsure(piece.text)]
    return piece._promptls_pieces if isinstance(piece, PiecedText) else piece  # noqa: SLF001 - as above


def within(leaf: Leaf, outer: tuple[Outer, ...]) -> Leaf:
    """Return the leaf as part of the output of `outer`."""
    if not outer:
        return leaf
    file, site, turn = outer[-1]
    first, last = file.spans[site]
    if leaf.file is not None:
        if (
            not leaf.outer
            and leaf.turn is turn
            and leaf.file is file
            and (leaf.start, leaf.end) == (first, last)
        ):
            # The tag that reads the value also prints it.
            outer = outer[:-1]
        return leaf._replace(outer=outer + leaf.outer) if outer else leaf
    # Text of unknown origin is attributed to everything that the tag reads.
    known = None if leaf.value is None else site
    return _new(Leaf, (leaf.text, file, first, last, turn, outer[:-1], False, known, leaf.value))


_new = tuple.__new__
"""Creates named tuples twice as fast; a large text has hundreds of thousands of them."""
_PASSES_ON: Final = frozenset({"include", "block"})
"""Sites whose values are pieces."""


def between(leaves: list[Leaf], bounds: list[int]) -> Iterator[list[Leaf]]:
    """Yield the leaves between each two adjacent bounds, which cover the text from start to end."""
    number = at = 0
    for start, end in pairwise(bounds):
        found: list[Leaf] = []
        while number < len(leaves) and at < end:
            leaf = leaves[number]
            last = at + len(leaf.text)
            found.append(leaf.cut(max(start - at, 0), min(end - at, len(leaf.text))))
            if last > end:
                break
            number, at = number + 1, last
        yield [leaf for leaf in found if leaf.text]


def in_place_of(old: list[Leaf], new: str) -> list[Leaf]:
    """Return the leaves of a text that replaces the `old` ones."""
    if isinstance(new, PiecedText):
        return leaves_of(new)
    first = old[0]
    if all(leaf.file is first.file and leaf.site is None and leaf.file is not None for leaf in old):
        return [first._replace(text=str(new), end=max(first.end, old[-1].end), is_text=False)]
    return [first._replace(text=str(new), is_text=False)]
