"""Failures of OpenCompass to create a prompt from a configuration, with their locations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

Argument = ParamSpec("Argument")
Result = TypeVar("Result")
ConfigPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead from `infer_cfg` (or the top level) to a value."""

_STRAY: Final = (
    AssertionError, AttributeError, IndexError, KeyError, TypeError, UnboundLocalError, ValueError,
    ZeroDivisionError,
)  # fmt: skip


class OpenCompassError(Exception):
    """A failure of OpenCompass: the problem, the remedy, and the location in the configuration.

    `cause` is the name of the exception that OpenCompass raises and `said` that exception's text, which is
    often only a key. `at` is empty if no single value is responsible. `is_opencompass` is false for what
    OpenCompass supports, but not this machine.
    """

    def __init__(
        self, message: str, *, cause: str, said: str = "", at: ConfigPath = (), is_opencompass: bool = True
    ) -> None:
        """Set all fields; `message` is also the exception's text."""
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.said = said
        self.at = at
        self.is_opencompass = is_opencompass


def explained(function: Callable[Argument, Result]) -> Callable[Argument, Result]:
    """Convert unexpected exceptions of the decorated function to OpenCompassError with the same cause.

    Values of the wrong type cause unhandled exceptions in OpenCompass; they cause the same ones here, since
    each step is reproduced.
    """

    @wraps(function)
    def call(*args: Argument.args, **kwargs: Argument.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except _STRAY as error:
            kind = type(error).__name__
            said = said_by(error)
            message = (
                f"OpenCompass fails on this configuration with a bare {kind}: {said or 'no more is said'}."
            )
            raise OpenCompassError(message, cause=kind, said=said) from error

    return call


def said_by(error: BaseException) -> str:
    """Return the text of an exception; for a KeyError, the key."""
    if isinstance(error, KeyError) and len(error.args) == 1:
        return str(error.args[0])
    return str(error)


def check_arguments(
    class_name: str, name: str, config: Mapping[str, Any], known: Collection[str], required: str
) -> None:
    """Raise OpenCompassError as `class_name(…)` would for an unknown argument, or without `required`."""
    for key in config:
        if key not in known and key != "type":
            raise OpenCompassError(
                f"`{class_name}` takes no `{key}`.",
                cause="TypeError",
                said=f"{class_name}.__init__() got an unexpected keyword argument '{key}'",
                at=(name, key),
            )
    if required not in config:
        raise OpenCompassError(
            f"`{name}` has no `{required}`.",
            cause="TypeError",
            said=f"{class_name}.__init__() missing 1 required positional argument: '{required}'",
            at=(name,),
        )
