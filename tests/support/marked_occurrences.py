"""The occurrences of the symbol at a fixture's cursor, compared with its marks."""

from __future__ import annotations

from pathlib import Path

from promptls.ide.symbols import occurrences, places_here, symbol_at
from support.fixture import Mark, Marked, opened


def shown(files: dict[str, Marked], name: str, mark: Mark) -> str:
    text = files[name].text
    line = text.count("\n", 0, mark.span.start) + 1
    column = mark.span.start - text.rfind("\n", 0, mark.span.start)
    return f"{name}:{line}:{column} {text[mark.span.start : mark.span.end]} {mark.label}"


def check_occurrences(fixture: str, root: Path) -> None:
    """Assert that the symbol at the cursor occurs at the marked places, from whichever it is requested."""
    snapshot, files = opened(fixture, root)
    (current,) = (name for name, marked in files.items() if marked.cursor is not None)
    cursor = files[current].cursor
    assert cursor is not None
    symbol = symbol_at(snapshot, str(root / current), cursor)
    assert symbol is not None, "there is no symbol at the cursor"
    found = [
        shown(files, Path(each.path).name, Mark(each.span, each.use))
        for each in occurrences(snapshot, symbol)
    ]
    expected = [shown(files, name, mark) for name in sorted(files) for mark in files[name].marks]
    assert found == expected
    for each in occurrences(snapshot, symbol):
        other = symbol_at(snapshot, each.path, each.span.start)
        if other is None and (each.where == "python" or (symbol.kind, each.where) == ("key", "data")):
            continue  # keys of values, and of rows in metrics, are found from the prompt only
        assert other is not None, f"{each} is a place of the symbol, and none of its own"
        assert other.span == each.span
        assert occurrences(snapshot, other) == occurrences(snapshot, symbol), each
        here = tuple(place for place in occurrences(snapshot, other) if place.path == each.path)
        assert places_here(snapshot, other) == here
