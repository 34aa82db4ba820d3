"""A dialogue during processing: texts, turns, marks of its sections, and why it cannot be made.

Source: `opencompass.utils.prompt` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from promptls.dialects.opencompass.vocabulary import INFER_KEYS

Argument = ParamSpec("Argument")
Result = TypeVar("Result")
ConfigPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead from `infer_cfg` (or the top level) to a value."""

_STRAY: Final = (
    AssertionError, AttributeError, IndexError, KeyError, TypeError, UnboundLocalError, ValueError,
    ZeroDivisionError,
)  # fmt: skip


class OpenCompassError(Exception):
    """A failure of OpenCompass: the problem, the remedy, and the location in the configuration.

    `cause` is the name of the exception that OpenCompass raises. `at` is empty if no single value is
    responsible. `missing` is the key that the mapping at `at` lacks. `known` has the valid keys if the last
    one of `at` is unknown. `is_opencompass` is false for what OpenCompass supports and promptls does not.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: str,
        at: ConfigPath = (),
        missing: str = "",
        known: Collection[str] = (),
        is_opencompass: bool = True,
    ) -> None:
        """Set all fields; `message` is also the exception's text."""
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.at = at
        self.missing = missing
        self.known = known
        self.is_opencompass = is_opencompass

    @property
    def clause(self) -> str:
        """The message without its capital letter and full stop."""
        first = self.message[0] if self.message.startswith("OpenCompass") else self.message[0].lower()
        return first + self.message[1:].removesuffix(".")


def convert_exceptions(function: Callable[Argument, Result]) -> Callable[Argument, Result]:
    """Convert unexpected exceptions of the decorated function to OpenCompassError with the same cause.

    Values of the wrong type cause unhandled exceptions in OpenCompass; they cause the same ones here, since
    each step is reproduced.
    """

    @wraps(function)
    def call(*args: Argument.args, **kwargs: Argument.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except _STRAY as error:
            kind = type(error).__name__
            said = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
            message = (
                f"OpenCompass fails on this configuration with a bare {kind}: {said or 'no more is said'}."
            )
            raise OpenCompassError(message, cause=kind) from error

    return call


def raise_first(problems: Iterable[OpenCompassError]) -> None:
    """Raise the first of the problems, as OpenCompass does."""
    for problem in problems:
        raise problem


def argument_problems(
    class_name: str,
    at: ConfigPath,
    config: Mapping[str, Any],
    needed: Collection[str],
    optional: Collection[str],
) -> Iterator[OpenCompassError]:
    """Yield the arguments that `class_name(…)` does not take, and those that it lacks."""
    known = (*needed, *optional, "type")
    for key in config:
        if key not in known:
            yield OpenCompassError(
                f"`{class_name}` takes no `{key}`.", cause="TypeError", at=(*at, key), known=known
            )
    for key in needed:
        if key not in config:
            yield OpenCompassError(
                f"`{class_name}` needs `{key}`{' of its own' if key in INFER_KEYS else ''}.",
                cause="TypeError",
                at=at,
                missing=key,
            )


Row: TypeAlias = Mapping[str, Any]
"""One row of a dataset: values by column."""


@dataclass(frozen=True, slots=True)
class PromptList:
    """The items of a dialogue: texts, turns with `role` and `prompt`, and marks with `section` and `pos`."""

    items: tuple[Any, ...]

    def filled(self, row: Row) -> PromptList:
        """Return the dialogue with the fields of its texts and of its turns' `prompt` filled from the row."""
        if "self" in row:
            raise OpenCompassError(
                "A dialogue cannot be filled in from a row with a column `self`: rename the column.",
                cause="TypeError",
            )
        items = []
        for item in self.items:
            if isinstance(item, Mapping):
                new = dict(item)
                if "prompt" in item:
                    new["prompt"] = fill_columns(item["prompt"], row)
                items.append(new)
            else:
                items.append(fill_columns(item, row))
        return PromptList(tuple(items))

    def replaced(self, mark: str, by: Prompt) -> PromptList:
        """Return the dialogue with `mark` replaced by `by`.

        A dialogue can only replace a mark in text items; messages remove such an item. Raises
        OpenCompassError if a turn's `prompt` would contain a dialogue.
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
        """All texts, concatenated: the output of the Prompt Viewer without a model."""
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
    """Messages with `role` and `content`, created by `RawPromptTemplate`."""

    items: tuple[Any, ...]

    @property
    def text(self) -> str:
        """The messages as a Python list: the output of the Prompt Viewer."""
        return str(list(self.items))


def complete_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows with the columns of all of them, like datasets; missing values are None."""
    columns = dict.fromkeys(column for row in rows for column in row)
    if all(len(row) == len(columns) for row in rows):
        return rows
    return [{column: row.get(column) for column in columns} for row in rows]


Prompt: TypeAlias = str | PromptList | Messages
"""The output of a template, before a model's meta template is applied."""


def fill_columns(text: Any, row: Row) -> Any:
    """Return `text` with every `{column}` replaced, one column after the other, in the row's order.

    So fields of later columns in a value are also replaced, and doubled braces remain.
    """
    if "input_str" in row:
        raise OpenCompassError(
            "OpenCompass cannot fill in a row with a column `input_str`: rename the column.",
            cause="TypeError",
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
    # Slices of a mapped text retain their origins.
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
                f"The examples are a dialogue, and `{mark}` is in the `prompt` of a turn, which holds "
                "text only: make it a separate item.",
                cause="TypeError",
            )
        if isinstance(by, Messages):
            raise OpenCompassError(
                f"The examples are messages, and `{mark}` is in the `prompt` of a turn.", cause="TypeError"
            )
        new["prompt"] = new["prompt"].replace(mark, by)
    return new
