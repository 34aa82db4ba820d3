"""Reading a command's arguments, with messages that say what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.semantic.kind import Kind
from promptls.server.uris import path_of
from promptls.text.errors import FilePlace, UsageError, optional

if TYPE_CHECKING:
    from promptls.server.context import Context


def prompt_path(context: Context, arguments: dict[str, Any]) -> str:
    """Return the path of the prompt `uri`; raises UsageError if it is not a prompt or does not exist."""
    uri = optional(arguments, "uri", str)
    if uri is None:
        raise UsageError("the command needs the prompt that it is for", remedy='pass {"uri": "file:///…"}')
    path = path_of(uri)
    if context.snapshot.template(path) is None:
        raise UsageError("there is no such file", FilePlace(path), "save it, or check the path")
    if context.kind(path) is Kind.OTHER:
        raise UsageError(
            "this is no prompt file",
            FilePlace(path),
            "a prompt ends in `.yml.j2` and is a list of parts with `name` and `content`, or a mapping "
            "with `instruction`",
        )
    return path
