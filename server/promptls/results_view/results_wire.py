"""The data of the results page, as sent to it.

`python -m promptls.docgen` writes the TypeScript types of the page from these. Keys are in camelCase.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

from promptls.experiments.result_pages import Kind

ExportForm: TypeAlias = Literal["csv", "jsonl", "junit", "html"]
RowKind: TypeAlias = Kind
Thumb: TypeAlias = Literal["up", "down"]
Verdict: TypeAlias = Literal["better", "worse", "inconclusive"]


class ResultsArguments(TypedDict):
    """The arguments of `promptls.showResults`: a run, or a prompt and one of its experiments."""

    uri: NotRequired[str]
    experiment: NotRequired[str]
    run: NotRequired[str]
    """The table of a run."""
    against: NotRequired[list[str]]
    """Tables of other runs; the others are compared with the first."""


class NoteJson(TypedDict):
    """A note on a row."""

    thumb: Thumb | None
    text: str


Notes: TypeAlias = dict[str, NoteJson]
"""By the row's index in the table."""

Cells: TypeAlias = dict[str, str]
"""By column."""


class Bar(TypedDict):
    """A bar of a distribution."""

    label: str
    count: int


class MetricJson(TypedDict):
    """The scores of a run under one metric."""

    name: str
    kind: str
    value: float | None
    text: str
    low: float | None
    """The lower end of the 95 % interval."""
    high: float | None
    scored: int
    unscored: int
    good: str | None
    lowerIsBetter: bool
    bars: list[Bar]


class ModelScores(TypedDict):
    """The scores of one model, by metric."""

    model: str
    scores: dict[str, str]


class ClassScores(TypedDict):
    """The scores of one class."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


class AverageScores(TypedDict):
    """The scores of all classes together."""

    name: str
    precision: float
    recall: float
    f1: float


class ClassificationJson(TypedDict):
    """A classification report."""

    expected: str
    predicted: str
    model: str | None
    rows: int
    failed: int
    unlabeled: int
    unanswered: int
    accuracy: float
    classes: list[ClassScores]
    averages: list[AverageScores]
    names: list[str]
    confusion: list[list[int]]


class RunJson(TypedDict):
    """A run."""

    path: str
    """The absolute path of the table."""
    name: str
    experiment: str
    prompt: str
    promptName: str
    dataset: str | None
    started: str
    seconds: float
    models: list[str]
    rows: int
    failed: int
    invalid: int
    """Answers without the format that the prompt requires."""
    cached: int
    inputTokens: int
    outputTokens: int
    cachedInputTokens: int
    """Input tokens that the provider read from its prefix cache."""
    reasoningTokens: int
    """Output tokens of reasoning."""
    cost: float | None
    """US dollars."""
    paid: float | None
    free: bool
    """True if no call of the run costs money."""
    rowsChosen: str | None
    """The rows of a partial run; null for all rows of the dataset."""
    isComplete: bool
    canComplete: bool
    """True for a partial run over rows of a dataset, unless the prompt changed after it."""
    stale: bool
    """True if the prompt changed after the run."""
    commit: str | None
    dirty: bool | None
    columns: list[str]
    expected: list[tuple[str, str]]
    """Columns with the expected values, each with the column of the answers."""
    metrics: list[MetricJson]
    byModel: list[ModelScores]
    classes: list[ClassificationJson]
    notes: Notes
    """By the row's index in the table."""
    notesProblem: str | None
    leftOut: list[str]
    """What a report leaves out, in sentences."""


class Moves(TypedDict):
    """The numbers of rows with a higher, a lower and the same score."""

    higher: int
    lower: int
    same: int


class MetricComparisonJson(TypedDict):
    """Two runs under one metric."""

    name: str
    kind: str
    verdict: Verdict
    message: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    pValue: float | None
    points: list[tuple[float, float, int]]
    """Score before, score after, number of rows; a selection if there are very many."""
    moves: Moves


