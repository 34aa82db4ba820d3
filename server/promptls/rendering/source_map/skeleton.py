"""What compiled code depends on of a text: its tags and their lines. The prose between them is filled in.

Two texts with the same tags on the same lines compile to the same code, which finds the text between
tags in tables. So a letter typed into prose compiles nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any, Final, NamedTuple

from jinja2 import TemplateSyntaxError

from promptls.rendering.source_map.lexer import PlacedLexer
from promptls.rendering.source_map.pieces import Site, SourceFile

_PROSE: Final = frozenset({"data", "comment"})


class Skeleton(NamedTuple):
    """The tags of a text, and what stands where."""

    tokens: tuple[tuple[int, str, str], ...]
    """The tokens with their lines; of prose, only that there is some."""
    prose: dict[int, str]
    """The texts between tags, by where they begin."""
    tags: list[int]
    """Where each tag begins."""


NO_SKELETON: Final = Skeleton((), {}, [])


class Filled(NamedTuple):
    """Code that was compiled for one text, with the prose and the places of another one of the same tags."""

    code: CodeType
    compiled: Skeleton
    """Of the text that was compiled."""
    filled: Skeleton
    """Of the text that it stands for."""


def skeleton_of(lexer: PlacedLexer, text: str) -> Skeleton | None:
    """The skeleton of a text; None where Jinja cannot take it apart."""
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
    """Give the `namespace` that the code was run in its prose, and `file` its sites."""
    # Both skeletons have the same tags, and as many texts between them.
    prose = dict(zip(code.compiled.prose, code.filled.prose.items(), strict=True))
    begun = [(text, file, start) for start, text in (prose[each] for each in namespace["prose"])]
    namespace["BEGUN"] = begun
    namespace["PIECES"] = [(*piece, None) for piece in begun]
    namespace["FILE"] = file
    file.sites = tuple(Site(*site) for site in _moved(namespace["sites"], code))


def _moved(sites: Iterable[tuple[Any, ...]], code: Filled) -> Iterator[tuple[Any, ...]]:
    """The sites where they stand in the text that the code is filled with."""
    before, now = code.compiled.tags, code.filled.tags
    if before == now:
        yield from sites
        return
    for kind, start, end, *more in sites:
        tag = bisect_right(before, start) - 1
        by = now[tag] - before[tag] if tag >= 0 else 0
        yield kind, start + by, end + by, *more
