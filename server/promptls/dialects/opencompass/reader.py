"""`reader_cfg`: the input columns, the answer column, and the range of rows.

Source: `opencompass.openicl.icl_dataset_reader` of OpenCompass 0.5.4.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from promptls.dialects.opencompass.failures import OpenCompassError
from promptls.dialects.opencompass.prompt_list import Row
from promptls.dialects.opencompass.templates import PromptTemplate, build_prompt_template

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader that OpenCompass accepts; `input_columns` defaults to all columns except the answer's."""

    input_columns: tuple[str, ...] | None = None
    output_column: str | None = None
    input_template: PromptTemplate | None = None
    train_split: str = "train"
    test_split: str = "test"
    train_range: int | float | str | None = None
    test_range: int | float | str | None = None

    def input_text(self, row: Row) -> str:
        """Return the row's inputs as one text, which retrievers compare."""
        if self.input_template is not None:
            made = self.input_template.generating(row, "", None, "")
            assert isinstance(made, str)
            return made
        columns = self.input_columns
        if columns is None:
            columns = tuple(column for column in row if column != self.output_column)
        for column in columns:
            if column not in row:
                raise OpenCompassError(
                    f"The dataset has no column `{column}`, which `input_columns` names.",
                    cause="KeyError",
                    said=column,
                    at=("reader_cfg", "input_columns"),
                )
        return " ".join(str(row[column]) for column in columns)


def build_reader(config: Mapping[str, Any] | None) -> Reader:
    """Return the reader that `reader_cfg` describes; raises OpenCompassError as OpenCompass would."""
    if config is None:
        return Reader()
    inputs = config.get("input_columns")
    if inputs is not None and not isinstance(inputs, list | str):
        raise _wrong(
            "input_columns",
            "a list of columns",
            f"Expected an object in ['List', 'str'] type, but got {inputs}",
        )
    output = config.get("output_column")
    if output and not isinstance(output, str):
        raise _wrong("output_column", "the name of a column", f"Expected a str object, but got {output}")
    for key in ("train_range", "test_range"):
        if not isinstance(config.get(key), int | float | str | None):
            said = f"Expected an object in [None, 'int', 'float', 'str'] type, but got {config[key]}"
            raise _wrong(key, "a number, or a text such as `[:100]`", said)
    template = config.get("input_template")
    return Reader(
        input_columns=tuple(inputs.split() if isinstance(inputs, str) else inputs)
        if inputs is not None
        else None,
        output_column=output or None,
        input_template=build_prompt_template("input_template", template)
        if isinstance(template, Mapping)
        else None,
        train_split=str(config.get("train_split", "train")),
        test_split=str(config.get("test_split", "test")),
        train_range=config.get("train_range"),
        test_range=config.get("test_range"),
    )


def chosen(rows: Sequence[Item], size: float | str | None, key: str = "test_range") -> list[Item]:
    """Return the rows in a range: a number or fraction of them in a fixed random order, or a slice.

    OpenCompass evaluates a string as Python; here it is parsed, and raises OpenCompassError unless it is a
    slice.
    """
    if isinstance(size, str):
        return list(rows[_slice(size, key)])
    if size is None or size >= len(rows) or size <= 0:
        return list(rows)
    count = int(size * len(rows)) if size < 1 else size
    order = list(range(len(rows)))
    random.Random(count).shuffle(order)  # noqa: S311 - the same order as in OpenCompass
    if not isinstance(count, int):
        raise OpenCompassError(
            f"`{key}`, {size}, is neither a whole number nor a share below 1.",
            cause="TypeError",
            said="slice indices must be integers or None or have an __index__ method",
            at=("reader_cfg", key),
        )
    return [rows[index] for index in order[:count]]


def _slice(written: str, key: str) -> slice:
    """Return the slice in a text such as `[10:20]`."""
    try:
        node = ast.parse(f"_{written.strip()}", mode="eval").body
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            return slice(*(None if part is None else int(ast.literal_eval(part)) for part in parts))
    except (SyntaxError, ValueError, TypeError, RecursionError):
        pass
    raise OpenCompassError(
        f"`{key}`, `{written}`, is no slice: write one such as `[:100]`.",
        cause="SyntaxError",
        at=("reader_cfg", key),
    )


def _wrong(key: str, wanted: str, said: str) -> OpenCompassError:
    return OpenCompassError(f"`{key}` is {wanted}.", cause="TypeError", said=said, at=("reader_cfg", key))
