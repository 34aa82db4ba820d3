"""Folds, selections, linked editing, and formatting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.format.prompt_file import file_edits, typing_edits
from promptls.ide.ranges import WORD_PATTERN, LineFold, linked_places, selections
from promptls.ide.ranges import folds as folds_in
from promptls.server.locations import range_in, requested_place
from promptls.server.to_proto import from_position, from_range, path_of, to_range

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptls.lint.rule import Edit
    from promptls.server.context import Context
    from promptls.server.state.semantic_tokens import Folds
    from promptls.syntax.source import Source


_FOLD_KINDS = (types.FoldingRangeKind.Region.value, types.FoldingRangeKind.Comment.value)
"""The kinds supported by clients older than the capability."""


def folding_range(
    context: Context, folds: Folds, params: types.FoldingRangeParams
) -> list[dict[str, Any]] | None:
    """Return the folds, within the limits of the client."""
    folds.requested(path_of(params.text_document.uri))
    path = context.prompt_path(params.text_document.uri)
    template = context.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    found = folds_in(context.snapshot, path, context.capabilities.max_folds)
    return [_fold_json(context, template.source, each) for each in found]


def _fold_json(context: Context, source: Source, each: LineFold) -> dict[str, Any]:
    capabilities = context.capabilities
    made: dict[str, Any] = {"startLine": each.first, "endLine": each.last}
    if not capabilities.folds_lines_only:
        (_, made["startCharacter"]), (made["endLine"], made["endCharacter"]) = (
            source.units(offset, context.encoding) for offset in each.fold.span
        )
    if each.fold.kind in (capabilities.fold_kinds or _FOLD_KINDS):
        made["kind"] = each.fold.kind
    if capabilities.fold_texts:
        made["collapsedText"] = each.fold.text
    return made


def selection_range(
    context: Context, params: types.SelectionRangeParams
) -> list[types.SelectionRange] | None:
    """Return the ranges around each position, each inside its parent."""
    path = context.prompt_path(params.text_document.uri)
    template = context.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    found = []
    for position in params.positions:
        offset = from_position(template.source, position, context.encoding)
        around: types.SelectionRange | None = None
        for span in reversed(selections(context.snapshot, path, offset)):
            around = types.SelectionRange(to_range(template.source, span, context.encoding), around)
        assert around is not None  # the file itself contains every offset
        found.append(around)
    return found


def linked_editing_range(
    context: Context, params: types.LinkedEditingRangeParams
) -> types.LinkedEditingRanges | None:
    """Return the ranges to edit together with the one at the position."""
    requested = requested_place(context, params)
    places = linked_places(context.snapshot, *requested) if requested is not None else ()
    if requested is None or not places:
        return None
    return types.LinkedEditingRanges([range_in(context, requested[0], span) for span in places], WORD_PATTERN)


def formatting(context: Context, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    """Return the edits that format a file; None if it is not a prompt."""
    return _formatting_edits(context, params.text_document.uri, None)


def range_formatting(
    context: Context, params: types.DocumentRangeFormattingParams
) -> list[types.TextEdit] | None:
    """Return the edits that format a range."""
    return _formatting_edits(context, params.text_document.uri, [params.range])


def ranges_formatting(
    context: Context, params: types.DocumentRangesFormattingParams
) -> list[types.TextEdit] | None:
    """Return the edits that format several ranges."""
    return _formatting_edits(context, params.text_document.uri, params.ranges)


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


def _formatting_edits(
    context: Context, uri: str, ranges: Iterable[types.Range] | None
) -> list[types.TextEdit] | None:
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
