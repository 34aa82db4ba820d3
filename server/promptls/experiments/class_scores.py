"""Precision, recall and F1 of each class, and which is taken for which.

Definitions followed: `classification_report` of scikit-learn, with 0 where it divides by 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NO_ANSWER = "(no answer)"
"""Stands in a confusion table for a response that names no class."""
OTHER = "(other)"
"""Stands for the classes that are expected nowhere, behind the first of them."""

# Classes that are expected nowhere and still have a line of their own: a model may answer anything.
MAX_UNEXPECTED = 20


@dataclass(frozen=True, slots=True)
class ClassScore:
    """How well one class is found: `support` rows are of it, `predicted` rows were said to be."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True, slots=True)
class Average:
    """An average over the classes; `name` is `micro`, `macro` (each class alike) or `weighted` by support."""

    name: str
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Classification:
    """The report of one pair of columns.

    `accuracy` is the share of the `rows` whose classes are exactly the expected ones. `names` are the
    lines of `confusion` (what is expected) and its columns (what was said); it is empty where a row may
    have several classes. `failed` rows have an error, `unlabelled` ones no expected class: neither counts.
    `unanswered` rows count, as wrong.
    """

    expected: str
    predicted: str
    model: str | None
    rows: int
    failed: int
    unlabelled: int
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
    """Return the report of rows, each with its expected classes and those that were said."""
    pairs = list(rows)
    support = Counter(name for expected, _ in pairs for name in expected)
    strangers = Counter(name for _, said in pairs for name in said if name not in support)
    shown = {name for name, _ in strangers.most_common(MAX_UNEXPECTED)}
    if len(strangers) > len(shown):
        pairs = [(expected, _folded(said, shown | support.keys())) for expected, said in pairs]
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
        unlabelled=0,
        unanswered=sum(not said for _, said in pairs),
        accuracy=_share(sum(expected == said for expected, said in pairs), len(pairs)),
        several=several,
        classes=classes,
        averages=_averages(classes, right.total(), predicted.total(), support.total()),
        names=tuple(shown_names),
        confusion=confusion,
    )


def _folded(said: frozenset[str], known: set[str]) -> frozenset[str]:
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
