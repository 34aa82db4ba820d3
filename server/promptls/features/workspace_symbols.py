"""What can be found by name in the whole workspace: files, parts, macros, blocks, inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from promptls.features.document_symbols import DocumentSymbol, document_symbols
from promptls.meaning.kind import Kind
from promptls.meaning.variables import input_variable
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

NamedKind = Literal["file", "part", "section", "macro", "block", "input"]
_LISTED: Final[dict[str, NamedKind]] = {
    "part": "part",
    "section": "section",
    "macro": "macro",
    "block": "block",
    "input": "input",
}


class NamedThing(NamedTuple):
    """Something with a name: `span` is where the name stands, `container` the file or part that it is in."""

    name: str
    kind: NamedKind
    span: Span
    container: str


def named_things(snapshot: Snapshot, path: str) -> tuple[NamedThing, ...]:
    """The file at `path` and what has a name in it; nothing in a file that is no prompt."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return ()
    shown = shown_path(snapshot, path)
    found = [NamedThing(Path(path).name, "file", Span(0, 0), str(Path(shown).parent.as_posix()).strip("."))]
    found += _listed(document_symbols(snapshot, path), shown)
    declared = {thing.name for thing in found if thing.kind == "input"}
    for name in sorted(template.names.input_names - declared):
        variable = input_variable(template, name)
        if variable is not None and variable.readings:
            found.append(NamedThing(name, "input", variable.readings[0].span, shown))
    return tuple(found)


def shown_path(snapshot: Snapshot, path: str) -> str:
    """The path as people know it: from the workspace's folder that holds the file."""
    for root in snapshot.roots:
        if Path(path).is_relative_to(root):
            return Path(path).relative_to(root).as_posix()
    return path


def _listed(symbols: Iterable[DocumentSymbol], container: str) -> Iterator[NamedThing]:
    for symbol in symbols:
        kind = _LISTED.get(symbol.kind)
        if kind is not None:
            yield NamedThing(symbol.name, kind, symbol.name_span, container)
        inner = symbol.name if symbol.kind == "part" else container
        yield from _listed(symbol.children, inner)


def match(query: str, name: str) -> int | None:
    """How well a name suits what is typed, more for better; None where it lacks one of the letters.

    The letters of `query` stand in `name` in their order. Those at the beginning of words, and
    those that follow one another, count more; of two equals the one that begins with the first
    letter is better, and then the shorter one.
    """
    wanted, letters = query.casefold(), name.casefold()
    if not wanted:
        return 0
    best = _walk(wanted, letters, name, letters.find(wanted)) if wanted in letters else None
    walked = _walk(wanted, letters, name, letters.find(wanted[0]))
    if walked is None:
        return None
    score = max(walked, best if best is not None else walked)
    return 10 * score + 5 * letters.startswith(wanted[0]) - min(len(name), 99)


def _walk(wanted: str, letters: str, name: str, start: int) -> int | None:
    """The score of taking each letter at its next place from `start` on."""
    score = 0
    position, before = start, -2
    for letter in wanted:
        position = letters.find(letter, max(position, before + 1))
        if position < 0:
            return None
        begins = position == 0 or not name[position - 1 : position].isalnum()
        capital = name[position : position + 1].isupper() and not begins
        score += 4 + 8 * begins + 4 * capital + 6 * (position == before + 1)
        before = position
        position += 1
    return score
