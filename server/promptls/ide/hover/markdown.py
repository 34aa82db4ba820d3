"""Build hover texts in Markdown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from promptls.dialects.key_fact import KeyFact
from promptls.rendering.job import plain
from promptls.rendering.samples import Sample
from promptls.text.escape import markdown_code, markdown_text
from promptls.text.positions import Span

_MAX_VALUE: Final = 300


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown about the stretch `span` of a file."""

    span: Span
    markdown: str


def fact_text(fact: KeyFact) -> str:
    """Return what is known of a key, as two paragraphs."""
    required = ", required" if fact.required else ""
    return f"**{fact.name}**: {fact.type_words}{required}\n\n{fact.documentation}"


code: Final = markdown_code


def sample_text(sample: Sample) -> str:
    """Return which data a rendering was made with, in Markdown."""
    return f"{code(sample.name)} ({markdown_text(sample.source)})"


def shown_value(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = json.dumps(plain(value), ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…"
