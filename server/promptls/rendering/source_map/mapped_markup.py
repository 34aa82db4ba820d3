"""Markup that keeps its pieces: what filters such as `e` and `safe` make of mapped texts."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from promptls.rendering.source_map.mapped_text import MappedText


class MappedMarkup(Markup):
    """A text that is markup, with its pieces. What is made of it, but for what filters make, has none."""

    __slots__ = ("_promptls_pieces",)

    _promptls_pieces: list[Any] | None

    def __new__(cls, base: Any = "", encoding: str | None = None, errors: str = "strict") -> MappedMarkup:  # noqa: PYI034 - there is no class below it
        """As Markup."""
        self = super().__new__(cls, base, encoding, errors)
        self._promptls_pieces = None
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """A copy is plain markup."""
        return Markup, (str(self),)


def as_markup(text: str) -> Markup:
    """The text as markup that keeps its pieces."""
    found = MappedMarkup(str(text))
    if type(text) is MappedText:
        found._promptls_pieces = text._promptls_pieces  # noqa: SLF001 - the name keeps templates from it
    return found


def as_text(value: Any) -> str:
    """The value as text, as `str` makes it, with its pieces where it has any."""
    if type(value) is str or type(value) is MappedText:
        return value
    if type(value) is MappedMarkup and value._promptls_pieces is not None:  # noqa: SLF001 - as above
        return MappedText(str(value), value._promptls_pieces)  # noqa: SLF001 - as above
    return str(value)
