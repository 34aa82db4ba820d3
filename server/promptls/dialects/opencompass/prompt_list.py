"""A dialogue on its way to a model: texts, turns, and the marks of where its sections begin and end.

Source: `opencompass.utils.prompt` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from promptls.dialects.opencompass.failures import OpenCompassError

Row: TypeAlias = Mapping[str, Any]
"""One row of a dataset: values by column."""


@dataclass(frozen=True, slots=True)
class PromptList:
    """The items of a dialogue: texts, turns with `role` and `prompt`, and marks with `section` and `pos`."""

    items: tuple[Any, ...]

    def filled(self, row: Row) -> PromptList:
        """Return the dialogue with the row's values in the fields of its texts and of its turns' `prompt`."""
        if "self" in row:
            raise OpenCompassError(
                "A dialogue cannot be filled in from a row with a column `self`: rename the column.",
                cause="TypeError",
                said="PromptList.format() got multiple values for argument 'self'",
            )
        items = []
        for item in self.items:
            if isinstance(item, Mapping):
                new = dict(item)
                if "prompt" in item:
                    new["prompt"] = filled(item["prompt"], row)
                items.append(new)
            else:
                items.append(filled(item, row))
        return PromptList(tuple(items))

    def replaced(self, mark: str, by: Prompt) -> PromptList:
        """Return the dialogue with `by` where `mark` stands.

        A dialogue goes only into items that are texts; messages take such an item's place with
        nothing. Raises OpenCompassError where a turn's `prompt` would need to hold a dialogue.
        """
        items: list[Any] = []
        for item in self.items:
            if isinstance(item, str):
                items += _replaced_text(item, mark, by)
            elif isinstance(item, Mapping):
                items.append(_replaced_turn(item, mark, by))
            else:
                items.append(item.replace(mark, by))
        return PromptList(tuple(items))

    @property
    def text(self) -> str:
        """All texts in one, with nothing between them: what the Prompt Viewer prints without a model."""
        texts = []
        for item in self.items:
            if isinstance(item, str):
                texts.append(item)
            elif isinstance(item, Mapping):
                texts += [item["prompt"]] if "prompt" in item else []
            else:
                raise TypeError("Invalid type in prompt list when converting to string")
        return "".join(texts)


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages with `role` and `content`, as `RawPromptTemplate` makes them."""

    items: tuple[Any, ...]

    @property
    def text(self) -> str:
        """The messages as Python writes them: what the Prompt Viewer prints."""
        return str(list(self.items))


def complete_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows with the columns of all of them, as datasets have them: None if a row lacks one."""
    columns = dict.fromkeys(column for row in rows for column in row)
    if all(len(row) == len(columns) for row in rows):
        return rows
    return [{column: row.get(column) for column in columns} for row in rows]


Prompt: TypeAlias = str | PromptList | Messages
"""What a template makes, before a model's meta template lays it out."""


def filled(text: Any, row: Row) -> Any:
    """`text` with every `{column}` replaced, one column after the other, in the row's order.

    So a value that holds the field of a later column is filled in itself, and doubled braces stay.
    """
    if "input_str" in row:
        raise OpenCompassError(
            "OpenCompass cannot fill in a row with a column `input_str`: rename the column.",
            cause="TypeError",
            said="safe_format() got multiple values for argument 'input_str'",
        )
    for column, value in row.items():
        text = text.replace(f"{{{column}}}", str(value))
    return text


def _replaced_text(item: str, mark: str, by: Prompt) -> list[Any]:
    if isinstance(by, str):
        return [item.replace(mark, by)]
    if isinstance(by, Messages):
        return []
    made: list[Any] = []
    start = 0
    # Slices of a text that knows where it comes from know it too.
    while (place := item.find(mark, start)) >= 0:
        made += [item[start:place]] if place > start else []
        made += by.items
        start = place + len(mark)
    return [*made, item[start:]] if start < len(item) else made


def _replaced_turn(item: Mapping[str, Any], mark: str, by: Prompt) -> dict[str, Any]:
    new = dict(item)
    if "prompt" in item and mark in item["prompt"]:
        if isinstance(by, PromptList):
            raise OpenCompassError(
                f"The examples are a dialogue, and `{mark}` stands in the `prompt` of a turn, which holds "
                "text only: let it be an item of its own.",
                cause="TypeError",
                said=f"Found keyword {mark} in a dictionary's prompt key. Cannot replace with a PromptList.",
            )
        if isinstance(by, Messages):
            raise OpenCompassError(
                f"The examples are messages, and `{mark}` stands in the `prompt` of a turn.",
                cause="TypeError",
                said="replace() argument 2 must be str, not list",
            )
        new["prompt"] = new["prompt"].replace(mark, by)
    return new
