"""Pieces of a rendered text, each with its origin.

Compiled templates create pieces as plain tuples for speed, one for everything they print:

- `(text, file, start, turn)` for the template's own text, at `start` of the file;
- `(text, file, site, turn, value)` for the output of a site of the file: a `value`, or a container
 of
  other pieces (a MappedText, or a piece that an included file yielded).

A turn is a loop iteration: `(outer turn, file, site of the loop, number from 1, item)`, or None outside of
loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

Turn: TypeAlias = tuple[Any, ...]
Piece: TypeAlias = tuple[Any, ...]
Expression: TypeAlias = Any
"""The data that an expression reads; see `expressions`."""


class Site(NamedTuple):
    """A location in a template that prints values or pieces: an output, an include, a block or a loop."""

    kind: str
    start: int
    end: int
    words: str = ""
    """The text of a loop's tag, such as `for message in history`."""
    expression: Expression = None
    """The expression that an output prints, or that a loop iterates over."""
    targets: Any = None
    """The targets of a loop: a name, or a tuple of targets."""


class FileNames(NamedTuple):
    """The names that a template file binds outside of loops."""

    aliases: dict[str, Expression]
    """Names that are set once, and their expressions."""
    bound: frozenset[str]


class SourceFile:
    """A section of a template file used in a rendering: all of it, or a group."""

    __slots__ = ("_sites", "names", "path", "spans", "start")

    def __init__(self, path: str, start: int, sites: Iterable[Any] = ()) -> None:
        """Refer to the section of the file at `path` that begins at offset `start`."""
        self.path = path
        self.start = start
        self.names = FileNames({}, frozenset())
        self.sites = tuple(Site(*site) for site in sites)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites, by their ids."""
        return self._sites

    @sites.setter
    def sites(self, sites: tuple[Site, ...]) -> None:
        self._sites = sites
        self.spans = [(self.start + site.start, self.start + site.end) for site in sites]
        """The spans of the sites in the file."""

    def span(self, site: int) -> tuple[int, int]:
        """Return the span of a site in the file."""
        return self.spans[site]


class Outer(NamedTuple):
    """An outer origin of a text made elsewhere: the site that printed it, in a loop iteration."""

    file: SourceFile
    site: int
    turn: Turn | None


class Item(NamedTuple):
    """A value at an index of a list."""

    at: int
    value: Any


UNSURE: Final = object()
"""The value of a leaf of unknown origin: it may come from anything that its tag reads."""


class Leaf(NamedTuple):
    """A text with one origin. `file` is None for text that a filter inserts."""

    text: str
    file: SourceFile | None
    start: int
    end: int
    turn: Turn | None = None
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


def unsure(text: str) -> Leaf:
    """Return a leaf of unknown origin, attributed to the tag that prints it and everything that tag reads."""
    return Leaf(text, None, 0, 0, value=UNSURE)


def inserted(text: str) -> Leaf:
    """Return a leaf that is not in any template, attributed to the tag that prints it."""
    return Leaf(text, None, 0, 0)
