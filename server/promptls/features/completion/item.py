"""What completion gives: plain data, which any client's form can be made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from promptls.text.span import Span

ItemKind = Literal[
    "variable",
    "property",
    "function",
    "method",
    "keyword",
    "value",
    "enum",
    "file",
    "snippet",
    "module",
    "constant",
    "field",
]

SETTING: Final = "setting"
"""The source of the items for a settings file."""
FIRST: Final = 0
"""The rank of what is due."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that may stand at the place.

    `text` takes the place of the word, where it is another than `label`; `snippet` does so in clients
    that fill in placeholders, and leaves valid text as it is. `detail` says in a few words what it
    is; `parameters` stand right behind the label. Items are sorted by `rank` and then by label.
    """

    label: str
    kind: ItemKind
    rank: int = 50
    text: str = ""
    snippet: str = ""
    detail: str = ""
    parameters: str = ""
    is_deprecated: bool = False
    is_preselected: bool = False
    filter_text: str = ""
    commits: str = ""
    """The characters that accept the item when they are typed."""

    @property
    def plain_text(self) -> str:
        """What is inserted in clients without placeholders."""
        return self.text or self.label


@dataclass(frozen=True, slots=True)
class Completion:
    """The items for a place.

    `insert` is the word up to the place, which every item takes the place of, and `replace` all of
    the word. `source` and `path` find the documentation of an item again. `is_incomplete` says
    that more typing may bring other items.
    """

    items: tuple[Item, ...]
    insert: Span
    replace: Span
    source: str
    path: tuple[str, ...] = ()
    is_incomplete: bool = False


def table_items(values: Mapping[str, str], rank: int = 10) -> Iterator[Item]:
    """The values of a table, in its order, from a rank on."""
    for index, name in enumerate(values):
        yield Item(name, "enum", rank + index)


def name_items(names: Mapping[str, Any], detail: str) -> Iterator[Item]:
    """Names of the file or its data, in their order, with what they are."""
    for index, name in enumerate(names):
        yield Item(name, "field", 10 + min(index, 80), detail=detail)
