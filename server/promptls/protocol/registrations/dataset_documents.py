"""Hovers on rows of data sets, in clients that can be asked for them.

The texts of data sets are not asked for: they may be long, and their rows are read from the disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.protocol.answers.plain_text import hover_contents
from promptls.protocol.convert import path_of
from promptls.protocol.registrations.register import files_like, register_documents

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_ENDINGS: Final = (".csv", ".tsv", ".jsonl", ".json")


async def register(session: Session) -> None:
    """Ask the client for hovers on data sets, where it can be asked."""
    if not session.flags.registers_documents:
        return
    selector = files_like(*(f"*{ending}" for ending in _ENDINGS))
    options = types.HoverRegistrationOptions(document_selector=selector)
    await register_documents(session, "datasets", [(types.TEXT_DOCUMENT_HOVER, options)])


def hover_dataset(session: Session, params: types.HoverParams) -> types.Hover | None:
    """What the last runs of the open prompts say of the row at the place; None for any other file."""
    path = path_of(params.text_document.uri)
    if not path.lower().endswith(_ENDINGS):
        return None
    from promptls.features.hover.dataset_row import hover_row

    runs = [each for prompt in session.snapshot.open_files for each in session.runs.newest(prompt)]
    found = hover_row(Path(path), params.position.line, runs) if runs else None
    if found is None:
        return None
    place = types.Range(types.Position(found.line, 0), types.Position(found.end, 0))
    return types.Hover(hover_contents(session, found.markdown), place)
