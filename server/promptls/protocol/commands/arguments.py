"""Reading a command's arguments, with messages that say what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from promptls.meaning.kind import Kind
from promptls.protocol.convert import path_of
from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from promptls.protocol.session import Session

Value = TypeVar("Value")


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


def optional(arguments: dict[str, Any], name: str, kind: type[Value]) -> Value | None:
    """The argument, or None where it is not given; raises WrongUse where it is of another type."""
    value = arguments.get(name)
    if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
        return value
    raise WrongUse(f"the argument `{name}` must be of type {kind.__name__}, and not {type(value).__name__}")
