"""What a hover is."""

from __future__ import annotations

from dataclasses import dataclass

from promptls.systems.key_fact import KeyFact
from promptls.text.span import Span


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
