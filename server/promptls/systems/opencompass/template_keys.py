"""The keys of templates, dialogues and meta templates in YAML. Plain tables.

Source: OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.systems.key_fact import KeyFact, needed, optional, table

TEMPLATE_KEYS: Mapping[str, KeyFact] = table(
    optional(
        "type", "class name", "The template class: `PromptTemplate`, or `RawPromptTemplate` for messages."
    ),
    needed(
        "template",
        "text or mapping",
        (
            "A text with `{column}` fields; or a dialogue (`begin`, `round`, `end`); or a mapping"
            " from label to either, one prompt for each label."
        ),
    ),
    optional(
        "ice_token",
        "text",
        "The mark, often `</E>`, that is replaced by the in-context examples; it must stand in the text.",
    ),
    optional("sep_token", "text", "A mark that is removed from the text."),
    optional(
        "messages",
        "list of mappings",
        (
            "The messages of a `RawPromptTemplate`: `role` and `content`; no column is masked in "
            "them, the answer's neither."
        ),
    ),
    optional(
        "format_variables", "yes or no", "Whether a `RawPromptTemplate` fills in its fields. Default: yes."
    ),
)
"""Keys of `ice_template` and `prompt_template`."""

DIALOGUE_KEYS: Mapping[str, KeyFact] = table(
    optional("begin", "list of items", "What stands before the dialogue, often a system message."),
    needed(
        "round",
        "list of mappings",
        "The turns: `role` and `prompt` each. What the last generating role says is left to the model.",
    ),
    optional(
        "end",
        "list of items",
        "What stands behind the dialogue. With a meta template OpenCompass 0.5.4 fails when it reaches it.",
    ),
)
"""Keys of a dialogue template; one key more, and OpenCompass reads the mapping as labels."""

TURN_KEYS: Mapping[str, KeyFact] = table(
    needed(
        "role",
        "text",
        "Who speaks: `HUMAN`, `BOT` or `SYSTEM` by custom; the model's meta template must know the role.",
    ),
    optional(
        "fallback_role",
        "text",
        (
            "The role to use where the meta template does not know `role`. In `round`, only models "
            "behind an API use it."
        ),
    ),
    optional("prompt", "text", "What is said, with `{column}` fields."),
    optional("begin", "text", "Text before the turn, in place of the meta template's."),
    optional("end", "text", "Text behind the turn, in place of the meta template's."),
)
"""Keys of one turn of a dialogue."""

META_KEYS: Mapping[str, KeyFact] = table(
    optional("begin", "text", "What stands before the whole dialogue."),
    needed("round", "list of mappings", "The roles that the model knows, in the order of their turns."),
    optional("end", "text", "What stands behind the whole dialogue; left out while the model writes."),
    optional("reserved_roles", "list of mappings", "Roles that stand outside the turns, such as `SYSTEM`."),
)
"""Keys of `meta_template`."""

META_ROLE_KEYS: Mapping[str, KeyFact] = table(
    needed("role", "text", "The role's name, as dialogues use it: `HUMAN`, `BOT`, `SYSTEM`."),
    optional("begin", "text", "Text before each turn of the role."),
    optional("prompt", "text", "What the role says where the dialogue gives it nothing."),
    optional("end", "text", "Text behind each turn of the role."),
    optional(
        "generate",
        "yes or no",
        "Whether the model writes what this role says: its last turn ends the prompt.",
    ),
    optional(
        "api_role", "text", "The role in the messages for a model behind an API; all roles need one, or none."
    ),
)
"""Keys of a role of a meta template."""
