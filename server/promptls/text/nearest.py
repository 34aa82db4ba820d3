"""The name that a misspelt one probably stands for."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, or None where none is like it."""
    folded = {candidate.casefold(): candidate for candidate in known}
    found = get_close_matches(name.casefold(), folded, n=1, cutoff=0.65)
    return folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message that names the nearest known name, or nothing."""
    found = nearest(name, known)
    return f"; did you mean `{found}`?" if found else ""
