"""Pieces of a rendered text, each with its origin.

Compiled templates create pieces as plain tuples for speed, one for everything they print:

- `(text, file, start, iteration)` for the template's own text, at `start` of the file;
- `(text, file, site, iteration, value)` for the output of a site of the file: a `value`, or a container
 of
  other pieces (a MappedText, or a piece that an included file yielded).

An iteration of a loop: `(outer iteration, file, site of the loop, number from 1, item)`, or None outside of
loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

Iteration: TypeAlias = tuple[Any, ...]
Piece: TypeAlias = tuple[Any, ...]
Expression: TypeAlias = Any
"""The data that an expression reads; see `expressions`."""


class Site(NamedTuple):
    """A location in a template that prints values or pieces: an output, an include, a block or a loop."""

    kind: str
    start: int
    end: int
    text: str = ""
    """The text of a loop's tag, such as `for message in history`."""
    expression: Expression = None
    """The expression that an output prints, or that a loop iterates over."""
    targets: Any = None
    """The targets of a loop: a name, or a tuple of targets."""


class BoundNames(NamedTuple):
    """The names that a template file binds outside of loops."""

    aliases: dict[str, Expression]
    """Names that are set once, and their expressions."""
    bound: frozenset[str]


class SourceFile:
    """A section of a template file used in a rendering: all of it, or a group."""

    __slots__ = ("names", "path", "sites", "spans", "start")

    def __init__(self, path: str, start: int) -> None:
        """Refer to the section of the file at `path` that begins at offset `start`."""
        self.path = path
        self.start = start
        self.names = BoundNames({}, frozenset())
        self.set_sites(())

    def set_sites(self, sites: Iterable[Site]) -> None:
        """Set the sites, by their ids."""
        self.sites = tuple(sites)
        self.spans = [(self.start + site.start, self.start + site.end) for site in self.sites]
        """The spans of the sites in the file."""


class Outer(NamedTuple):
    """An outer origin of a text made elsewhere: the site that printed it, in a loop iteration."""

    file: SourceFile
    site: int
    iteration: Iteration | None


class ListItem(NamedTuple):
    """A value at an index of a list."""

    at: int
    value: Any


UNTRACED: Final = object()
"""The value of a leaf of unknown origin: it may come from anything that its tag reads."""


class Leaf(NamedTuple):
    """A text with one origin. `file` is None for text that a filter inserts."""

    text: str
    file: SourceFile | None
    start: int
    end: int
    iteration: Iteration | None = None
    outer: tuple[Outer, ...] = ()
    """The sites that printed the text, outermost first, if they are not the origin itself."""
    is_text: bool = False
    """Whether the text is the template's own, character for character."""
    site: int | None = None
    """The site of the file that printed the value, if any."""
    value: Any = None
    """The value, or the Item that was read."""

    def cut(self, start: int, end: int) -> Leaf:
        """Return the leaf for a part of its text."""
        if start == 0 and end == len(self.text):
            return self
        if self.end - self.start == len(self.text) and self.site is None:
            return self._replace(text=self.text[start:end], start=self.start + start, end=self.start + end)
        return self._replace(text=self.text[start:end])

    def moved(self, by: int) -> Leaf:
        """Return the leaf of the same text at a later offset in the file."""
        return Leaf(self[0], self[1], self[2] + by, self[3] + by, *self[4:])

    def changed(self, text: str) -> Leaf:
        """Return the leaf of a text derived from this one."""
        return self._replace(text=text, is_text=self.is_text and text == self.text)


class Deferred(NamedTuple):
    """A text whose pieces are created on demand, which is rare."""

    text: str
    made: Callable[[], str]
    """Returns the same text with its pieces."""


def untraced_leaf(text: str) -> Leaf:
    """Return a leaf of unknown origin, attributed to the tag that prints it and everything that tag reads."""
    return Leaf(text, None, 0, 0, value=UNTRACED)


def inserted_leaf(text: str) -> Leaf:
    """Return a leaf that is not in any template, attributed to the tag that prints it."""
    return Leaf(text, None, 0, 0)


class PiecedText(str):
    """A text with its pieces, which are converted to leaves on demand."""

    __slots__ = ("_promptls_pieces",)

    _promptls_pieces: list[Any]


def leaves_of(text: str) -> list[Leaf]:
    """Return the leaves of a text, in order: each has one origin, and together they cover the text."""
    if not isinstance(text, PiecedText):
        return [inserted_leaf(str(text))] if text else []
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
                text, file, start, iteration = piece
                start += file.start
                found.append(
                    _new(Leaf, (text, file, start, start + len(text), iteration, outer, True, None, None))
                )
            else:
                text, file, site, iteration, value = piece
                if issubclass(type(value), PiecedText):
                    around = (*outer, Outer(file, site, iteration))
                    waiting.append((iter(value._promptls_pieces), around))  # noqa: SLF001 - as above
                    break
                if type(value) is tuple and file.sites[site].kind in _PASSES_ON:
                    waiting.append((iter((value,)), (*outer, Outer(file, site, iteration))))
                    break
                first, last = file.spans[site]
                leaf = _new(Leaf, (text, file, first, last, iteration, (), False, site, value))
                found.append(within(leaf, outer) if outer else leaf)
        else:
            waiting.pop()
    return found


def _inside(piece: Any) -> list[Any]:
    """Return the pieces inside a piece that is not a plain tuple."""
    if type(piece) is Deferred:
        made = piece.made()
        return leaves_of(made) if made == piece.text else [untraced_leaf(piece.text)]
    return piece._promptls_pieces if isinstance(piece, PiecedText) else piece  # noqa: SLF001 - as above


def within(leaf: Leaf, outer: tuple[Outer, ...]) -> Leaf:
    """Return the leaf as part of the output of `outer`."""
    if not outer:
        return leaf
    file, site, iteration = outer[-1]
    first, last = file.spans[site]
    if leaf.file is not None:
        if (
            not leaf.outer
            and leaf.iteration is iteration
            and leaf.file is file
            and (leaf.start, leaf.end) == (first, last)
        ):
            # The tag that reads the value also prints it.
            outer = outer[:-1]
        return leaf._replace(outer=outer + leaf.outer) if outer else leaf
    # Text of unknown origin is attributed to everything that the tag reads.
    known = None if leaf.value is None else site
    return _new(Leaf, (leaf.text, file, first, last, iteration, outer[:-1], False, known, leaf.value))


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
