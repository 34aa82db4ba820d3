"""Rendering jobs: their serialization for the worker, and the messages that carry them.

A message is a four-byte length, then JSON in ASCII.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Literal, NamedTuple, TypeAlias

from promptls.rendering.outcome import RenderFailure, shallow_dict
from promptls.text.format import shorten
from promptls.truncation.prefix_cache import DEFAULT_CACHE

_MAX_VALUES: Final = 2_000_000
_MAX_BITS: Final = 14_000
"""Python does not convert numbers of more than 4,300 digits to text."""


def is_boundless(value: Any) -> bool:
    """Return whether a value contains itself, or expands to millions of values through YAML aliases."""
    waiting, count = [value], 0
    while waiting:
        current = waiting.pop()
        if isinstance(current, Mapping):
            children: Any = [*current.keys(), *current.values()]
        elif isinstance(current, list | tuple | set | frozenset):
            children = current
        else:
            continue
        count += len(children)
        if count > _MAX_VALUES:
            return True
        waiting += children
    return False


def pack(value: Any) -> Any:
    """Return `value` as JSON that `unpack` converts back to the same value; tuples and sets become lists.

    Raises TypeError for values that YAML and JSON cannot represent, and ValueError for boundless ones.
    """
    if is_boundless(value):
        raise ValueError("A value contains itself, or expands to millions of values through YAML aliases.")
    try:
        return _pack(value)
    except RecursionError:
        raise ValueError("The value contains itself, or is nested too deeply.") from None


def _pack(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _pack(its) for key, its in value.items()}
        return {"$map": [[_pack(key), _pack(its)] for key, its in value.items()]}
    if isinstance(value, dt.datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, dt.date):
        return {"$date": value.isoformat()}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Sequence | set | frozenset):
        return [_pack(each) for each in value]
    raise TypeError(f"A value of type {type(value).__name__} cannot be template data: pass plain values.")


def unpack(value: Any) -> Any:
    """Return the value that `pack` packed."""
    if isinstance(value, list):
        return [unpack(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, content),) = value.items()
        if key == "$map":
            return {unpack(each): unpack(its) for each, its in content}
        if key == "$datetime":
            return dt.datetime.fromisoformat(content)
        if key == "$date":
            return dt.date.fromisoformat(content)
        if key == "$bytes":
            return base64.b64decode(content)
    return {key: unpack(its) for key, its in value.items()}


def plain(value: Any) -> Any:
    """Return `value` as JSON for display: keys, and values without a JSON equivalent, become strings."""
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return shorten(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {as_text(key): plain(its) for key, its in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return as_text(value)


def as_text(value: Any) -> str:
    """Return `str(value)`, or a description of a number with too many digits for Python to convert."""
    try:
        return str(value)
    except ValueError:
        return shorten(value)


@dataclass(frozen=True, slots=True)
class EvaluationData:
    """The sources of rows: absolute paths of datasets, and the rows that the prompt itself declares."""

    test: str | None = None
    train: str | None = None
    examples: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationJob:
    """The rows, the row to show, the number of rows from there on, and the available meta templates."""

    data: EvaluationData = field(default_factory=EvaluationData)
    row: int | None = None
    """The number of the row, from 1; None for the row whose values are the job's data."""
    rows: int = 1
    """The number of rows shown, starting with `row`; 0 for all."""
    meta_template: str | None = None
    """The chosen meta template's name; None for the first one."""
    meta_templates: Mapping[str, Any] = field(default_factory=dict)
    """The meta templates named in header and settings."""
    with_labels: bool = False
    """Whether the rendering has the request that compares labels."""

    def to_json(self) -> dict[str, Any]:
        """Return the job as JSON."""
        data = {**shallow_dict(self.data), "examples": pack(self.data.examples)}
        return {**shallow_dict(self), "data": data, "meta_templates": pack(self.meta_templates)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> EvaluationJob:
        """Return the job from the result of `to_json`."""
        data = value["data"]
        data = EvaluationData(**{**data, "examples": tuple(unpack(data["examples"]))})
        return cls(**{**value, "data": data, "meta_templates": unpack(value["meta_templates"])})


Kind: TypeAlias = Literal["parts template", "prompt object", "evaluation prompt"]


@dataclass(frozen=True, slots=True)
class RenderJob:
    """One template, its data, and the limit for truncation."""

    path: str
    """The absolute path of the template; includes are relative to its folder."""
    text: str
    """The template's text, which may differ from what is saved."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The inputs by name: values that YAML can represent."""
    unsaved: Mapping[str, str] = field(default_factory=dict)
    """The unsaved texts of other files, by absolute path."""
    functions: str | None = None
    """The absolute path of a Python file whose public functions the template may call. The file is run."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that the functions may read; the process has no others that may contain a secret."""
    stand_ins: tuple[str, ...] = ()
    """Missing functions, for a preview: each is replaced by one that returns its first argument."""
    encoding: str = "o200k_base"
    """The encoding or model to count tokens with."""
    counts: bool = True
    """Whether tokens are counted; otherwise, only texts that may contain special tokens, which Prompt Poet
    refuses, and other texts have 0."""
    token_limit: int = -1
    """The maximum number of tokens after truncation; -1 for no limit."""
    truncation_step: int | None = None
    """Removal happens in multiples of this many tokens."""
    kind: Kind = "parts template"
    """The kind of prompt: parts, a prompt object that becomes one user message, or an evaluation prompt for
    the rows of a dataset."""
    ragas_version: str | None = None
    """The release of Ragas that the project's prompt objects are for."""
    evaluation: EvaluationJob | None = None
    """The rows and the meta template, for an evaluation prompt."""
    roots: tuple[str, ...] | None = None
    """The folders whose files the template may include; None for all."""
    with_source_map: bool = False
    """Whether the rendering includes the origin of each of its characters."""
    trusted: bool = False
    """Whether the template's folder is trusted, so that a sentence model it names may be loaded."""
    max_segments: int | None = None
    """The approximate maximum number of segments of the source map, which then covers only the parts; None
    for a map of any size, which also covers the rendered text."""

    def to_json(self) -> dict[str, Any]:
        """Return the job as JSON; raises TypeError or ValueError for data that JSON cannot represent."""
        evaluation = self.evaluation.to_json() if self.evaluation else None
        return {**shallow_dict(self), "data": pack(self.data), "evaluation": evaluation}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RenderJob:
        """Return the job from the result of `to_json`."""
        evaluation = EvaluationJob.from_json(value["evaluation"]) if value.get("evaluation") else None
        return cls(
            **{
                **value,
                "data": unpack(value["data"]),
                "stand_ins": tuple(value["stand_ins"]),
                "evaluation": evaluation,
                "roots": None if value["roots"] is None else tuple(value["roots"]),
            }
        )


class RowMessages(NamedTuple):
    """The prompt for one row: its messages, their tokens before and after truncation, and all files used."""

    messages: Sequence[Mapping[str, Any]]
    tokens: int
    tokens_kept: int
    files: Sequence[str]


class RowsRendered(NamedTuple):
    """The outcome of each row, in order, and the total time in seconds."""

    outcomes: Sequence[RowMessages | RenderFailure]
    seconds: float


def packed_rows(rendered: RowsRendered) -> dict[str, Any]:
    """Return the outcomes as JSON; rows that use the same files share the list of files."""
    files: dict[tuple[str, ...], int] = {}
    rows: list[Any] = []
    for outcome in rendered.outcomes:
        if isinstance(outcome, RenderFailure):
            rows.append(outcome.to_json())
        else:
            place = files.setdefault(tuple(outcome.files), len(files))
            rows.append([outcome.messages, outcome.tokens, outcome.tokens_kept, place])
    return {"rows": rows, "files": list(files), "seconds": rendered.seconds}


def unpacked_rows(value: Mapping[str, Any]) -> RowsRendered:
    """Return the outcomes from the result of `packed_rows`."""
    files = [tuple(each) for each in value["files"]]
    outcomes = [
        RenderFailure.from_json(row)
        if isinstance(row, dict)
        else RowMessages(row[0], row[1], row[2], files[row[3]])
        for row in value["rows"]
    ]
    return RowsRendered(outcomes, value["seconds"])


@dataclass(frozen=True, slots=True)
class LabChat:
    """The data of one chat."""

    name: str
    """`row 3`, or the sample's name."""
    source: str
    """A readable description of the source of the data."""
    data: Mapping[str, Any]
    is_made_up: bool = False
    """Whether its messages are placeholders, to be replaced by messages of typical lengths."""


@dataclass(frozen=True, slots=True)
class LabRequest:
    """One exploration of the truncation lab."""

    job: RenderJob
    """The template with its current limit and step; its own data are not used."""
    chats: tuple[LabChat, ...]
    """The chats to grow, at least one; the turns of the first one are reported individually."""
    keys: tuple[str, ...] = ()
    """The path of keys of the input that grows; empty to detect it."""
    turns: int | None = None
    """The number of turns of each chat; None for enough to show the effect of the limit."""
    limits: tuple[int, ...] = ()
    """The limits to try; empty for a selection around the current one."""
    steps: tuple[int, ...] = ()
    """The steps to try; empty for a selection that suits each limit."""
    cache: str = DEFAULT_CACHE
    """The name of the prefix cache to simulate."""

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON; raises TypeError or ValueError for data that JSON cannot represent."""
        chats = [{**shallow_dict(each), "data": pack(each.data)} for each in self.chats]
        return {**shallow_dict(self), "job": self.job.to_json(), "chats": chats}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LabRequest:
        """Return the request from the result of `to_json`."""
        chats = tuple(LabChat(**{**chat, "data": unpack(chat["data"])}) for chat in value["chats"])
        lists = {name: tuple(value[name]) for name in ("keys", "limits", "steps")}
        return cls(**{**value, **lists, "job": RenderJob.from_json(value["job"]), "chats": chats})


_LENGTH = struct.Struct(">I")
HEADER_BYTES = _LENGTH.size

PARTS_PER_MESSAGE: Final = 2_000
"""The number of parts in one message of the process; other tasks run between two messages."""

TIMES_BUSY: Final = 4
"""How many times its time limit a job may take while other programs keep the processor busy."""


def encode_frame(message: Any) -> bytes:
    """Return `message` as one frame. Lone surrogates are supported, since JSON escapes them."""
    body = json.dumps(message).encode("ascii")
    return _LENGTH.pack(len(body)) + body


def body_length(header: bytes) -> int:
    """Return the number of bytes that follow the `header`."""
    length: int = _LENGTH.unpack(header)[0]
    return length


def decode_frame(body: bytes) -> Any:
    """Return the message in the `body` of a frame."""
    return json.loads(body)


def read_frame(stream: BinaryIO) -> Any:
    """Return the next message of `stream`; raises EOFError if the other side has closed it."""
    return decode_frame(_read_exactly(stream, body_length(_read_exactly(stream, HEADER_BYTES))))


def _read_exactly(stream: BinaryIO, length: int) -> bytes:
    """Return `length` bytes; raises EOFError if the stream ends before."""
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data
