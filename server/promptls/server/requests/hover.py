"""`textDocument/hover`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.ide.hover import hover as hover_at
from promptls.ide.settings_file import explain_setting, is_settings_file
from promptls.server.registrations import DATASET_ENDINGS, PROGRAM_ENDING
from promptls.server.to_proto import from_position, hover_contents, to_range
from promptls.server.uris import path_of

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
    from promptls.server.state.renderings import Renderings
    from promptls.server.state.runs import Runs


async def hover(
    context: Context,
    renderings: Renderings,
    runs: Runs,
    auxiliary: AuxiliaryDocuments,
    params: types.HoverParams,
) -> types.Hover | None:
    """Explain what is at the position."""
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
        hover_contents(context, found.markdown), to_range(template.source, found.span, context.encoding)
    )


def _hover_program(
    context: Context, auxiliary: AuxiliaryDocuments, path: str, position: types.Position
) -> types.Hover | None:
    """Explain what is at the position in a template that a program writes out."""
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
        hover_contents(context, found.markdown), to_range(template.source, found.span, context.encoding)
    )


def _hover_dataset(context: Context, runs: Runs, params: types.HoverParams) -> types.Hover | None:
    """Explain what the last runs of the open prompts say about the row of a dataset."""
    path = path_of(params.text_document.uri)
    if not path.lower().endswith(DATASET_ENDINGS):
        return None
    from promptls.ide.hover.prompt import hover_row

    latest = [each for prompt in context.snapshot.open_files for each in runs.latest(prompt)]
    found = hover_row(Path(path), params.position.line, latest) if latest else None
    if found is None:
        return None
    place = types.Range(types.Position(found.line, 0), types.Position(found.end, 0))
    return types.Hover(hover_contents(context, found.markdown), place)
