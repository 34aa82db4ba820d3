"""Markdown as plain text, for clients that show no Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_TABLE_RULE = re.compile(r"^\|(?:\s*:?-+:?\s*\|)+\n?", re.MULTILINE)
_FENCE = re.compile(r"^```\w*\n?", re.MULTILINE)


def without_markdown(text: str) -> str:
    """The text without code marks, bold and table rules; what remains reads as before."""
    text = _FENCE.sub("", _TABLE_RULE.sub("", text))
    return text.replace("**", "").replace("`", "").strip()


def hover_contents(session: Session, markdown: str) -> types.MarkupContent:
    """What a hover shows, in the form that the client takes."""
    if session.flags.markdown:
        return types.MarkupContent(types.MarkupKind.Markdown, markdown)
    return types.MarkupContent(types.MarkupKind.PlainText, without_markdown(markdown))


def in_form(text: str, formats: tuple[str, ...]) -> str | dict[str, str]:
    """A text in Markdown as a client that takes these formats gets it; a plain string for none of them."""
    if "markdown" in formats:
        return {"kind": "markdown", "value": text}
    plain = without_markdown(text)
    return {"kind": "plaintext", "value": plain} if "plaintext" in formats else plain
