"""Markdown as plain text, for clients that show no Markdown."""

from __future__ import annotations

import re

_TABLE_RULE = re.compile(r"^\|(?:\s*:?-+:?\s*\|)+\n?", re.MULTILINE)
_FENCE = re.compile(r"^```\w*\n?", re.MULTILINE)


def without_markdown(text: str) -> str:
    """The text without code marks, bold and table rules; what remains reads as before."""
    text = _FENCE.sub("", _TABLE_RULE.sub("", text))
    return text.replace("**", "").replace("`", "").strip()
