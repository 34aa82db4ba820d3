"""A block that is open where a walk over a template has come to, and what it says of the uses inside."""

from __future__ import annotations

from typing import Final, NamedTuple

from promptls.meaning.condition import Conditions
from promptls.meaning.paths import Path
from promptls.meaning.shape import Shape
from promptls.meaning.type_tests import Narrowed


class Around(NamedTuple):
    """What the conditions around a use ask for, and what they say of types and of other values."""

    asked: tuple[Path, ...] = ()
    typed: tuple[Narrowed, ...] = ()
    where: Conditions = ()


NOTHING_AROUND: Final = Around()


class Frame:
    """One open block: what its names stand for, and what its branch asks for.

    `told` are the variables that were noted in it, each with a shape and that one's identity, since a
    name last stood for something else.
    """

    __slots__ = (
        "asked", "asked_else", "keyword", "names", "tested", "told", "typed", "typed_else", "where",
        "where_else",
    )  # fmt: skip

    def __init__(
        self,
        keyword: str,
        asked: tuple[Path, ...] = (),
        asked_else: tuple[Path, ...] = (),
        typed: tuple[Narrowed, ...] = (),
        typed_else: tuple[Narrowed, ...] = (),
        where: Conditions = (),
        where_else: Conditions = (),
    ) -> None:
        self.keyword = keyword
        self.names: dict[str, Path] = {}
        self.asked = asked
        self.asked_else = asked_else
        self.typed = typed
        self.typed_else = typed_else
        self.where = where
        self.where_else = where_else
        self.tested = (*typed, *typed_else) if typed or typed_else else ()
        self.told: dict[tuple[str, int], Shape] = {}

    def copied(self) -> Frame:
        """The block with the names that it has now, and nothing noted in it."""
        other = Frame(
            self.keyword,
            self.asked,
            self.asked_else,
            self.typed,
            self.typed_else,
            self.where,
            self.where_else,
        )
        other.names = self.names.copy()
        other.tested = self.tested
        return other
