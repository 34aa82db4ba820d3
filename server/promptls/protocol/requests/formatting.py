"""`textDocument/formatting` and its kin: of ranges, and while typing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.formatting import file_edits, typing_edits
from promptls.protocol.convert import from_position, from_range, to_range
from promptls.rules.rule import Edit
from promptls.syntax.source import Source

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def formatting(session: Session, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    """The edits that lay out a file; none for a file that is no prompt."""
    return _edits(session, params.text_document.uri, None)


def range_formatting(
    session: Session, params: types.DocumentRangeFormattingParams
) -> list[types.TextEdit] | None:
    """The edits that lay out what stands in a range."""
    return _edits(session, params.text_document.uri, [params.range])


def ranges_formatting(
    session: Session, params: types.DocumentRangesFormattingParams
) -> list[types.TextEdit] | None:
    """The edits that lay out what stands in several ranges."""
    return _edits(session, params.text_document.uri, params.ranges)


def on_type_formatting(
    session: Session, params: types.DocumentOnTypeFormattingParams
) -> list[types.TextEdit] | None:
    """The edits that go with a typed brace or line break."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    offset = from_position(template.source, params.position, session.unit)
    edits = typing_edits(session.snapshot, path, offset, params.ch)
    return _text_edits(session, template.source, edits)


def _edits(session: Session, uri: str, ranges: Iterable[types.Range] | None) -> list[types.TextEdit] | None:
    path = session.prompt_path(uri)
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    if ranges is None:
        return _text_edits(session, template.source, file_edits(session.snapshot, path))
    spans = [from_range(template.source, each, session.unit) for each in ranges]
    found = dict.fromkeys(edit for span in spans for edit in file_edits(session.snapshot, path, span))
    return _text_edits(session, template.source, sorted(found, key=lambda edit: edit.span))


def _text_edits(session: Session, source: Source, edits: Iterable[Edit]) -> list[types.TextEdit]:
    return [types.TextEdit(to_range(source, edit.span, session.unit), edit.text) for edit in edits]
