"""The editor's settings: asked for, validated, and laid over those of the projects."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)

SECTION: Final = "promptls"


async def fetch(session: Session) -> None:
    """Ask the client for its settings, where it answers such questions, and take them."""
    if not session.flags.configuration:
        return
    items = [types.ConfigurationItem(section=SECTION)]
    try:
        answer = await session.server.workspace_configuration_async(types.ConfigurationParams(items))
    except Exception:
        log.exception("the client did not give its settings; the former ones hold")
        return
    take(session, answer[0] if answer else None)


def take(session: Session, settings: Any) -> None:
    """Hold to the settings that a client gave; what is unset in them is the project's business."""
    given = _without_unset(settings)
    session.workspace.set_editor_settings(given if isinstance(given, dict) and given else None)


async def did_change_configuration(session: Session, params: types.DidChangeConfigurationParams) -> None:
    """Take the settings as they are now, whether the client sends them or waits to be asked."""
    if session.flags.configuration:
        await fetch(session)
    else:
        settings = params.settings
        take(session, settings.get(SECTION) if isinstance(settings, dict) else None)
    session.settings_changed()


def report_problems(session: Session, paths: list[str]) -> None:
    """Log what is wrong in the editor's settings for the files at `paths`; each problem once.

    What is wrong in a settings file is shown there.
    """
    from promptls.rules.checking.settings_problems import settings_problems

    for path in paths:
        for problem in settings_problems(session.snapshot.project(path)):
            text = f"editor settings: {problem.message}"
            if problem.place is None and text not in session.reported:
                session.reported.add(text)
                session.log(text, types.MessageType.Warning)


def _without_unset(value: Any) -> Any:
    """The value without the keys that VS Code gives as null, which stands for unset."""
    if isinstance(value, dict):
        return {key: _without_unset(its) for key, its in value.items() if its is not None}
    return value
