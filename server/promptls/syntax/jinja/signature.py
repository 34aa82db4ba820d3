"""What a function, filter, test or macro takes, as people read it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

TakenKind = Literal["any", "place", "keyword", "rest", "named"]


class Taken(NamedTuple):
    """One parameter: its name, its text with default, and how arguments reach it.

    `rest` takes all further arguments, `named` all further keyword arguments; `keyword` is reached
    by its name alone, and `place` by its place alone.
    """

    name: str
    text: str
    kind: TakenKind = "any"
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """A name with its parameters in order."""

    name: str
    parameters: tuple[Taken, ...] = ()

    @property
    def text(self) -> str:
        """The signature on one line: `truncate(length=255, killwords=False)`."""
        return f"{self.name}({', '.join(parameter.text for parameter in self.parameters)})"

    @property
    def needs_arguments(self) -> bool:
        """Whether it cannot be called without arguments."""
        return any(parameter.is_required for parameter in self.parameters)

    def active(self, commas: int, keyword: str) -> int | None:
        """The index of the parameter that an argument behind so many commas reaches.

        `keyword` is its name where it has one. None where there is no such parameter.
        """
        for index, parameter in enumerate(self.parameters):
            if keyword and parameter.name == keyword and parameter.kind in {"any", "keyword"}:
                return index
        if keyword:
            return next((i for i, each in enumerate(self.parameters) if each.kind == "named"), None)
        for index, parameter in enumerate(self.parameters):
            if parameter.kind == "rest" or (index == commas and parameter.kind in {"any", "place"}):
                return index
        return next((i for i, each in enumerate(self.parameters) if each.kind == "named"), None)


_KINDS: dict[Any, TakenKind] = {
    inspect.Parameter.POSITIONAL_ONLY: "place",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "any",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "rest",
    inspect.Parameter.VAR_KEYWORD: "named",
}


def python_signature(name: str, function: Callable[..., Any]) -> Signature:
    """The signature of a Python function; without parameters for one that does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions in C
        return Signature(name)
    return Signature(name, tuple(map(_taken, parameters)))


def _taken(parameter: inspect.Parameter) -> Taken:
    kind = _KINDS[parameter.kind]
    stars = {"rest": "*", "named": "**"}.get(kind, "")
    is_required = parameter.default is parameter.empty and not stars
    default = "" if parameter.default is parameter.empty else f"={_shown(parameter.default)}"
    return Taken(parameter.name, f"{stars}{parameter.name}{default}", kind, is_required)


def _shown(value: Any) -> str:
    """A default as Jinja writes it."""
    return str(value).lower() if value is None or isinstance(value, bool) else repr(value)
