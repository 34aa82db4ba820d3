"""Folds, selections, and linked editing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.ide.ranges import WORD_PATTERN, LineFold, linked_places, selections
from promptls.ide.ranges import folds as folds_in
from promptls.server.locations import range_in, requested_place
from promptls.server.to_proto import from_position, to_range
from promptls.server.uris import path_of

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.server.state.semantic_tokens import Folds
    from promptls.syntax.source import Source


_FOLD_KINDS = (types.FoldingRangeKind.Region.value, types.FoldingRangeKind.Comment.value)
"""The kinds that clients support which are older than the capability."""


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
        assert around is not None  # the file itself is around every place
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
