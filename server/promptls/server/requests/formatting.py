"""`textDocument/formatting` and its kin: of ranges, and while typing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.format.prompt_file import file_edits, typing_edits
from promptls.server.to_proto import from_position, from_range, to_range

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptls.lint.rule import Edit
    from promptls.server.context import Context
    from promptls.syntax.source import Source


def formatting(context: Context, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    """Return the edits that format a file; None if it is not a prompt."""
    return _edits(context, params.text_document.uri, None)


def range_formatting(
    context: Context, params: types.DocumentRangeFormattingParams
) -> list[types.TextEdit] | None:
    """Return the edits that format a range."""
    return _edits(context, params.text_document.uri, [params.range])


def ranges_formatting(
    context: Context, params: types.DocumentRangesFormattingParams
) -> list[types.TextEdit] | None:
    """Return the edits that format several ranges."""
    return _edits(context, params.text_document.uri, params.ranges)


def on_type_formatting(
    context: Context, params: types.DocumentOnTypeFormattingParams
) -> list[types.TextEdit] | None:
    """Return the edits that follow a typed brace or line break."""
    path = context.prompt_path(params.text_document.uri)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    offset = from_position(template.source, params.position, context.encoding)
    edits = typing_edits(context.snapshot, path, offset, params.ch)
    return _text_edits(context, template.source, edits)


def _edits(context: Context, uri: str, ranges: Iterable[types.Range] | None) -> list[types.TextEdit] | None:
    path = context.prompt_path(uri)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    if ranges is None:
        return _text_edits(context, template.source, file_edits(context.snapshot, path))
    spans = [from_range(template.source, each, context.encoding) for each in ranges]
    found = dict.fromkeys(edit for span in spans for edit in file_edits(context.snapshot, path, span))
    return _text_edits(context, template.source, sorted(found, key=lambda edit: edit.span))


def _text_edits(context: Context, source: Source, edits: Iterable[Edit]) -> list[types.TextEdit]:
    return [types.TextEdit(to_range(source, edit.span, context.encoding), edit.text) for edit in edits]
