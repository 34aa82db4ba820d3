"""What may stand in the text of a prompt: the space marker, and columns between braces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.features.completion.columns import column_names
from promptls.features.completion.item import Item
from promptls.features.completion.request import Request
from promptls.meaning.kind import Kind
from promptls.systems.prompt_poet.vocabulary import SPACE_MARKER
from promptls.text.span import Span

_MARKER: Final = re.compile(r"<(?:\|(?:s(?:p(?:a(?:c(?:e\|?)?)?)?)?)?)?$")
_FIELD: Final = re.compile(r"(?<!\{)\{(\w*)$")


def marker_word(head: str) -> int | None:
    """How many characters before the place begin the space marker; None where none do."""
    found = _MARKER.search(head)
    return len(found.group()) if found else None


def marker_items() -> Iterator[Item]:
    """The mark that Prompt Poet turns into a space."""
    yield Item(SPACE_MARKER, "constant", 10, detail="a space that is not stripped")


def field_word(request: Request, head: str) -> int | None:
    """How many characters before the place name a column of the data set; None outside braces."""
    found = _FIELD.search(head) if request.kind in {Kind.EVALUATION, Kind.OBJECT} else None
    return len(found[1]) if found else None


def field_items(request: Request) -> Iterator[Item]:
    """The columns that a text of an evaluation prompt may name, and the inputs of a prompt object."""
    reader = request.declarations.data.get("reader_cfg")
    columns = reader.get("input_columns") if isinstance(reader, dict) else None
    listed = columns if isinstance(columns, list) else [columns] if isinstance(columns, str) else []
    names = [str(name) for name in listed if isinstance(name, str)]
    names += column_names(request)
    names += [key.name for key in request.declarations.inputs or ()]
    for name in dict.fromkeys(names):
        yield Item(name, "field", 10, detail="column")


def marker_span(offset: int, length: int, behind: str) -> tuple[Span, Span]:
    """What the marker takes the place of, up to the place and behind it."""
    insert = Span(offset - length, offset)
    rest = SPACE_MARKER[length:]
    shared = next((size for size in range(len(rest), 0, -1) if behind.startswith(rest[:size])), 0)
    return insert, Span(insert.start, offset + shared)
