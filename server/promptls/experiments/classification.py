"""Classification reports of a run: precision, recall and F1 of each class, and a confusion matrix.

Definitions are those of scikit-learn's `classification_report`, with 0 for divisions by 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import table_columns, table_of
from promptls.experiments.results_table import PREDICTED_PREFIX
from promptls.text.errors import FilePlace, UsageError
from promptls.text.suggest import did_you_mean

NO_ANSWER = "(no answer)"
"""The label in a confusion matrix for responses that do not name a class."""
OTHER = "(other)"
"""The label for the remaining classes that are never expected."""

MAX_UNEXPECTED = 20
"""How many classes that are never expected get their own line: a model may answer anything."""


@dataclass(frozen=True, slots=True)
class ClassScore:
    """The scores of a class: `support` is the number of expected rows, `predicted` that of predicted rows."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True, slots=True)
class Average:
    """An average over the classes; `name` is `micro`, `macro` (unweighted) or `weighted` (by support)."""

    name: str
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Classification:
    """The classification report of a pair of columns.

    `accuracy` is the proportion of the `rows` whose classes are exactly the expected ones. `names` are the
    rows of `confusion` (expected) and its columns (predicted); it is empty if a row may
    have several classes. `failed` rows have an error, `unlabeled` ones no expected class: both are excluded.
    `unanswered` rows count as wrong.
    """

    expected: str
    predicted: str
    model: str | None
    rows: int
    failed: int
    unlabeled: int
    unanswered: int
    accuracy: float
    several: bool
    classes: tuple[ClassScore, ...]
    averages: tuple[Average, ...]
    names: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()


def classify(
    rows: Iterable[tuple[frozenset[str], frozenset[str]]],
) -> Classification:
    """Return the report of rows, each with its expected and predicted classes."""
    pairs = list(rows)
    support = Counter(name for expected, _ in pairs for name in expected)
    strangers = Counter(name for _, said in pairs for name in said if name not in support)
    shown = {name for name, _ in strangers.most_common(MAX_UNEXPECTED)}
    if len(strangers) > len(shown):
        pairs = [(expected, _fold(said, shown | support.keys())) for expected, said in pairs]
    predicted = Counter(name for _, said in pairs for name in said)
    right = Counter(name for expected, said in pairs for name in expected & said)
    names = [*sorted(support), *sorted(predicted.keys() - support.keys())]
    classes = tuple(
        ClassScore(
            name,
            *_scores(right[name], predicted[name], support[name]),
            support[name],
            predicted[name],
        )
        for name in names
    )
    several = any(len(expected) > 1 or len(said) > 1 for expected, said in pairs)
    shown_names, confusion = ((), ()) if several else _confusion(pairs, names)
    return Classification(
        expected="",
        predicted="",
        model=None,
        rows=len(pairs),
        failed=0,
        unlabeled=0,
        unanswered=sum(not said for _, said in pairs),
        accuracy=_share(sum(expected == said for expected, said in pairs), len(pairs)),
        several=several,
        classes=classes,
        averages=_averages(classes, right.total(), predicted.total(), support.total()),
        names=tuple(shown_names),
        confusion=confusion,
    )


def _fold(said: frozenset[str], known: set[str]) -> frozenset[str]:
    return frozenset(name if name in known else OTHER for name in said)


def _scores(right: int, predicted: int, support: int) -> tuple[float, float, float]:
    return _share(right, predicted), _share(right, support), _share(2 * right, predicted + support)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _averages(classes: Sequence[ClassScore], right: int, predicted: int, support: int) -> tuple[Average, ...]:
    if not classes:
        return ()
    rows = [(score.precision, score.recall, score.f1) for score in classes]
    weights = [score.support for score in classes]
    macro = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    weighted = [
        sum(value * weight for value, weight in zip(column, weights, strict=True)) / (support or 1)
        for column in zip(*rows, strict=True)
    ]
    return (
        Average("micro", *_scores(right, predicted, support)),
        Average("macro", *macro),
        Average("weighted", *weighted),
    )


def _confusion(
    pairs: Sequence[tuple[frozenset[str], frozenset[str]]], names: Sequence[str]
) -> tuple[list[str], tuple[tuple[int, ...], ...]]:
    counts = Counter(
        (next(iter(expected), NO_ANSWER), next(iter(said), NO_ANSWER)) for expected, said in pairs
    )
    shown = [*names, NO_ANSWER] if any(said == NO_ANSWER for _, said in counts) else list(names)
    return shown, tuple(tuple(counts[expected, said] for said in shown) for expected in shown)


# A column with more distinct expected classes than this is not treated as labels.
MAX_CLASSES = 200


class Columns(NamedTuple):
    """The columns with the expected and the predicted classes; `field` is a key in predicted JSON."""

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
    """Return the reports of the run's table, by column and, if the run has several models, by model.

    By default, reports every dataset column for which the answers have a key, else the column `expected`, or
    the one named like the prompt's `output_key`. `field` is a key of JSON responses. Raises `UsageError` for
    a missing column, for a column without classes, and if nothing can be reported.
    """
    found = _chosen(run, expected, predicted, field)
    models: tuple[str | None, ...] = run.models if len(run.models) > 1 else (None,)
    return tuple(_of_columns(run, columns, model) for columns in found for model in models)


def pairs_of(columns: Sequence[str]) -> list[Columns]:
    """Return the pairs of expected and predicted columns, matched by their names."""
    found = []
    for column in columns:
        key = column.removeprefix(PREDICTED_PREFIX)
        if key != column:
            expected = _expected_column(columns, key)
            if expected is not None:
                found.append(Columns(expected, column))
    if not found and "expected" in columns and "response" in columns:
        found.append(Columns("expected", "response"))
    return found


def _expected_column(columns: Sequence[str], key: str) -> str | None:
    return next((name for name in (f"expected_{key}", f"row_{key}", key) if name in columns), None)


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
    if not found and run.output_key is not None:
        column = _expected_column(columns, run.output_key)
        found = [Columns(column, predicted or "response")] if column is not None else []
    if field is not None:
        expected_column = _expected_column(columns, field)
        found = [Columns(expected_column, predicted or "response", field)] if expected_column else []
    if found:
        return found
    raise UsageError(
        "the column with the expected classes is unknown",
        FilePlace(run.results),
        f"name it with `--expected COLUMN`: there are {', '.join(f'`{each}`' for each in columns)}",
    )


def _of_columns(run: RunSummary, columns: Columns, model: str | None) -> Classification:
    failed = unlabeled = 0
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
            unlabeled += 1
        else:
            found.append((expected, _said(said, columns.field)))
    known = frozenset(name for expected, _ in found for name in expected)
    if len(known) > MAX_CLASSES:
        raise UsageError(
            f"the column `{columns.expected}` has {len(known)} different values, too many for classes",
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
        unlabeled=unlabeled,
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
    """Return the classes in a cell, which are separated by `;` in tables and datasets.

    A model's text is split only if the resulting classes are `known`.
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
