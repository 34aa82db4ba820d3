"""Pieces of a rendered text, each with what printed it.

Compiled templates make pieces as bare tuples, because they make one for everything they print:

- `(text, file, start, turn)` for the template's own text, at `start` of the file;
- `(text, file, site, turn, value)` for what a site of the file printed: a `value`, or what other
  pieces made (a MappedText, or a piece that an included file yielded).

A turn is `(outer turn, file, site of the loop, number from 1, item)`, or None outside of loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

Turn: TypeAlias = tuple[Any, ...]
Piece: TypeAlias = tuple[Any, ...]
Expression: TypeAlias = Any
"""An expression as far as it reads data; see `data_paths`."""


class Site(NamedTuple):
    """A place of a template that prints what others make: an output, an include, a block, a loop."""

    kind: str
    start: int
    end: int
    words: str = ""
    """The text of a loop's tag, such as `for message in history`."""
    expression: Expression = None
    """What an output prints, or what a loop goes through."""
    targets: Any = None
    """What a loop binds: a name, or a tuple of targets."""


class FileNames(NamedTuple):
    """The names that a template file binds outside of loops."""

    aliases: dict[str, Expression]
    """Names that are set once, and what they stand for."""
    bound: frozenset[str]


class SourceFile:
    """A stretch of a template file that takes part in a rendering: all of it, or a group."""

    __slots__ = ("_sites", "names", "path", "spans", "start")

    def __init__(self, path: str, start: int, sites: Iterable[Any] = ()) -> None:
        """Refer to the stretch of the file at `path` that begins at offset `start`."""
        self.path = path
        self.start = start
        self.names = FileNames({}, frozenset())
        self.sites = tuple(Site(*site) for site in sites)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites, by their numbers."""
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
    """What printed a text that others had made: a site, in a turn of a loop."""

    file: SourceFile
    site: int
    turn: Turn | None


class Item(NamedTuple):
    """A value that a list has at an index."""

    at: int
    value: Any


UNSURE: Final = object()
"""The value of a leaf whose way nobody knows: it may come from anything that its tag reads."""


class Leaf(NamedTuple):
    """A text with one origin. `file` is None for what a filter puts in: it belongs to what prints it."""

    text: str
    file: SourceFile | None
    start: int
    end: int
    turn: Turn | None = None
    outer: tuple[Outer, ...] = ()
    """What printed the text, the outermost first, where that is not the origin itself."""
    is_text: bool = False
    """Whether the text is the template's own, character for character."""
    site: int | None = None
    """The site of the file that printed the value, if one did."""
    value: Any = None
    """The value, or the Item of the one that was read."""

    def cut(self, start: int, end: int) -> Leaf:
        """Return the leaf of a part of its text."""
        if start == 0 and end == len(self.text):
            return self
        if self.end - self.start == len(self.text) and self.site is None:
            return self._replace(text=self.text[start:end], start=self.start + start, end=self.start + end)
        return self._replace(text=self.text[start:end])

    def moved(self, by: int) -> Leaf:
        """Return the leaf of the same text further behind in the file."""
        return Leaf(self[0], self[1], self[2] + by, self[3] + by, *self[4:])

    def changed(self, text: str) -> Leaf:
        """Return the leaf of another text made of this one."""
        return self._replace(text=text, is_text=self.is_text and text == self.text)


class Deferred(NamedTuple):
    """A text whose pieces are made when somebody looks at them, which most never are."""

    text: str
    made: Callable[[], str]
    """Gives the same text with its pieces."""


def unsure(text: str) -> Leaf:
    """Return a text of unknown origin: it belongs to whatever prints it, and to all that is read there."""
    return Leaf(text, None, 0, 0, value=UNSURE)


def inserted(text: str) -> Leaf:
    """Return a text that stands at no place of a template: it belongs to whatever prints it."""
    return Leaf(text, None, 0, 0)
