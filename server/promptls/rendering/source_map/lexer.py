"""Lexing before compilation: tags with their positions, and groups of tags that are compiled separately."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, Final, NamedTuple

from jinja2 import TemplateSyntaxError, nodes
from jinja2.lexer import Lexer, newline_re

from promptls.rendering.source_map.pieces import Site, SourceFile


class PlacedLine(int):
    """A line number, from 1, that also records the span of its tag or text."""

    span: list[int]
    """The start and end offsets in the text as Jinja reads it."""


_BEGINS: Final = frozenset({"variable_begin", "block_begin"})
_ENDS: Final = frozenset({"variable_end", "block_end"})


class PlacedLexer(Lexer):
    """The lexer of Jinja, whose line numbers are PlacedLines."""

    def tokeniter(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield Jinja's tokens, each with a line number that records its position."""
        text = "\n".join(newline_re.split(source)[::2])
        at = 0
        line = _placed(1, 0, 0)
        in_tag = False
        for line_number, token, value in super().tokeniter(source, name, filename, state):
            # Only white space removed by a `-` can occur between two tokens.
            start = text.find(value, at)
            at = start + len(value)
            if token in _BEGINS or not in_tag:
                line = _placed(line_number, start, at)
                in_tag = token in _BEGINS
            elif line != line_number:
                span, line = line.span, PlacedLine(line_number)
                line.span = span
            if token in _ENDS:
                stripped = len(value.rstrip())
                line.span[1] = start + stripped
                in_tag = False
            yield line, token, value


def _placed(line_number: int, start: int, end: int) -> PlacedLine:
    line = PlacedLine(line_number)
    line.span = [start, end]
    return line


class Sites:
    """The table of sites in a template's compiled code; see `pieces.Site`."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        """The sites, by their ids."""
        self.printing: int | None = None
        """The site that currently printed pieces are attributed to."""

    def add(
        self, kind: str, node: nodes.Node, text: str = "", expression: Any = None, targets: Any = None
    ) -> int:
        """Add a site at the position of the node, and return its id."""
        start, end = span_of(node)
        self.rows.append((kind, start, end, text, expression, targets))
        return len(self.rows) - 1

    @contextmanager
    def printing_at(self, site: int) -> Iterator[None]:
        """Attribute everything printed inside the `with` block to a site."""
        before, self.printing = self.printing, site
        try:
            yield
        finally:
            self.printing = before


def span_of(node: nodes.Node) -> tuple[int, int]:
    """Return the span of a node's tag or text in the file; the start of the file for synthetic nodes."""
    line = node.lineno
    return (line.span[0], line.span[1]) if isinstance(line, PlacedLine) else (0, 0)


_KEPT_CHARACTERS: Final = 4_000_000
"""The maximum number of characters of cached pieces; the least recently used ones are dropped."""
_WHOLE: Final = re.compile(r"\{%[-+]?\s*(?:extends|block|autoescape)\b")
"""Statements that affect a whole file."""
_LONGEST_UNIT: Final = 50_000
"""A text with a longer comment is not split into groups."""
_ITEM: Final = re.compile(r"(?<=\n)(?=- )")
_SPACES: Final = frozenset({"whitespace"})
_OPENS: Final = frozenset({"for", "if", "macro", "call", "filter", "with"})


class TextSection(NamedTuple):
    """A section of a template's text: its start, and its 0-based first line."""

    text: str
    start: int
    line: int
    is_last: bool


class _Unit(NamedTuple):
    """The number of blocks opened minus those closed by a text; None if a tag or comment is unclosed."""

    depth: int | None
    is_jinja: bool = True


