"""The keys of templates, dialogues and meta templates in YAML. Plain tables.

Source: OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.systems.key_fact import KeyFact, table

TEMPLATE_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="type",
            required=False,
            type_words="class name",
            documentation="The template class: `PromptTemplate`, or `RawPromptTemplate` for messages.",
        ),
        KeyFact(
            name="template",
            required=True,
            type_words="text or mapping",
            documentation=(
                "A text with `{column}` fields; or a dialogue (`begin`, `round`, `end`); or a mapping"
                " from label to either, one prompt for each label."
            ),
        ),
        KeyFact(
            name="ice_token",
            required=False,
            type_words="text",
            documentation=(
                "The mark, often `</E>`, that is replaced by the in-context examples; it must stand "
                "in the text."
            ),
        ),
        KeyFact(
            name="sep_token",
            required=False,
            type_words="text",
            documentation="A mark that is removed from the text.",
        ),
        KeyFact(
            name="messages",
            required=False,
            type_words="list of mappings",
            documentation=(
                "The messages of a `RawPromptTemplate`: `role` and `content`; no column is masked in "
                "them, the answer's neither."
            ),
        ),
        KeyFact(
            name="format_variables",
            required=False,
            type_words="yes or no",
            documentation="Whether a `RawPromptTemplate` fills in its fields. Default: yes.",
        ),
    )
)
"""Keys of `ice_template` and `prompt_template`."""

DIALOGUE_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="begin",
            required=False,
            type_words="list of items",
            documentation="What stands before the dialogue, often a system message.",
        ),
        KeyFact(
            name="round",
            required=True,
            type_words="list of mappings",
            documentation=(
                "The turns: `role` and `prompt` each. What the last generating role says is left to "
                "the model."
            ),
        ),
        KeyFact(
            name="end",
            required=False,
            type_words="list of items",
            documentation=(
                "What stands behind the dialogue. With a meta template OpenCompass 0.5.4 fails when "
                "it reaches it."
            ),
        ),
    )
)
"""Keys of a dialogue template; one key more, and OpenCompass reads the mapping as labels."""

TURN_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="role",
            required=True,
            type_words="text",
            documentation=(
                "Who speaks: `HUMAN`, `BOT` or `SYSTEM` by custom; the model's meta template must "
                "know the role."
            ),
        ),
        KeyFact(
            name="fallback_role",
            required=False,
            type_words="text",
            documentation=(
                "The role to use where the meta template does not know `role`. In `round`, only models "
                "behind an API use it."
            ),
        ),
        KeyFact(
            name="prompt",
            required=False,
            type_words="text",
            documentation="What is said, with `{column}` fields.",
        ),
        KeyFact(
            name="begin",
            required=False,
            type_words="text",
            documentation="Text before the turn, in place of the meta template's.",
        ),
        KeyFact(
            name="end",
            required=False,
            type_words="text",
            documentation="Text behind the turn, in place of the meta template's.",
        ),
    )
)
"""Keys of one turn of a dialogue."""

META_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="begin",
            required=False,
            type_words="text",
            documentation="What stands before the whole dialogue.",
        ),
        KeyFact(
            name="round",
            required=True,
            type_words="list of mappings",
            documentation="The roles that the model knows, in the order of their turns.",
        ),
        KeyFact(
            name="end",
            required=False,
            type_words="text",
            documentation="What stands behind the whole dialogue; left out while the model writes.",
        ),
        KeyFact(
            name="reserved_roles",
            required=False,
            type_words="list of mappings",
            documentation="Roles that stand outside the turns, such as `SYSTEM`.",
        ),
    )
)
"""Keys of `meta_template`."""

META_ROLE_KEYS: Mapping[str, KeyFact] = table(
    (
        KeyFact(
            name="role",
            required=True,
            type_words="text",
            documentation="The role's name, as dialogues use it: `HUMAN`, `BOT`, `SYSTEM`.",
        ),
        KeyFact(
            name="begin",
            required=False,
            type_words="text",
            documentation="Text before each turn of the role.",
        ),
        KeyFact(
            name="prompt",
            required=False,
            type_words="text",
            documentation="What the role says where the dialogue gives it nothing.",
        ),
        KeyFact(
            name="end",
            required=False,
            type_words="text",
            documentation="Text behind each turn of the role.",
        ),
        KeyFact(
            name="generate",
            required=False,
            type_words="yes or no",
            documentation="Whether the model writes what this role says: its last turn ends the prompt.",
        ),
        KeyFact(
            name="api_role",
            required=False,
            type_words="text",
            documentation="The role in the messages for a model behind an API; all roles need one, or none.",
        ),
    )
)
"""Keys of a role of a meta template."""
