"""Hovers, code lenses and inlay hints."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.ide.code_lenses import code_lenses
from promptls.ide.hover import hover as hover_at
from promptls.ide.inlay_hints import inlay_hints
from promptls.ide.settings_file import explain_setting, is_settings_file
from promptls.server.lifecycle import DATASET_ENDINGS, PROGRAM_ENDING
from promptls.server.to_proto import from_position, from_range, hover_contents, path_of, to_position, to_range

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
    from promptls.server.state.latest_renderings import Renderings
    from promptls.server.state.latest_runs import LatestRuns


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
    if found is None:
        return None
    return types.Hover(
        hover_contents(context.capabilities, found.markdown),
        to_range(template.source, found.span, context.encoding),
    )


def _hover_program(
    context: Context, auxiliary: AuxiliaryDocuments, path: str, position: types.Position
) -> types.Hover | None:
    """Explain the template code at the position in a program."""
    from promptls.ide.raw_templates import hover_in_program

    auxiliary.flush(PROGRAM_ENDING)
    snapshot = context.snapshot
    template = snapshot.template(path)
    if template is None:
        return None
    found = hover_in_program(snapshot, path, from_position(template.source, position, context.encoding))
    if found is None:
        return None
    return types.Hover(
        hover_contents(context.capabilities, found.markdown),
        to_range(template.source, found.span, context.encoding),
    )


def _hover_dataset(context: Context, runs: LatestRuns, params: types.HoverParams) -> types.Hover | None:
    """Return the results of the last runs of the open prompts for the row of a dataset."""
    path = path_of(params.text_document.uri)
    if not path.lower().endswith(DATASET_ENDINGS):
        return None
    from promptls.ide.hover.prompt import hover_row

    latest = [each for prompt in context.snapshot.open_files for each in runs.latest(prompt)]
    found = hover_row(Path(path), params.position.line, latest) if latest else None
    if found is None:
        return None
    place = types.Range(types.Position(found.line, 0), types.Position(found.end, 0))
    return types.Hover(hover_contents(context.capabilities, found.markdown), place)


def code_lens(
    context: Context, runs: LatestRuns, params: types.CodeLensParams
) -> list[types.CodeLens] | None:
    """Return the commands for the document and its examples, with the last results."""
    uri = params.text_document.uri
    path = context.prompt_path(uri)
    template = context.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    found = []
    for lens in code_lenses(context.snapshot, path, runs.current(path), runs.running(path)):
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