class Grouping:
    """Splits texts into groups, and caches the results of lexing."""

    def __init__(self, lexer: PlacedLexer) -> None:
        """Create a grouping that reads tags with `lexer`."""
        self._lexer = lexer
        self._known: OrderedDict[str, _Unit] = OrderedDict()
        self._characters = 0

    def groups(self, text: str) -> list[TextSection]:
        """Return the groups of `text`; only one if it cannot be split."""
        whole = [TextSection(text, 0, 0, is_last=True)]
        if "\r" in text or _WHOLE.search(text):
            return whole
        found: list[TextSection] = []
        start = line = depth = 0
        group = unit = ""
        for piece in _ITEM.split(text):
            unit += piece
            known = self._unit(unit)
            if not known.is_jinja or len(unit) > _LONGEST_UNIT:
                return whole
            if known.depth is None:
                continue
            depth += known.depth
            group, unit = group + unit, ""
            if depth == 0:
                found.append(TextSection(group, start, line, is_last=False))
                start, line, group = start + len(group), line + group.count("\n"), ""
            elif depth < 0:
                return whole
        if group or unit or not found:
            return whole
        found[-1] = found[-1]._replace(is_last=True)
        return found

    def _unit(self, text: str) -> _Unit:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._read(text)
            self._characters += len(text)
            while self._characters > _KEPT_CHARACTERS:
                self._characters -= len(self._known.popitem(last=False)[0])
        else:
            self._known.move_to_end(text)
        return known

    def _read(self, text: str) -> _Unit:
        depth = 0
        tag: list[str] | None = None
        try:
            for _, token, value in Lexer.tokeniter(self._lexer, text, None):
                if token in {"block_begin", "variable_begin"}:
                    tag = [token]
                elif token in {"block_end", "variable_end"}:
                    depth += _change(tag or [])
                    tag = None
                elif tag is not None and token not in _SPACES:
                    tag.append(value)
        except TemplateSyntaxError as error:
            return _Unit(None, is_jinja=(error.message or "").startswith("Missing end of"))
        return _Unit(depth if tag is None else None)


def _change(tag: list[str]) -> int:
    """Return the number of blocks that a tag opens, minus those it closes."""
    if tag[0] != "block_begin" or len(tag) == 1:
        return 0
    word = tag[1]
    if word.startswith("end"):
        return -1
    if word == "set":
        return 0 if "=" in _ahead_of_filter(tag) else 1
    return 1 if word in _OPENS else 0


def _ahead_of_filter(tag: list[str]) -> list[str]:
    return tag[: tag.index("|")] if "|" in tag else tag


_PROSE: Final = frozenset({"data", "comment"})


class Skeleton(NamedTuple):
    """The tags of a text, and the positions of tags and texts between them."""

    tokens: tuple[tuple[int, str, str], ...]
    """The tokens with their lines; prose is represented by an empty string."""
    prose: dict[int, str]
    """The texts between tags, by their starts."""
    tags: list[int]
    """The start of each tag."""


NO_SKELETON: Final = Skeleton((), {}, [])


class Filled(NamedTuple):
    """Code compiled for one text, reused for a different text with the same tags."""

    code: CodeType
    compiled: Skeleton
    """The skeleton of the compiled text."""
    filled: Skeleton
    """The skeleton of the text that it is reused for."""


def skeleton_of(lexer: PlacedLexer, text: str) -> Skeleton | None:
    """Return the skeleton of a text; None if Jinja cannot tokenize it."""
    tokens: list[tuple[int, str, str]] = []
    prose: dict[int, str] = {}
    tags: list[int] = []
    try:
        for line, kind, value in lexer.tokeniter(text, None):
            start: int = line.span[0]  # type: ignore[attr-defined] # a PlacedLine
            if kind == "data":
                prose[start] = value
            elif not tags or tags[-1] != start:
                tags.append(start)
            tokens.append((int(line), kind, "" if kind in _PROSE else value))
    except TemplateSyntaxError:
        return None
    return Skeleton(tuple(tokens), prose, tags)


def filled_in(namespace: dict[str, Any], code: Filled, file: SourceFile) -> None:
    """Set the prose in the `namespace` that the code was run in, and the sites of `file`."""
    # Both skeletons have the same tags, and the same number of texts between them.
    prose = dict(zip(code.compiled.prose, code.filled.prose.items(), strict=True))
    begun = [(text, file, start) for start, text in (prose[each] for each in namespace["prose"])]
    namespace["BEGUN"] = begun
    namespace["PIECES"] = [(*piece, None) for piece in begun]
    namespace["FILE"] = file
    file.set_sites(Site(*site) for site in _move(namespace["sites"], code))


def _move(sites: Iterable[tuple[Any, ...]], code: Filled) -> Iterator[tuple[Any, ...]]:
    """Yield the sites with their positions in the text that the code is reused for."""
    before, now = code.compiled.tags, code.filled.tags
    if before == now:
        yield from sites
        return
    for kind, start, end, *more in sites:
        tag = bisect_right(before, start) - 1
        by = now[tag] - before[tag] if tag >= 0 else 0
        yield kind, start + by, end + by, *more
