"""The keywords of tags, and the purpose of each tag."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

BLOCKS: Final = frozenset(
    {"for", "if", "block", "macro", "call", "filter", "set", "with", "autoescape", "raw"}
)
"""Keywords that can open a block; `set` does so only without a value."""

MIDDLES: Final = {"elif": ("if",), "else": ("if", "for")}
"""Keywords that divide a block, and the blocks that they divide."""

KEYWORDS: Final = (
    BLOCKS
    | {"elif", "else", "include", "import", "from", "extends", "print"}
    | {f"end{keyword}" for keyword in BLOCKS}
)
"""Every tag of Jinja without extensions, as Prompt Poet uses it."""


class TagFact(NamedTuple):
    """A tag.

    `form` is its text between the delimiters, with placeholders such as `${1:name}`; `middle` are the
    tags that divide its block, if it opens one.
    """

    form: str
    documentation: str
    opens_block: bool = False


TAGS: Final[Mapping[str, TagFact]] = MappingProxyType(
    {
        "if": TagFact(
            "if ${1:condition}", "The text up to `endif`, where the condition holds.", opens_block=True
        ),
        "for": TagFact(
            "for ${1:item} in ${2:items}",
            "The text up to `endfor` once for each element. `loop` knows the turn, `else` is for none.",
            opens_block=True,
        ),
        "set": TagFact(
            "set ${1:name} = ${2:value}",
            "Gives a name to a value. What a loop's body sets is gone behind each turn: use `namespace`.",
        ),
        "include": TagFact(
            "include ${1:name}", "The rendered text of another template, which sees this one's variables."
        ),
        "macro": TagFact(
            "macro ${1:name}(${2:parameter})",
            "Gives the text up to `endmacro` when it is called. Imported, it sees data only `with context`.",
            opens_block=True,
        ),
        "import": TagFact(
            "import ${1:name} as ${2:alias}", "The macros and variables of another template, under one name."
        ),
        "from": TagFact("from ${1:name} import ${2:macro}", "Some macros or variables of another template."),
        "raw": TagFact(
            "raw", "The text up to `endraw` as it is: Jinja's marks in it mean nothing.", opens_block=True
        ),
        "filter": TagFact(
            "filter ${1:indent}", "The text up to `endfilter`, put through a filter.", opens_block=True
        ),
        "with": TagFact(
            "with ${1:name} = ${2:value}", "Variables that are there up to `endwith` only.", opens_block=True
        ),
        "call": TagFact(
            "call ${1:macro}()",
            "Calls a macro, which gets the text up to `endcall` by calling `caller()`.",
            opens_block=True,
        ),
        "block": TagFact(
            "block ${1:name}", "A piece that templates which extend this one may replace.", opens_block=True
        ),
        "extends": TagFact("extends ${1:name}", "Takes another template, and replaces its blocks."),
        "elif": TagFact(
            "elif ${1:condition}", "The branch for where no condition above holds, but this one does."
        ),
        "else": TagFact("else", "The branch for where no condition holds, or a loop has no elements."),
        "autoescape": TagFact(
            "autoescape ${1:true}",
            "Whether values up to `endautoescape` are escaped as HTML.",
            opens_block=True,
        ),
        "print": TagFact("print ${1:value}", "The value as text, as `{{ … }}` gives it."),
    }
)
"""The tags by their keyword, the most common in prompts first."""


def end_documentation(keyword: str) -> str:
    """Return the documentation of the tag that closes a block."""
    return f"Closes the `{keyword}` block."
