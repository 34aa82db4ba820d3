"""Reading a command's arguments, with messages that say what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.meaning.kind import Kind
from promptls.protocol.convert import path_of
from promptls.text.arguments import optional
from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def prompt_path(session: Session, arguments: dict[str, Any]) -> str:
    """The path of the prompt that `uri` names; raises WrongUse where it is none, or is not there."""
    uri = optional(arguments, "uri", str)
    if uri is None:
        raise WrongUse("the command needs the prompt that it is for", remedy='pass {"uri": "file:///…"}')
    path = path_of(uri)
    if session.snapshot.template(path) is None:
        raise WrongUse("there is no such file", FilePlace(path), "save it, or check the path")
    if session.kind(path) is Kind.OTHER:
        raise WrongUse(
            "this is no prompt file",
            FilePlace(path),
            "a prompt ends in `.yml.j2` and is a list of parts with `name` and `content`, or a mapping "
            "with `instruction`",
        )
    return path
