"""The words that choose examples of the prompt in place of rows: `examples`, `example 2`."""

from __future__ import annotations

import re

ALL_EXAMPLES = "examples"
"""The word for all examples of the prompt."""

_ONE = re.compile(r"example (\d{1,9})")


def is_of_examples(rows: str | None) -> bool:
    """Return whether this choice of rows is one of the prompt's examples."""
    return rows == ALL_EXAMPLES or example_number(rows) is not None


def example_number(rows: str | None) -> int | None:
    """Return the number, from 1, of the one example that is chosen; None if it is not one."""
    match = _ONE.fullmatch(rows or "")
    return int(match[1]) if match else None


def one_example(number: int) -> str:
    """Return the choice of the example of this number, from 1."""
    return f"example {number}"
