"""The data of the preview and the truncation lab, as sent to their pages.

`python -m promptls.docgen` writes the TypeScript types of the pages from these. Keys are in camelCase; lines
and characters start at 0.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from promptls.truncation.lab_report import LabJson


class PreviewChoice(TypedDict):
    """The choices of the reader of a preview; missing ones are those of the file and its settings."""

    sample: NotRequired[str]
    """The name of a sample."""
    row: NotRequired[int]
    """A row of the dataset, from 0."""
    limit: NotRequired[int]
    """A token limit in place of the header's."""
    step: NotRequired[int]
    """A truncation step in place of the header's, in tokens."""
    metaTemplate: NotRequired[str]
    """The meta template for an evaluation prompt."""
    sourceMap: NotRequired[bool]
    """Whether to send the source map regardless of its size."""
    data: NotRequired[dict[str, Any]]
    """Edited data in place of a sample."""


class PreviewArguments(PreviewChoice):
    """The arguments of `promptls.preview`."""

    uri: str


class SampleName(TypedDict):
    """A sample, as the page lists it."""

    name: str
    source: str
    """The source of the sample: `samples/triage.yml`, `example 1`."""
    row: NotRequired[int]
    """The row of the dataset, from 0, if the sample is one."""


class PackedSegments(TypedDict):
    """The source map of a text, packed."""

    segments: list[int]
    """Ten numbers for each segment: start, end, file, line and character of the start and of the end of the
    range, verbatim, and the indices into `iterations` and `dataPaths`, or -1."""
    iterations: list[list[str]]
    dataPaths: list[str]


class PartJson(TypedDict):
    """A rendered part."""

    index: int
    name: str
    role: str
    content: Any
    """Text, or a list or mapping from the template instead."""
    tokens: int
    truncationPriority: Any
    kept: bool
    """False if the limit removes the part."""
    sections: list[str] | None
    line: int | None
    """The template line where the part begins."""
    sourceMap: PackedSegments | None
    """The origin of the content, if that is known and the content is text."""


class RenderingFailure(TypedDict):
    """An error of a rendering."""

    kind: str
    message: str
    path: str | None
    line: int | None
    renderedLine: int | None
    """A line of the rendered text."""
    excerpt: str | None


class ChatMessage(TypedDict):
    """A message to the model."""

    role: str
    content: Any


class RenderingJson(TypedDict):
    """A rendered prompt."""

    parts: list[PartJson]
    string: str | None
    """The remaining parts as one text; null if a content is not text."""
    messages: list[ChatMessage]
    tokens: int
    tokensKept: int
    text: str
    """The output of Jinja, before it is parsed as YAML."""
    seconds: float
    problems: list[RenderingFailure]
    """Errors that Prompt Poet would raise later, while it counts, joins or truncates."""
    sourceMap: PackedSegments | None
    """The origin of `text`, if requested."""


class RequestParameters(TypedDict):
    """The request parameters of the first experiment."""

    models: list[str]
    """The default model of the project if the experiment names none."""
    temperature: float | None
    maxTokens: int | None
    seed: int | None
    schema: dict[str, Any] | None
    """The `json_schema` of OpenAI's `response_format`: its name and the JSON Schema of the answer."""


class ViewerPrompt(TypedDict):
    """One of the prompts of an evaluation."""

    label: str | None
    tokens: int


class InContextExample(TypedDict):
    """A training row that the retriever chose."""

    row: int
    """From 0."""
    text: str
    tokens: int


class DroppedExample(InContextExample):
    """A chosen training row that does not fit."""

    label: str | None
    """The first label without it, if others have it."""


class Viewer(TypedDict):
    """The layout of an evaluation prompt for one row."""

    rows: int
    row: int | None
    """From 0; null if the data is not a row of the dataset."""
    prompts: list[ViewerPrompt]
    examples: list[InContextExample]
    dropped: list[DroppedExample]
    inferencer: str
    retriever: str
    approximation: str | None
    """Why the examples may differ from those of OpenCompass; null if they do not."""
    metaTemplate: str
    metaTemplates: list[str]


class PreviewResult(TypedDict):
    """The result of `promptls.preview`."""

    uri: str
    path: str
    version: int | None
    kind: str
    encoding: str
    sample: SampleName | None
    samples: list[SampleName]
    dataset: str | None
    """The name of the dataset, if its rows can be chosen."""
    data: Any
    standIns: list[str]
    """Functions that are not provided, for which stand-ins were called."""
    leftOut: NotRequired[str | None]
    """What was not run because the folder is not trusted, as a sentence."""
    tokenLimit: int | None
    truncationStep: int | None
    request: RequestParameters
    files: list[str]
    """URIs of the template files, for the segments of the source maps."""
    viewer: Viewer | None
    """Set for evaluation prompts."""
    rendering: RenderingJson | None
    failure: RenderingFailure | None


