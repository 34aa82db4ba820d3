"""Messages between a run's process and its parent: the request, events, and questions to the editor.

The process writes `{"event": "AskEditor", "id", "model", "messages", "parameters"}` among its events, and
`{"event": "LeaveEditor", "id"}` to cancel a request. It reads `{"answer": …, "id"}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from promptls.models.editor_model import AskEditor
from promptls.settings.header import Engine


class ProcessRequest(Protocol):
    """The interface of requests to separate processes: data classes with JSON-serializable fields."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def yes(self) -> bool:
        """Whether expensive work starts without confirmation."""

    @property
    def only_plan(self) -> bool:
        """Whether the process stops after the plan."""

    @property
    def editor(self) -> bool:
        """Whether the parent process provides the models of the editor."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """Additional environment variables of the process."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request for a run: the absolute path of the prompt, and overrides of declared values.

    `rows` has the syntax of `row_choice.parse_rows`, or is `failing`, or examples; None means all. `resume`
    is a run to resume, `retry_errors` one whose failed rows are retried; `prompt` may then be empty. With
    `complete`, rows that are missing from the run of `retry_errors` are included. `engine` is `local` or
    `ray`, and `ray_address` the address of the cluster. `fresh` ignores answers that are in
    the cache. With `skip_in_flight`, a resumed run skips calls that may have been charged when it was
    interrupted. Without `yes`, an expensive run requires confirmation; with `only_plan`, it stops there. With
    `leave_one_out`, it runs all rows with all few-shot examples, and without each one. `unsaved` are unsaved
    texts by absolute path. `secrets` are environment variables of
    the run, such as keys; they are never stored. `editor` means that the parent process
    provides the models of the editor. `roots` are the folders whose files may be read, None for all: a run
    that needs no trust in its folder stays inside of it.
    """

    prompt: str = ""
    experiment: str | None = None
    models: Sequence[str] = ()
    rows: int | str | None = None
    concurrency: int | None = None
    timeout: float | None = None
    repeats: int | None = None
    seed: int | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    resume: str | None = None
    retry_errors: str | None = None
    complete: bool = False
    fresh: bool = False
    skip_in_flight: bool = False
    yes: bool = False
    only_plan: bool = False
    leave_one_out: bool = False
    models_base: str | None = None
    engine: Engine | None = None
    ray_address: str | None = None
    editor: bool = False
    unsaved: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    roots: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """Event: every row was rendered, and no model was called yet.

    `failing` rows cannot be rendered, `over_limit` ones are truncated to the token limit. `calls` will be
    made, `cached` answers are reused; `tokens` are those of the prompts to be sent. Costs are in US dollars:
    that of the prompts alone, and that with answers of maximum length; None if the price or that length is
    unknown. `changed` rows render differently from the previous run, `before`; None without one. `question`
    is the required confirmation, None if none is required.
    """

    experiment: str
    rows: int
    failing: int = 0
    first_failing: str | None = None
    over_limit: int = 0
    calls: int = 0
    cached: int = 0
    tokens: int = 0
    prompt_cost: float | None = None
    longest_cost: float | None = None
    changed: int | None = None
    before: str | None = None
    question: str | None = None
    judging: int = 0
    """The number of calls by metrics."""
    in_flight: str | None = None
    """The calls of a resumed run that may have been charged already; None if there are none."""
    sends: Sequence[Mapping[str, Any]] = ()
    """What is sent where: `model`, `host`, `variable` (None without a key), and `allowed`."""
    environment: Sequence[str] = ()
    """The variables that functions and metrics may read because the settings list them."""


@dataclass(frozen=True, slots=True)
class Started:
    """Event: the run starts, and `total` results are expected.

    `path` identifies the run for `--resume`; empty if it cannot be resumed. `done` results exist
    already if the run continues another one. `metrics` have `name`, `kind` and `allowed_values`,
    as in a manifest.
    """

    run: str
    total: int
    path: str
    done: int = 0
    metrics: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class RowFinished:
    """Event: another result was stored.

    `seconds` have elapsed, and about `left` seconds remain; `rate` is the recent rate in results per second.
    """

    id: str
    error: str | None
    scores: Mapping[str, Any]
    done: int
    total: int
    seconds: float = 0.0
    left: float = 0.0
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """Event: the run was cancelled or its budget is exhausted, as `why` says; `path` is as in `Started`."""

    done: int
    total: int
    path: str
    why: str = "cancelled"


@dataclass(frozen=True, slots=True)
class Finished:
    """Event: the run has completed; `manifest` is the content of its manifest file."""

    results: str
    manifest_path: str
    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AnswerText:
    """Event: more of the text of an answer has arrived."""

    text: str


Event: TypeAlias = Planned | Started | RowFinished | Stopped | Finished | AnswerText


_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (Planned, Started, RowFinished, Stopped, Finished, AnswerText)
}


def to_json(event: Event) -> dict[str, Any]:
    """Return the event as JSON, with its kind under `event`."""
    return {"event": type(event).__name__, **asdict(event)}


def from_json(value: Mapping[str, Any]) -> Event:
    """Deserialize an event written by `to_json`."""
    return _KINDS[value["event"]](**{key: item for key, item in value.items() if key != "event"})


QUESTIONS: Final = frozenset({"AskEditor", "LeaveEditor"})
"""The events that are requests to the editor."""


class EditorLink:
    """The run process's side of the editor protocol: pending requests."""

    def __init__(self, notify: Callable[[Mapping[str, Any]], None]) -> None:
        self._notify = notify
        self._ids = count()
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}

    async def ask(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the editor's answer; cancelling the call cancels the request in the editor."""
        request_id = next(self._ids)
        waiting: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = waiting
        self._notify({"event": "AskEditor", "id": request_id, **question})
        try:
            return await waiting
        except asyncio.CancelledError:
            self._notify({"event": "LeaveEditor", "id": request_id})
            raise
        finally:
            del self._waiting[request_id]

    def answered(self, line: Mapping[str, Any]) -> None:
        """Process an answer; answers to cancelled requests are ignored."""
        waiting = self._waiting.get(line["id"])
        if waiting is not None and not waiting.done():
            waiting.set_result(line["answer"])


class EditorAnswers:
    """The parent's side of the editor protocol: requests that the editor is processing."""

    def __init__(self, ask: AskEditor | None, send: Callable[[Any], Awaitable[None]]) -> None:
        self._ask = ask
        self._send = send
        self._requests: dict[int, asyncio.Task[None]] = {}

    def process(self, event: Mapping[str, Any]) -> None:
        """Process one of the `QUESTIONS`."""
        request_id = event["id"]
        if event["event"] == "AskEditor":
            question = {name: event[name] for name in ("model", "messages", "parameters")}
            self._requests[request_id] = asyncio.ensure_future(self._answer(request_id, question))
        elif (request := self._requests.pop(request_id, None)) is not None:
            request.cancel()

    def close(self) -> None:
        """Cancel all requests."""
        for request in self._requests.values():
            request.cancel()
        self._requests.clear()

    async def _answer(self, request_id: int, question: Mapping[str, Any]) -> None:
        assert self._ask is not None
        answer = await self._ask(question)
        self._requests.pop(request_id, None)
        await self._send({"id": request_id, "answer": answer})
