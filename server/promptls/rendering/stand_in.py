"""What stands in for a function that nobody provides, so that a preview shows the rest of the prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

_ASKED_OF_ALL: Final = frozenset({"unsafe_callable", "alters_data", "jinja_pass_arg"})
"""What Jinja and its sandbox ask of whatever a template calls; names with `_` are asked of every object."""


def stand_in(name: str) -> Callable[..., Any]:
    """A function that answers with its first argument, or with its own name where it is given none."""

    def answer(*arguments: Any, **keywords: Any) -> Any:
        given = [*arguments, *keywords.values()]
        first = given[0] if given else f"<{name}>"
        return Answer(first) if type(first) is str else first

    return answer


class Answer(str):
    """A text that can be used as what a function may really give: as a list, a mapping or an object."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Answer]:
        """Two elements, which show what a loop repeats."""
        return iter((self._below(" 1"), self._below(" 2")))

    def __getattr__(self, name: str) -> Answer:
        if name.startswith("_") or name in _ASKED_OF_ALL:
            raise AttributeError(name)
        return self._below(f".{name}")

    def __call__(self, *_arguments: Any, **_keywords: Any) -> Answer:
        """What a method gives."""
        return self

    def _below(self, suffix: str) -> Answer:
        is_placeholder = self.startswith("<") and self.endswith(">")
        return Answer(f"{self[:-1]}{suffix}>" if is_placeholder else f"{self}{suffix}")