class RunComparison(TypedDict):
    """A run compared with the first one."""

    run: str
    problem: str | None
    """Why the runs cannot be compared."""
    beforeName: str
    afterName: str
    pairs: int
    better: int
    worse: int
    metrics: list[MetricComparisonJson]
    notes: list[str]


class HistoryRun(TypedDict):
    """A finished run, in a list."""

    path: str
    name: str
    promptName: str
    started: str
    models: list[str]
    rows: int
    rowsChosen: str | None
    isComplete: bool
    """True if the run went over all rows of its dataset."""
    isComparable: bool
    """True for a complete run of the shown run's experiment and data: a point of the trend."""
    cached: int
    """Answers of earlier calls, from the cache."""
    scores: dict[str, str]
    values: dict[str, float | None]


class ResultsView(TypedDict):
    """Runs side by side: each is compared with the first, and the last is shown."""

    runs: list[RunJson]
    comparisons: list[RunComparison]
    history: list[HistoryRun]
    """The finished runs of the experiment, the oldest first."""
    others: list[HistoryRun]
    """Finished runs of other prompts and experiments in the same folder, the oldest first."""
    complete: bool
    """False while intervals, classes and comparisons are still computed."""


class NoResults(TypedDict):
    """A prompt that was not run yet."""

    runs: tuple[()]
    prompt: str
    name: str


class RowJson(TypedDict):
    """A row of a table."""

    place: int
    """The index in the table, from 0."""
    cells: Cells


class RowFilterJson(TypedDict):
    """The requested rows of a run, and their order."""

    kind: NotRequired[RowKind]
    search: NotRequired[str]
    equal: NotRequired[dict[str, str]]
    sort: NotRequired[str]
    descending: NotRequired[bool]
    changedFrom: NotRequired[str]
    """Only rows that differ from those of the run with this table."""
    noted: NotRequired[bool]
    """Only rows with a thumb or a note."""
    places: NotRequired[list[int]]


class RowsAnswer(TypedDict):
    """A page of rows."""

    total: int
    start: int
    rows: list[RowJson]


class TextAnswer(TypedDict):
    """Rows as text, for a coding agent."""

    text: str


class PairedRow(TypedDict):
    """The cells of a row in two runs; null if a run does not have it."""

    before: Cells | None
    after: Cells | None


class PairsAnswer(TypedDict):
    """A page of rows of two runs."""

    total: int
    start: int
    rows: list[PairedRow]


class MessageJson(TypedDict):
    """A message to a model."""

    role: str
    content: Any


class MessagesAnswer(TypedDict):
    """The messages of a row."""

    messages: list[MessageJson] | None
    """Null if they are no longer stored."""


class NoteAnswer(TypedDict):
    """All notes of a run, by the row's index in the table."""

    notes: Notes


class NumbersAnswer(TypedDict):
    """Rows of a table as rows of the dataset."""

    rows: str
    """In the syntax of run arguments: `3,7-9,`."""
    count: int
    experiment: str


class ExportAnswer(TypedDict):
    """The result of an export."""

    rows: int
    text: NotRequired[str]
    """The exported file, for a page in a browser."""


class RunningRun(TypedDict):
    """An unfinished run."""

    id: str
    experiment: str
    message: str
    share: float
    """From 0 to 1."""
    canCancel: bool


class RunningAnswer(TypedDict):
    """The unfinished runs of a results folder."""

    folder: str
    runs: list[RunningRun]


class PackedTable(TypedDict):
    """The rows of a run in a report."""

    columns: list[str]
    rows: list[list[str]]
    places: list[int]
    states: str
    """One letter per row."""
    messages: dict[str, list[MessageJson]]
    """By the hash of the request."""


class Report(TypedDict):
    """The data of a report."""

    view: ResultsView
    tables: list[PackedTable]
    pairs: list[list[tuple[int | None, int | None, int]]]
    """For each run but the first: the row's index there, its index here, and 1 if the rows differ."""
