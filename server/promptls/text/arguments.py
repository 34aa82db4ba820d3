"""Reading what somebody passed as JSON, with messages that say what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from promptls.text.failure import WrongUse

Value = TypeVar("Value")


def optional(arguments: Mapping[str, Any], name: str, kind: type[Value]) -> Value | None:
    """The argument, or None where it is not given; raises WrongUse where it is of another type."""
    value = arguments.get(name)
    if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
        return value
    raise WrongUse(f"the argument `{name}` must be of type {kind.__name__}, and not {type(value).__name__}")
