"""What an editor shows in a text: hovers, hints, lenses, colors, folds and selections."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from lsprotocol import types

from promptls.format.prompt_file import file_edits, typing_edits
from promptls.ide.code_lenses import code_lenses
from promptls.ide.hover import hover as hover_at
from promptls.ide.hover.markdown import Hover
from promptls.ide.hover.of_prompt import hover_row
from promptls.ide.inlay_hints import inlay_hints
from promptls.ide.ranges import WORD_PATTERN, LineFold, linked_places, selections
from promptls.ide.ranges import folds as folds_in
from promptls.ide.settings_file import explain_setting
from promptls.server.context import Context
from promptls.server.lifecycle import DATASET_ENDINGS, PROGRAM_ENDING
from promptls.server.locations import range_in, requested_place, text_edits
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.server.state.latest_renderings import Renderings
from promptls.server.state.latest_runs import LatestRuns
from promptls.server.state.sent_tokens import Folds
from promptls.server.to_proto import from_position, from_range, hover_contents, path_of, to_position, to_range
from promptls.syntax.source import Source
from promptls.workspace.settings import is_settings_file


async def hover(
    context: Context,
    renderings: Renderings,
    runs: LatestRuns,
    auxiliary: AuxiliaryDocuments,
    params: types.HoverParams,
) -> types.Hover | None:
    """Explain the code at the position."""
    path = path_of(params.text_document.uri)
    if path.endswith(PROGRAM_ENDING):
        return _hover_program(context, auxiliary, path, params.position)
    is_settings = is_settings_file(path)
    if not is_settings and context.prompt_path(params.text_document.uri) is None:
        return _hover_dataset(context, runs, params)
    rendering = None if is_settings else await renderings.first(path)
    snapshot = context.snapshot
    template = snapshot.template(path)
    if template is None:
        return None
    offset = from_position(template.source, params.position, context.encoding)
    if is_settings:
        found = explain_setting(snapshot, path, offset)
    else:
        found = hover_at(snapshot, path, offset, rendering, partial(runs.current, path))
    return _shown(context, template.source, found)


def _hover_program(
    context: Context, auxiliary: AuxiliaryDocuments, path: str, position: types.Position
) -> types.Hover | None:
    """Explain the template code at the position in a program."""
    from promptls.programs.templates import hover_in_program

    auxiliary.flush(PROGRAM_ENDING)
    snapshot = context.snapshot
    template = snapshot.template(path)
    if template is None:
        return None
    found = hover_in_program(snapshot, path, from_position(template.source, position, context.encoding))
    return _shown(context, template.source, found)


def _shown(context: Context, source: Source, found: Hover | None) -> types.Hover | None:
    """Return the hover text in the form that the client reads."""
    if found is None:
        return None
    return types.Hover(
        hover_contents(context.capabilities, found.markdown),
        to_range(source, found.span, context.encoding),
    )


def _hover_dataset(context: Context, runs: LatestRuns, params: types.HoverParams) -> types.Hover | None:
    """Return the results of the last runs of the open prompts for the row of a dataset."""
    path = path_of(params.text_document.uri)
    if not path.lower().endswith(DATASET_ENDINGS):
        return None
    latest = [each for prompt in context.snapshot.open_files for each in runs.latest(prompt)]
    found = hover_row(Path(path), params.position.line, latest) if latest else None
    if found is None:
        return None
    place = types.Range(types.Position(found.line, 0), types.Position(found.end, 0))
    return types.Hover(hover_contents(context.capabilities, found.markdown), place)


def code_lens(
    context: Context, runs: LatestRuns, auxiliary: AuxiliaryDocuments, params: types.CodeLensParams
) -> list[types.CodeLens] | None:
    """Return the commands for the document and its examples, with the last results; or for a program."""
    uri = params.text_document.uri
    is_program = path_of(uri).endswith(PROGRAM_ENDING)
    if is_program:
        auxiliary.flush(PROGRAM_ENDING)
    path = path_of(uri) if is_program else context.prompt_path(uri)
    template = context.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    if is_program:
        from promptls.programs.templates import program_lenses

        lenses = program_lenses(context.snapshot, path)
    else:
        lenses = code_lenses(context.snapshot, path, runs.current(path), runs.running(path))
    found = []
    for lens in lenses:
        place = to_position(template.source, lens.offset, context.encoding)
        action = lens.action
        command = types.Command(
            action.title,
            action.command,
            tooltip=action.tooltip or None,
            arguments=[{"uri": uri, **action.arguments}],
        )
        found.append(types.CodeLens(range=types.Range(place, place), command=command))
    return found


_FIRST_SECONDS: Final = 20.0
"""How long to wait for the first hints, without blocking other requests."""


async def inlay_hint(
    context: Context, renderings: Renderings, params: types.InlayHintParams
) -> list[types.InlayHint] | None:
    """Return the latest token counts of the parts in the range.

    A client that cannot refresh its hints waits for the first ones.
    """
    path = context.prompt_path(params.text_document.uri)
    if path is not None and not context.capabilities.refreshes_inlay_hints:
        await renderings.first(path, _FIRST_SECONDS)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    within = from_range(template.source, params.range, context.encoding)
    return [
        types.InlayHint(
            position=to_position(template.source, hint.offset, context.encoding),
            label=hint.label,
            tooltip=hint.tooltip,
            padding_left=True,
        )
        for hint in inlay_hints(context.snapshot, path, within, renderings.latest(path))
    ]


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


def formatting(
    context: Context, document: types.TextDocumentIdentifier, ranges: Iterable[types.Range] | None = None
) -> list[types.TextEdit] | None:
    """Return the edits that format a file, or only these ranges of it; None if it is not a prompt."""
    path = context.prompt_path(document.uri)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    if ranges is None:
        return text_edits(context, path, file_edits(context.snapshot, path))
    spans = [from_range(template.source, each, context.encoding) for each in ranges]
    found = dict.fromkeys(edit for span in spans for edit in file_edits(context.snapshot, path, span))
    return text_edits(context, path, sorted(found, key=lambda edit: edit.span))


def on_type_formatting(
    context: Context, params: types.DocumentOnTypeFormattingParams
) -> list[types.TextEdit] | None:
    """Return the edits that follow a typed brace or line break."""
    path = context.prompt_path(params.text_document.uri)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    offset = from_position(template.source, params.position, context.encoding)
    # The extension with the panels inserts an end tag below the cursor.
    keeps_cursor = context.capabilities.panels
    edits = typing_edits(context.snapshot, path, offset, params.ch, keeps_cursor=keeps_cursor)
    return text_edits(context, path, edits)
