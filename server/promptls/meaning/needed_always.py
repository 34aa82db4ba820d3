"""Whether a value that is needed where one of some clauses holds is needed everywhere."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from promptls.meaning.shape import Clause

_MOST_CLAUSES: Final = 60
_MOST_WAYS: Final = 4
_OTHER: Final = object()
"""Stands for all constants that no clause names."""


@lru_cache(maxsize=1024)
def is_needed_always(clauses: frozenset[Clause]) -> bool:
    """Whether one of the clauses holds whatever the compared values are; False where they are too many."""
    certain = [clause for clause in clauses if not any(need.is_partial for need in clause)]
    ways = {need.way for clause in certain for need in clause}
    return len(certain) <= _MOST_CLAUSES and len(ways) <= _MOST_WAYS and _covers(certain)


def _covers(clauses: list[Clause]) -> bool:
    """Whether clauses leave nothing out, value by value of what one of them asks for."""
    if not clauses or frozenset() in clauses:
        return bool(clauses)
    way = min(need.way for need in min(clauses, key=len))
    values = {value for clause in clauses for need in clause if need.way == way for value in need.values}
    return all(_covers(_left(clauses, way, value)) for value in (_OTHER, *values))


def _left(clauses: list[Clause], way: tuple[str, ...], value: object) -> list[Clause]:
    """What is left to hold of the clauses where the value at `way` is known."""
    return [
        frozenset([need for need in clause if need.way != way])
        for clause in clauses
        if all((value in need.values) is need.is_among for need in clause if need.way == way)
    ]
