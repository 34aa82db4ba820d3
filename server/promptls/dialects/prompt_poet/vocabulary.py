"""Tables of the names in a parts template: part keys, section keys, roles and reserved names.

Source: Prompt Poet 0.0.52, which accepts exactly these keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.dialects.key_fact import KeyFact, needed, optional, table

PART_KEYS: Mapping[str, KeyFact] = table(
    needed(
        "name",
        "text",
        (
            "Name of the part, for people and token counts. It is not sent to the model. Several parts may "
            "have the same name."
        ),
    ),
    needed(
        "content",
        "text",
        (
            "Text for the model. Leading and trailing white space is stripped, `<|space|>` becomes a "
            "space, and a literal `\\n` becomes a line break. Required unless the part has `sections`. "
            "Lists and mappings are kept unchanged, for messages with images."
        ),
    ),
    optional(
        "role",
        "text",
        "Role of the message: `system`, `user`, `assistant`, … Default: `user`.",
    ),
    optional(
        "truncation_priority",
        "number",
        (
            "With a token limit, parts with a positive priority may be removed: the highest number first, "
            "and the topmost of adjacent parts with the same number. Default: 0, never removed."
        ),
    ),
    optional(
        "sections",
        "list of mappings",
        (
            "Named pieces, each with `name` and `content`. They replace `content`, are joined without a "
            "separator, and are counted separately."
        ),
    ),
    optional(
        "expected_template_data_keys",
        "list of names",
        "Names that the template data must contain. Rendering fails if one is missing.",
    ),
    optional(
        "tokens",
        "list of integers",
        (
            "Preset token ids. Prompt Poet rejects them unless the prompt is built with "
            "`allow_token_overrides=True`."
        ),
    ),
)
"""The keys of a part; any other key is an error in Prompt Poet."""

SECTION_KEYS: Mapping[str, KeyFact] = table(
    needed("name", "text", "Name of the section, for token counts."),
    needed(
        "content",
        "text",
        (
            "Text of the section. Leading and trailing spaces and tabs are stripped, line breaks are kept, "
            "and `<|space|>` becomes a space. Use `|` to end sections with a line break."
        ),
    ),
    optional("truncation_priority", "number", "Has no effect: truncation removes whole parts."),
    optional(
        "tokens",
        "list of integers",
        "Preset token ids. Counting fails unless `allow_token_overrides=True`.",
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

DICT_METHODS: tuple[str, ...] = (
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
)
"""Keys that `mapping.key` cannot access in Jinja, because a method of that name has precedence.

`mapping["key"]` can access them."""
