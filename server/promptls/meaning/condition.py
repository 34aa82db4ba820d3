"""A comparison of a value with constants, as far as it is known to hold at a place."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from promptls.meaning.paths import Path


class Condition(NamedTuple):
    """That the value at a path is one of some constants, or is none of them.

    `is_partial` where more must hold, of which nothing is known.
    """

    path: Path
    values: frozenset[object]
    is_among: bool
    is_partial: bool = False


Conditions: TypeAlias = tuple[Condition, ...]
"""What all holds at a place; nothing is known where there is none."""
