"""The words of a parts template: part keys, section keys, roles, reserved names. Plain tables.

Source: Prompt Poet 0.0.52, which accepts exactly these keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.systems.key_fact import KeyFact, needed, optional, table

PART_KEYS: Mapping[str, KeyFact] = table(
    needed(
        "name",
        "text",
        (
            "The part's name, for people and for counts; it is not sent to the model, and several"
            " parts may share one."
        ),
    ),
    needed(
        "content",
        "text",
        (
            "What the model reads. White space at both ends is stripped, `<|space|>` becomes a "
            "space, and a written `\\n` becomes a line break. Required unless the part has "
            "`sections`; a list or mapping is kept as it is, for messages with images."
        ),
    ),
    optional(
        "role",
        "text",
        "The role of the message that the part becomes: `system`, `user`, `assistant`, … Default: `user`.",
    ),
    optional(
        "truncation_priority",
        "number",
        (
            "With a token limit, parts with a positive priority may be removed: the highest "
            "number goes first, and among adjacent parts of one number the topmost. Default 0: "
            "never removed."
        ),
    ),
    optional(
        "sections",
        "list of mappings",
        (
            "Named pieces (`name` and `content` each) that are joined without a separator into "
            "the part's content, and counted one by one. Takes the place of `content`."
        ),
    ),
    optional(
        "expected_template_data_keys",
        "list of names",
        "Names that the template data must hold; rendering fails when one is missing.",
    ),
    optional(
        "tokens",
        "list of integers",
        (
            "Preset token ids. Prompt Poet refuses them in a template unless it was built with "
            "`allow_token_overrides=True`."
        ),
    ),
)
"""The keys that a part may have; any other one is an error in Prompt Poet."""

SECTION_KEYS: Mapping[str, KeyFact] = table(
    needed("name", "text", "The section's name: its token count is found under it."),
    needed(
        "content",
        "text",
        (
            "The section's text. Spaces and tabs at both ends are stripped, line breaks are kept,"
            " `<|space|>` becomes a space; use `|` so that sections end in a line break."
        ),
    ),
    optional("truncation_priority", "number", "Kept, but never used: truncation removes whole parts."),
    optional(
        "tokens",
        "list of integers",
        "Preset token ids. Counting fails on them unless `allow_token_overrides=True`.",
    ),
)
"""The keys that a section of a part may have; Prompt Poet ignores any other one."""

ROLES: Mapping[str, str] = {
    "system": "Instructions that stand above the conversation.",
    "user": "What the person says; the role of a part that names none.",
    "assistant": "What the model said, or is to go on from.",
    "developer": "Instructions of the application; newer OpenAI models read it in place of `system`.",
    "tool": "The result of a tool that the model called.",
    "function": "The result of a function call, in the older OpenAI format.",
    "model": "What the model said, in the format of Gemini.",
}
"""Roles that chat models know, with what they mean. Prompt Poet itself passes any value on."""
SUPERSEDED_ROLES: frozenset[str] = frozenset({"function"})
"""Roles that OpenAI's API calls deprecated: `tool` took the place of `function`."""

DEFAULT_ROLE = "user"

RESERVED_INPUTS: Mapping[str, str] = {
    "token_limit": "The token limit that the prompt was built with; -1 when there is none.",
    "escape_special_characters": (
        "`escape_special_characters(text)`: the text with line breaks written as `\\n`, so that it can "
        "stand anywhere in the YAML; control characters, tabs and joined emoji lose their control characters."
    ),
}
"""Names that Prompt Poet adds to the template data itself, and refuses in the caller's data."""

SPACE_MARKER = "<|space|>"
"""Becomes one space after the white space around a part was stripped."""

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
"""Keys that `mapping.key` does not reach in Jinja: the method of that name comes first.

`mapping["key"]` reaches them."""
