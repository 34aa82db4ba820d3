"""`codeAction/resolve`: the edits of a chosen action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.protocol.answers.refactor_actions import resolved_action

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def code_action_resolve(session: Session, action: types.CodeAction) -> types.CodeAction:
    """The action with its edits."""
    return resolved_action(session, action)
