"""Long work as steps, between which whoever runs it may do something else, or leave it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Steps: TypeAlias = Generator[None, None, Result]
"""Work that stops for a moment at each `yield`, and returns its result."""


def finished(steps: Steps[Result]) -> Result:
    """Return the result of all steps, one behind the other."""
    results: list[Result] = []

    def kept() -> Steps[None]:
        results.append((yield from steps))

    for _ in kept():
        pass
    return results[0]
