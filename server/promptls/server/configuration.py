"""The settings of the editor: requested, validated, and laid over those of the projects."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.server.documents import Documents


log = logging.getLogger(__name__)

SECTION: Final = "promptls"


async def fetch(context: Context) -> None:
    """Request the settings of the client, if it supports that, and apply them."""
    if not context.capabilities.configuration:
        return
    items = [types.ConfigurationItem(section=SECTION)]
    try:
        answer = await context.server.workspace_configuration_async(types.ConfigurationParams(items))
    except Exception:
        log.exception("the client did not send its settings; the former ones hold")
        return
    apply(context, answer[0] if answer else None)


def apply(context: Context, settings: Any) -> None:
    """Apply the settings of a client; what is unset in them is left to the project."""
    given = _without_unset(settings)
    context.workspace.set_editor_settings(given if isinstance(given, dict) and given else None)


async def did_change_configuration(
    context: Context, documents: Documents, params: types.DidChangeConfigurationParams
) -> None:
    """Apply the settings as they are now, whether the client sends them or has to be asked."""
    if context.capabilities.configuration:
        await fetch(context)
    else:
        settings = params.settings
        apply(context, settings.get(SECTION) if isinstance(settings, dict) else None)
    documents.on_did_change_settings()


def report_problems(context: Context) -> None:
    """Log what is wrong in the settings of the editor for the open files; each problem once.

    Problems in a settings file are diagnostics there.
    """
    from promptls.lint.settings_problems import settings_problems

    for path in context.snapshot.open_files:
        for problem in settings_problems(context.snapshot.project(path)):
            text = f"editor settings: {problem.message}"
            if problem.place is None and text not in context.reported:
                context.reported.add(text)
                context.log(text, types.MessageType.Warning)


def _without_unset(value: Any) -> Any:
    """Return the value without null, which VS Code sends for what is unset."""
    if isinstance(value, dict):
        return {key: _without_unset(its) for key, its in value.items() if its is not None}
    return value