class AskArguments(PreviewArguments):
    """The arguments of `promptls.ask`: what is shown, and the model to ask."""

    model: NotRequired[str]
    """By default that of the first experiment, or of the project."""
    follow: NotRequired[str]
    """The name under which the text is sent as it arrives."""


class AnswerTextParams(TypedDict):
    """The parameters of `promptls/answerText`: more text of an answer that was asked for with `follow`."""

    follow: str
    text: str


class SingleAnswerJson(TypedDict):
    """An answer to the prompt with one sample."""

    sample: str
    model: str
    response: str
    inputTokens: int | None
    outputTokens: int | None
    cost: float | None
    """In US dollars; null if the price is not known."""
    seconds: float
    shortcomings: list[str]
    """Why the answer is incomplete, such as "cut off at `max_tokens`"."""
    digest: str
    """The hash of the messages that were sent."""
    date: str
    """ISO 8601."""


class AskResult(TypedDict):
    """The result of `promptls.ask`."""

    answer: SingleAnswerJson | None
    """Null if the user stopped it, or did not allow it."""
    message: str
    """Why there is no answer, or why it is not stored; empty if neither."""


class ModelChoice(TypedDict):
    """A model that can be asked."""

    name: str
    detail: str


class AnswersResult(TypedDict):
    """The result of `promptls.previewAnswers`: stored answers to the prompt with the sample, oldest first."""

    model: str
    """The default model."""
    models: list[ModelChoice]
    answers: list[SingleAnswerJson]
    digest: str
    """The hash of the messages as the prompt renders now; empty if it does not."""


class SaveArguments(TypedDict):
    """The arguments of `promptls.saveData`: data to add to the files of a prompt."""

    uri: str
    to: Literal["sample", "example", "dataset"]
    data: dict[str, Any]
    sample: NotRequired[str]
    """The name of a new sample."""
    response: NotRequired[str]
    """The answer: the output of an example, or the expected one of a row."""


class SaveResult(TypedDict):
    """The result of `promptls.saveData`."""

    message: str
    """Where the data is now."""
    sample: str | None
    """The name of the new sample."""


class TextTokens(TypedDict):
    """The tokens of one text."""

    ids: list[int]
    starts: list[int]
    """The start of each token, in UTF-16 code units."""


class TokensAnswer(TypedDict):
    """The tokens of some texts."""

    encoding: str
    texts: list[TextTokens]


class DatasetRow(TypedDict):
    """A row of a dataset, as the page lists it."""

    row: int
    """From 0."""
    text: str


class DatasetRowsAnswer(TypedDict):
    """Rows of the dataset that match a search."""

    dataset: str
    rows: list[DatasetRow]
    start: int
    matching: int
    total: int


class CommitName(TypedDict):
    """A commit, or another prompt file, which has no subject and no date."""

    name: str
    """The short hash, or the name of the file."""
    subject: str
    date: str
    """ISO 8601."""


class CommittedAnswer(TypedDict):
    """The rendering of another version, by default of the last commit."""

    commit: CommitName
    rendering: RenderingJson | None
    failure: RenderingFailure | None
    others: list[CommitName]
    """The versions that can be compared: commits that changed the file, and prompts in its folder."""


class SourceAnswer(TypedDict):
    """The text of a template file, for a page in a browser."""

    uri: str
    name: str
    text: str


class LabOptionsJson(TypedDict):
    """The choices of the reader of the truncation lab; missing ones are determined automatically."""

    input: NotRequired[str]
    cache: NotRequired[str]
    limit: NotRequired[int]
    """The current limit, in place of the file's."""
    step: NotRequired[int]
    """The current step, in place of the file's."""
    limits: NotRequired[list[int]]
    steps: NotRequired[list[int]]
    turns: NotRequired[int]
    rows: NotRequired[int]


class LabArguments(LabOptionsJson):
    """The arguments of `promptls.truncationLab`."""

    uri: str


class ApplyTruncationArguments(TypedDict):
    """The arguments of `promptls.applyTruncation`: what to write into the header of a prompt."""

    uri: str
    limit: int
    step: int


class LabResult(TypedDict):
    """The result of `promptls.truncationLab`."""

    uri: str
    found: LabJson | None
    failure: RenderingFailure | None
    cancelled: bool
    leftOut: NotRequired[str | None]
    """What was not run because the folder is not trusted, as a sentence."""
