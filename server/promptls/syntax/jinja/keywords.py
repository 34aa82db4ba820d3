"""The words that name tags."""

from __future__ import annotations

from typing import Final

BLOCKS: Final = frozenset(
    {"for", "if", "block", "macro", "call", "filter", "set", "with", "autoescape", "raw"}
)
"""Keywords that can open a block; `set` does so only without a value."""

MIDDLES: Final = {"elif": ("if",), "else": ("if", "for")}
"""Keywords that divide a block, and the blocks that they divide."""

KEYWORDS: Final = (
    BLOCKS
    | {"elif", "else", "include", "import", "from", "extends", "print"}
    | {f"end{keyword}" for keyword in BLOCKS}
)
"""Every tag of Jinja without extensions, as Prompt Poet uses it."""
