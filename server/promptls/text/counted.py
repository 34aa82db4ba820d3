"""Numbers with their nouns."""

from __future__ import annotations


def counted(number: float, noun: str) -> str:
    """The number with its noun, in the plural where that is due: `1 token`, `1,234 tokens`, `0.5 seconds`."""
    plural = f"{noun}es" if noun.endswith("x") else f"{noun}s"
    return f"{number:,.15g} {noun if number == 1 else plural}"
