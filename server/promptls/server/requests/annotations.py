"""Code lenses and inlay hints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.ide.code_lenses import code_lenses
from promptls.ide.inlay_hints import inlay_hints
from promptls.server.to_proto import from_range, to_position

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.server.state.renderings import Renderings
    from promptls.server.state.runs import Runs


def code_lens(context: Context, runs: Runs, params: types.CodeLensParams) -> list[types.CodeLens] | None:
    """Return what can be done with the document and its examples, with the last results."""
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
"""How long the first hints may take; nothing is blocked meanwhile."""


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
