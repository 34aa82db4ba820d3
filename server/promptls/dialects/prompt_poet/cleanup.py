"""The clean-up of a part's content, and the escaping of values for YAML.

Source: Prompt Poet 0.0.52.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from promptls.dialects.prompt_poet.vocabulary import SPACE_MARKER


@dataclass(frozen=True, slots=True)
class Markers:
    """The replacements that a caller of Prompt Poet may choose, with its defaults."""

    space: str = SPACE_MARKER
    newline: str = "\n"
    escaped_newline: str = "\\n"
    carriage_return: str = "\r"
    escaped_carriage_return: str = "\\r"
    single_quote: str = "'"
    # Prompt Poet's default does not change quotes.
    escaped_single_quote: str = "'"


DEFAULT_MARKERS = Markers()


def escape(string: str, markers: Markers = DEFAULT_MARKERS) -> str:
    """Return `string` without line breaks and control characters, like `escape_special_characters`.

    Line breaks are escaped. Every other character of a Unicode category C* is removed: tabs, joiners in
    emoji, private use. Templates may pass `string` as a keyword argument. Raises AttributeError for anything
    but text.
    """
    escaped = (
        string.replace(markers.newline, markers.escaped_newline)
        .replace(markers.carriage_return, markers.escaped_carriage_return)
        .replace(markers.single_quote, markers.escaped_single_quote)
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
        .replace("\u0085", "\\u0085")
    )
    if escaped.isprintable():
        # No character of a category C* is printable according to Python.
        return escaped
    for character in set(escaped):
        if unicodedata.category(character)[0] == "C":
            escaped = escaped.replace(character, "")
    return escaped


def unescape(text: str, markers: Markers = DEFAULT_MARKERS) -> str:
    """Return `text` with escaped line breaks and carriage returns restored; nothing else is unescaped."""
    return (
        text.replace(markers.escaped_newline, markers.newline)
        .replace(markers.escaped_carriage_return, markers.carriage_return)
        .replace(markers.escaped_single_quote, markers.single_quote)
    )


def clean_content(text: str, markers: Markers = DEFAULT_MARKERS) -> str:
    """Return a part's content as sent to the model: stripped, with marked spaces restored, then unescaped."""
    return unescape(text.strip().replace(markers.space, " "), markers)


def clean_section(text: str, markers: Markers = DEFAULT_MARKERS) -> str:
    """Return a section's content without leading and trailing spaces and tabs; line breaks remain."""
    return unescape(text.strip(" \t").replace(markers.space, " "), markers)
