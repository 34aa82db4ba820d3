"""Arguments and results of commands, and parameters of custom messages, as the extension sees them.

`python -m promptls.docgen` writes the TypeScript types of the extension from these. Keys are in camelCase.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

ModelErrorCode: TypeAlias = Literal["notFound", "noPermissions", "blocked", "failed"]
VerdictState: TypeAlias = Literal["passed", "failed", "errored"]


class ChangedParams(TypedDict):
    """The parameters of `promptls/changed`: the rendering of a file may have changed."""

    uri: str


class RowVerdictJson(TypedDict):
    """The verdict on a row of a run."""

    number: int
    """From 1."""
    state: VerdictState
    message: str
    expected: str | None
    actual: str
    seconds: float | None
    stale: bool
    """True if the prompt changed after the run."""


class RowVerdictsParams(TypedDict):
    """The parameters of `promptls/rowVerdicts`: rows of a run that finished since the last message."""

    follow: str
    verdicts: list[RowVerdictJson]


class RowVerdictsResult(TypedDict):
    """The result of `promptls.rowVerdicts`."""

    verdicts: list[RowVerdictJson]


class ExampleTest(TypedDict):
    """A few-shot example of a prompt, as a test."""

    number: int
    """From 1."""
    line: int
    """From 0."""
    label: str


class PromptTestsJson(TypedDict):
    """A prompt file with experiments."""

    uri: str
    experiments: list[str]
    examples: list[ExampleTest]


class ExperimentTestsResult(TypedDict):
    """The result of `promptls.experimentTests`."""

    prompts: list[PromptTestsJson]


class ListedRun(TypedDict):
    """A run of an experiment, in a list."""

    name: str
    table: str
    """The absolute path of the table, or of the unfinished run."""
    started: str
    """In ISO 8601."""
    status: Literal["finished", "running", "stopped"]
    scores: dict[str, str]
    models: list[str]
    notes: str
    """What is unusual about it: failures, chosen rows, answers from the cache."""


class ListedRunsResult(TypedDict):
    """The result of `promptls.listRuns`, the latest run first."""

    runs: list[ListedRun]


class RowTestJson(TypedDict):
    """A row of a dataset, as a test."""

    number: int
    """From 1."""
    line: int | None
    """The line of the dataset, from 0, if it is known."""
    label: str


class ExperimentRows(TypedDict):
    """The result of `promptls.experimentRows`: the rows, and the verdicts of the last runs."""

    dataset: str | None
    """The URI of the dataset."""
    rows: list[RowTestJson]
    more: bool
    """True if the dataset has more rows than are listed."""
    verdicts: list[RowVerdictJson]
    exampleVerdicts: list[RowVerdictJson]


class RunArguments(TypedDict):
    """The arguments of `promptls.runExperiment`."""

    uri: str
    experiment: NotRequired[str]
    models: NotRequired[list[str]]
    rows: NotRequired[str]
    follow: NotRequired[str]


class RunResult(TypedDict):
    """The result of `promptls.runExperiment`."""

    run: str
    """The absolute path of the table; empty if nothing was run."""
    name: str
    rows: int
    failed: int
    scores: dict[str, float]
    cancelled: bool
    message: str
    resume: NotRequired[str]
    """The cancelled run, to be resumed; empty if nothing was finished."""


class KeyVariablesResult(TypedDict):
    """The result of `promptls.keyVariables`: environment variables for the keys that a command needs."""

    variables: list[str]


class NewPromptResult(TypedDict):
    """The result of `promptls.newPrompt`: the texts of the files, by their relative paths."""

    files: dict[str, str]


class DatasetResult(TypedDict):
    """The result of `promptls.generateDataset`."""

    uri: str
    rows: int
    requested: NotRequired[int]
    cancelled: bool
    message: str


class LeaveOneOutResult(TypedDict):
    """The result of `promptls.leaveOneOut`, limited to what the extension reads."""

    message: str


class PartTokens(TypedDict):
    """The tokens of a part."""

    name: str
    tokens: int


class TokensResult(TypedDict):
    """The result of `promptls.tokens`, limited to what the extension reads."""

    total: int
    kept: int
    """The tokens that remain after truncation."""
    sample: str
    """The sample that the prompt was rendered with."""
    limit: int | None
    encoding: str
    approximate: bool
    """True if the nearest encoding was used, because the model's own tokenizer is not public."""
    parts: list[PartTokens]


class ModelQuestionMessage(TypedDict):
    """A message to a model."""

    role: str
    content: Any


class ModelQuestion(TypedDict):
    """The parameters of `promptls/askModel`: a request of a run to a model of the editor."""

    run: str
    """The run that sends the request; a refusal applies to the whole run."""
    model: str
    """`<vendor>/<family>`."""
    messages: list[ModelQuestionMessage]
    parameters: dict[str, Any]


class ModelText(TypedDict):
    """The answer of a model."""

    text: str
    model: str
    inputTokens: int | None
    outputTokens: int | None


class ModelErrorJson(TypedDict):
    """The error that prevented an answer."""

    code: ModelErrorCode
    message: str


class ModelFailure(TypedDict):
    """An answer that failed."""

    error: ModelErrorJson


ModelAnswer: TypeAlias = ModelText | ModelFailure
