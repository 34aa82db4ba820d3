"""Markdown as plain text, for clients that show no Markdown."""

from __future__ import annotations

import re

_TABLE_RULE = re.compile(r"^\|(?:\s*:?-+:?\s*\|)+\n?", re.MULTILINE)
_FENCE = re.compile(r"^```\w*\n?", re.MULTILINE)


def without_markdown(text: str) -> str:
    """The text without code marks, bold and table rules; what remains reads as before."""
    text = _FENCE.sub("", _TABLE_RULE.sub("", text))
    return text.replace("**", "").replace("`", "").strip()


def in_form(text: str, formats: tuple[str, ...]) -> str | dict[str, str]:
    """A text in Markdown as a client that takes these formats gets it; a plain string for none of them."""
    if "markdown" in formats:
        return {"kind": "markdown", "value": text}
    plain = without_markdown(text)
    return {"kind": "plaintext", "value": plain} if "plaintext" in formats else plain
