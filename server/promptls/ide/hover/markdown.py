"""Build hover texts in Markdown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from promptls.dialects import KeyFact
from promptls.rendering.job import plain
from promptls.rendering.samples import Sample
from promptls.text.escape import markdown_code, markdown_text
from promptls.text.format import shorten_text
from promptls.text.positions import Span

_MAX_VALUE: Final = 300


@dataclass(frozen=True, slots=True)
class Hover:
    """A Markdown text for the range `span` of a file."""

    span: Span
    markdown: str


def fact_text(fact: KeyFact) -> str:
    """Return the description of a key, as two paragraphs."""
    required = ", required" if fact.required else ""
    return f"**{fact.name}**: {fact.describe_type}{required}\n\n{fact.documentation}"


code: Final = markdown_code


def sample_text(sample: Sample) -> str:
    """Return a Markdown text that names the sample of a rendering."""
    return f"{code(sample.name)} ({markdown_text(sample.source)})"


def shown_value(value: Any) -> str:
    """Return a value as JSON, truncated if it is long."""
    return shorten_text(json.dumps(plain(value), ensure_ascii=False), _MAX_VALUE)
