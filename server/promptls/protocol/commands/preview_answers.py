"""What the preview's page asks for beside the rendering: tokens one by one, rows, the last commit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.preview.answers import committed, rows_of, tokens_of
from promptls.preview.choice import Choice
from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.kept.renderings import with_consent
from promptls.text.arguments import optional
from promptls.text.failure import WrongUse

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def preview_tokens(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The tokens of the given `texts` in the given `encoding`, with their ids."""
    path = prompt_path(session, arguments)
    texts = optional(arguments, "texts", list)
    encoding = optional(arguments, "encoding", str)
    if texts is None or encoding is None or not all(isinstance(text, str) for text in texts):
        raise WrongUse("the command needs `texts`, a list of strings, and an `encoding`")
    return await tokens_of(session.renderings.worker(session.snapshot, path), texts, encoding)


async def preview_rows(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The rows of the prompt's data set that hold the words of `search`, from the `start`th on."""
    path = prompt_path(session, arguments)
    words, start = optional(arguments, "search", str), optional(arguments, "start", int)
    return await rows_of(session.snapshot, path, words or "", start or 0)


async def preview_committed(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """What the prompt rendered to in the last commit, with the data that is previewed now."""
    path = prompt_path(session, arguments)
    snapshot = with_consent(session.snapshot, session.trusted)
    render = partial(session.renderings.render, snapshot)
    return await committed(snapshot, path, Choice.from_json(arguments), render)
