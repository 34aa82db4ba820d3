"""Which limits and steps are worth trying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

STEP_SHARES: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75)
"""The steps that are tried, as shares of the limit, beside a step of 1 token."""
LIMIT_SHARES: Final = (0.5, 0.75, 1.0, 1.5, 2.0)
"""The limits that are tried, as shares of the present one."""
LENGTH_SHARES: Final = (0.25, 0.5, 0.75)
"""The limits that are tried where there is none, as shares of the chat's longest prompt."""
_DIGITS: Final = 2


def candidate_steps(limit: int, present: int | None = None) -> tuple[int, ...]:
    """The steps to try under a limit, the smallest first: 1, round shares of it, and the present one."""
    shares = (rounded(limit * share) for share in STEP_SHARES)
    return _unique((1, *shares, *([present] if present else [])))


def candidate_limits(present: int | None, longest: int) -> tuple[int, ...]:
    """The limits to try, the smallest first, for a chat whose longest prompt has `longest` tokens.

    Limits that the chat never reaches show nothing, and are left out, but for the present one.
    """
    if present is None:
        return _unique(rounded(longest * share) for share in LENGTH_SHARES)
    tried = (present if share == 1 else rounded(present * share) for share in LIMIT_SHARES)
    return _unique(limit for limit in tried if limit == present or limit < longest)


def rounded(number: float) -> int:
    """The number with two digits that count, as people write limits; at least 1."""
    whole = max(1, round(number))
    return round(whole, -max(0, len(str(whole)) - _DIGITS))


def _unique(numbers: Iterable[int]) -> tuple[int, ...]:
    found: Sequence[int] = sorted(set(numbers))
    return tuple(found)
