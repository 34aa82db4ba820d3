"""The types and modifiers of semantic tokens, in the order of their numeric ids."""

from __future__ import annotations

from typing import Final, NamedTuple

STANDARD_TYPES: Final = (
    "namespace",
    "variable",
    "parameter",
    "property",
    "function",
    "method",
    "keyword",
    "comment",
    "string",
    "number",
    "operator",
)
"""Types that all editors support."""

OWN_TYPES: Final = {
    "key": "A key of YAML.",
    "input": "A variable that the caller gives.",
    "filter": "A filter of Jinja.",
    "test": "A test of Jinja.",
    "block": "The name of a block of a template.",
    "partName": "The name of a part or of a section.",
    "role": "The role of a part.",
    "promptText": "Text that the model reads.",
    "constant": "A constant such as true or none.",
    "tagDelimiter": "The beginning or end of a Jinja statement.",
    "outputDelimiter": "The beginning or end of a printed Jinja expression.",
}
"""Types specific to prompts, with their descriptions; the extension declares them to VS Code."""

TYPES: Final = (*STANDARD_TYPES, *OWN_TYPES)
MODIFIERS: Final = ("declaration", "modification", "defaultLibrary")

DECLARATION: Final = 1
MODIFICATION: Final = 2
DEFAULT_LIBRARY: Final = 4

NUMBER: Final = {name: number for number, name in enumerate(TYPES)}
"""The numeric id of each type."""


class SemanticToken(NamedTuple):
    """A token from `start` to `end`, with the name of its type and a bit set of its modifiers."""

    start: int
    end: int
    type: str
    modifiers: int = 0
