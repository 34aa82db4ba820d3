"""The names in a parts template, the escaping of values for YAML, and the clean-up of contents.

Part keys, section keys, roles and reserved names. Source: Prompt Poet 0.0.52, which accepts exactly these
keys.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from promptls.dialects import KeyFact, optional, required_key, table

EXPECTED_KEYS: Final = "expected_template_data_keys"
"""The key of a part that lists names of the template data."""

PART_KEYS: Mapping[str, KeyFact] = table(
    required_key(
        "name",
        "text",
        "Name of the part, for people and token counts. It is not sent to the model. Several parts may "
        "have the same name.",
    ),
    required_key(
        "content",
        "text",
        "Text for the model. Leading and trailing white space is stripped, `<|space|>` becomes a "
        "space, and a literal `\\n` becomes a line break. Required unless the part has `sections`. "
        "Lists and mappings stay as they are, for messages with images.",
    ),
    optional("role", "text", "Role of the message: `system`, `user`, `assistant`, … Default: `user`."),
    optional(
        "truncation_priority",
        "number",
        "With a token limit, parts with a positive priority may be removed: the highest number first, "
        "and the topmost of adjacent parts with the same number. Default: 0, never removed.",
    ),
    optional(
        "sections",
        "list of mappings",
        "Named pieces, each with `name` and `content`. They replace `content`, are joined without a "
        "separator, and are counted separately.",
    ),
    optional(
        EXPECTED_KEYS,
        "list of names",
        "Names that the template data must contain. Rendering fails if one is missing.",
    ),
    optional(
        "tokens",
        "list of integers",
        "Preset token ids. Prompt Poet rejects them unless the prompt is built with "
        "`allow_token_overrides=True`.",
    ),
)
"""The keys of a part; any other key is an error in Prompt Poet."""

SECTION_KEYS: Mapping[str, KeyFact] = table(
    required_key("name", "text", "Name of the section, for token counts."),
    required_key(
        "content",
        "text",
        "Text of the section. Leading and trailing spaces and tabs are stripped, line breaks remain, "
        "and `<|space|>` becomes a space. Use `|` to end sections with a line break.",
    ),
    optional("truncation_priority", "number", "Has no effect: truncation removes whole parts."),
    optional(
        "tokens", "list of integers", "Preset token ids. Counting fails unless `allow_token_overrides=True`."
    ),
)
"""The keys of a section of a part; Prompt Poet ignores any other key."""

ROLES: Mapping[str, str] = {
    "system": "Instructions before the conversation.",
    "user": "The user's message. The default role of parts.",
    "assistant": "The model's message, or the beginning of its answer.",
    "developer": "Instructions of the application. Newer OpenAI models use it instead of `system`.",
    "tool": "The result of a tool that the model called.",
    "function": "The result of a function call, in the older OpenAI format.",
    "model": "The model's message, in the format of Gemini.",
}
"""The roles of chat models, with their meanings. Prompt Poet itself passes on any value."""
SUPERSEDED_ROLES: frozenset[str] = frozenset({"function"})
"""Roles deprecated in OpenAI's API: `tool` replaces `function`."""

DEFAULT_ROLE = "user"

RESERVED_INPUTS: Mapping[str, str] = {
    "token_limit": "The token limit of the prompt, -1 if there is none.",
    "escape_special_characters": (
        "`escape_special_characters(text)`: the text with line breaks as `\\n`, so that it is valid "
        "anywhere in the YAML. Control characters are removed, also tabs and those in joined emoji."
    ),
}
"""Names that Prompt Poet adds to the template data itself, and rejects in the caller's data."""

SPACE_MARKER = "<|space|>"
"""A marker that is replaced by a space after stripping the white space around a part."""


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
