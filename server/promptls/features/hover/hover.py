"""What a hover is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from promptls.rendering.values import plain
from promptls.systems.key_fact import KeyFact
from promptls.text.span import Span

_MOST_VALUE: Final = 300


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown about the stretch `span` of a file."""

    span: Span
    markdown: str


def fact_text(fact: KeyFact) -> str:
    """What is known of a key, as two paragraphs."""
    required = ", required" if fact.required else ""
    return f"**{fact.name}**: {fact.type_words}{required}\n\n{fact.documentation}"


def code(value: str) -> str:
    """`value` as code on one line of Markdown."""
    fence = "``" if "`" in value else "`"
    padding = " " if fence == "``" else ""
    return f"{fence}{padding}{' '.join(value.split())}{padding}{fence}"


def shown_value(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(plain(value), ensure_ascii=False)
    return text if len(text) <= _MOST_VALUE else f"{text[:_MOST_VALUE]}…"
