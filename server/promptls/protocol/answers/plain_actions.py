"""Code actions in the form that the client takes: as they are, or as commands that do what they say.

A client that knows no code actions but only commands makes the edits when the command asks it to, as the
protocol has it for such clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from lsprotocol.converters import get_converter

if TYPE_CHECKING:
    from promptls.protocol.session import Session

Action = types.CodeAction | types.Command
_APPLY: Final = "promptls.applyEdit"


def in_form(session: Session, path: str, actions: Iterable[Action]) -> list[Action]:
    """The actions as they are, or for a client without code actions those that a command can do."""
    return list(actions if session.flags.code_action_literals else _commands(session, path, actions))


def _commands(session: Session, path: str, actions: Iterable[Action]) -> Iterator[types.Command]:
    opened = session.snapshot.open_files.get(path)
    for action in actions:
        if isinstance(action, types.Command):
            yield action
        elif action.command is not None:
            yield action.command
        elif action.edit is not None and session.flags.applies_edits:
            arguments: dict[str, Any] = {
                "uri": session.uri_of(path),
                "version": opened.version if opened is not None else None,
                "label": action.title,
                "edit": get_converter().unstructure(action.edit, types.WorkspaceEdit),
            }
            yield types.Command(action.title, _APPLY, arguments=[arguments])
