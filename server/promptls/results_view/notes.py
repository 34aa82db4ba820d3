"""Ratings and notes of users, stored in a file beside the run without changing its table and scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import rows_at
from promptls.results_view import results_wire
from promptls.results_view.results_wire import Thumb
from promptls.security.files import read_text
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UsageError, UserError, parse_json

FORMAT = 1
SUFFIX = ".notes.json"

LONGEST = 20_000
"""The maximum number of characters of a note."""


@dataclass(frozen=True, slots=True)
class Note:
    """A user's assessment of a row: a thumb, a text, or both. `id` is the row's, for readers of the file."""

    id: str
    thumb: Thumb | None
    text: str


def notes_file(run: RunSummary) -> Path:
    """Return the path of the notes of the run."""
    return run.results.with_suffix(SUFFIX)


def notes_of(run: RunSummary) -> dict[int, Note]:
    """Return the notes of the run's rows, by their indices in the table.

    Raises `UserError` for an invalid file.
    """
    path = notes_file(run)
    try:
        values = parse_json(read_text(path))
        return {int(place): _note(value) for place, value in values["rows"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise UserError(
            "the notes of the run cannot be read", FilePlace(path), "fix the file or move it away"
        ) from None


def save_note(run: RunSummary, place: int, thumb: str | None, text: str) -> dict[int, Note]:
    """Save a note, or delete it if it has neither thumb nor text; return all notes.

    Raises `UsageError` for an unknown row or thumb, and OSError if the file cannot be written.
    """
    if thumb not in {None, "up", "down"}:
        raise UsageError(f"there is no thumb `{thumb}`", remedy="it is `up`, `down` or nothing")
    if len(text) > LONGEST:
        raise UsageError(f"a note has at most {LONGEST:,} characters")
    cells = next(iter(rows_at(run, [place])))
    notes = notes_of(run)
    notes.pop(place, None)
    if thumb or text.strip():
        notes[place] = Note(cells.get("id", ""), cast("Thumb | None", thumb), text)
    path = notes_file(run)
    rows = {str(each): asdict(note) for each, note in sorted(notes.items())}
    with replace_file(path, is_private=True) as stream:
        json.dump({"format": FORMAT, "run": run.name, "rows": rows}, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    return notes


def notes_json(notes: Mapping[int, Note]) -> dict[str, results_wire.NoteJson]:
    """Return the notes as JSON, by index."""
    return {str(place): {"thumb": note.thumb, "text": note.text} for place, note in notes.items()}


def _note(value: Mapping[str, Any]) -> Note:
    thumb = value.get("thumb")
    return Note(
        str(value.get("id", "")), thumb if thumb in {"up", "down"} else None, str(value.get("text") or "")
    )
