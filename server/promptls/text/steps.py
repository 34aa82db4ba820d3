"""Long-running work as steps, so that its caller can do other things in between, or abandon it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Steps: TypeAlias = Generator[None, None, Result]
"""Work that pauses at each `yield`, and returns its result."""


def finish(steps: Steps[Result]) -> Result:
    """Run all steps and return the result."""
    results: list[Result] = []

    def run() -> Steps[None]:
        results.append((yield from steps))

    for _ in run():
        pass
    return results[0]
