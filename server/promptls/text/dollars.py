"""How an amount of money is written, everywhere."""

from __future__ import annotations

from math import floor, log10


def in_dollars(amount: float) -> str:
    """US dollars as words: `$1,234.50`; below one dollar with two significant digits, as `$0.0042`."""
    if amount == 0:
        return "$0"
    decimals = 2 if abs(amount) >= 1 else 1 - floor(log10(abs(amount)))
    return f"${amount:,.{decimals}f}"
