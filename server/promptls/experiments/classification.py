"""Classification reports of a run: which columns hold classes, and what a cell of them names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from promptls.experiments.class_scores import Classification, classify
from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import table_columns
from promptls.experiments.result_table import table_of
from promptls.experiments.results_table import PREDICTED_PREFIX
from promptls.text.errors import FilePlace, UsageError
from promptls.text.suggest import did_you_mean

# Where a table has more expected classes than this, the column is no label.
MAX_CLASSES = 200


class Columns(NamedTuple):
    """Which column holds the expected classes, and which the predicted; `field` is one of its JSON."""

    expected: str
    predicted: str
    field: str | None = None


def classifications(
    run: RunSummary,
    *,
    expected: str | None = None,
    predicted: str | None = None,
    field: str | None = None,
) -> tuple[Classification, ...]:
    """Return the reports of the run's table, by column and then by model where the run has several.

    Without `expected` and `predicted`, every column of the dataset that the answers have a key for, else
    `expected`. `field` is a key of responses in JSON. Raises `UsageError` for a column that is not there, for
    one that holds no classes, and where nothing can be reported.
    """
    found = _chosen(run, expected, predicted, field)
    models: tuple[str | None, ...] = run.models if len(run.models) > 1 else (None,)
    return tuple(_of_columns(run, columns, model) for columns in found for model in models)


def pairs_of(columns: Sequence[str]) -> list[Columns]:
    """Return the pairs of expected and predicted columns, found by their names among `columns`."""
    found = []
    for column in columns:
        key = column.removeprefix(PREDICTED_PREFIX)
        if key != column:
            expected = next(
                (name for name in (f"expected_{key}", f"row_{key}", key) if name in columns), None
            )
            if expected is not None:
                found.append(Columns(expected, column))
    if not found and "expected" in columns and "response" in columns:
        found.append(Columns("expected", "response"))
    return found


def _chosen(run: RunSummary, expected: str | None, predicted: str | None, field: str | None) -> list[Columns]:
    columns = table_columns(run)
    for column in (expected, predicted):
        if column is not None and column not in columns:
            raise UsageError(
                f"the table has no column `{column}`{did_you_mean(column, columns)}",
                FilePlace(run.results),
                f"its columns are {', '.join(f'`{each}`' for each in columns)}",
            )
    if expected is not None:
        own = f"{PREDICTED_PREFIX}{expected.removeprefix('row_').removeprefix('expected_')}"
        chosen = predicted or (own if own in columns and field is None else "response")
        return [Columns(expected, chosen, field)]
    found = [pair for pair in pairs_of(columns) if predicted in {None, pair.predicted}]
    if field is not None:
        wanted = next(
            (name for name in (f"expected_{field}", f"row_{field}", field) if name in columns), None
        )
        found = [Columns(wanted, predicted or "response", field)] if wanted else []
    if found:
        return found
    raise UsageError(
        "nothing says which column holds the expected classes",
        FilePlace(run.results),
        f"name it with `--expected COLUMN`: there are {', '.join(f'`{each}`' for each in columns)}",
    )


def _of_columns(run: RunSummary, columns: Columns, model: str | None) -> Classification:
    failed = unlabelled = 0
    found = []
    table = table_of(run).columns_of("model", "error", columns.expected, columns.predicted)
    classes_of = lru_cache(maxsize=MAX_CLASSES)(_classes)
    for name, error, cell, said in zip(
        table["model"], table["error"], table[columns.expected], table[columns.predicted], strict=True
    ):
        if model is not None and name != model:
            continue
        expected = classes_of(cell)
        if error:
            failed += 1
        elif not expected:
            unlabelled += 1
        else:
            found.append((expected, _said(said, columns.field)))
    known = frozenset(name for expected, _ in found for name in expected)
    if len(known) > MAX_CLASSES:
        raise UsageError(
            f"the column `{columns.expected}` has {len(known)} different values: these are no classes",
            FilePlace(run.results),
            "name another one with `--expected COLUMN`",
        )
    is_text = columns.predicted == "response" and columns.field is None
    report = classify((expected, _classes(said, known if is_text else None)) for expected, said in found)
    name = columns.predicted if columns.field is None else f"{columns.predicted}.{columns.field}"
    return replace(
        report,
        expected=columns.expected,
        predicted=name,
        model=model,
        failed=failed,
        unlabelled=unlabelled,
    )


def _said(text: str, field: str | None) -> str:
    if field is None:
        return text
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    for key in field.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, list):
        return ";".join(map(str, value))
    return "" if value is None else str(value)


def _classes(cell: str, known: frozenset[str] | None = None) -> frozenset[str]:
    """Return the classes that a cell names: several are separated by `;`, as tables and datasets write them.

    A text that a model wrote is only taken apart into classes that are `known`.
    """
    pieces = frozenset(piece.strip() for piece in _pieces(cell) if piece.strip())
    if known is None or pieces <= known or cell.lstrip().startswith(("[", '"')):
        return pieces
    return frozenset([cell.strip()])


def _pieces(cell: str) -> Iterator[str]:
    text = cell.strip()
    if text.startswith(("[", '"')):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        yield from map(str, value) if isinstance(value, list) else [str(value)]
    else:
        yield from text.split(";")
