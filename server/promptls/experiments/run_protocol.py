"""Messages between a run's process and its parent: the request, events, and questions to the editor.

The process writes `{"event": "AskEditor", "id", "model", "messages", "parameters"}` among its events, and
`{"event": "LeaveEditor", "id"}` where it wants no answer any more. It reads `{"answer": …, "id"}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from promptls.models.editor_model import AskEditor
from promptls.settings.header import Engine
from promptls.text.errors import UserError

if TYPE_CHECKING:
    from promptls.experiments.access import Access


class ProcessRequest(Protocol):
    """What every request to a process of its own says: a data class whose fields JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def yes(self) -> bool:
        """Whether nobody is asked before much is spent."""

    @property
    def only_plan(self) -> bool:
        """Whether it ends with the plan."""

    @property
    def editor(self) -> bool:
        """Whether whoever starts the process can be asked for the models of the editor."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """Variables for the environment of the process."""

    def access(self) -> Access:
        """Return what it may see of the environment, and what it sends where.

        Raises UserError as its plan does.
        """


def named_variables(request: ProcessRequest) -> frozenset[str]:
    """Return the variables that the models of a request name; none if the request cannot be carried out."""
    try:
        return request.access().named_variables
    except (UserError, LookupError, TypeError, ValueError):
        # The process itself reports what is wrong with the request, or with the manifest that it continues.
        return frozenset()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run: the absolute path of the prompt, and what takes the place of what is declared.

    `rows` is as `row_choice.parse_rows` reads it, `failing`, or examples; None is all. `resume` names a run
    to resume, `retry_errors` one whose failed rows are asked again; then `prompt` may be empty. With
    `complete`, the rows that the run of `retry_errors` left out are asked too. `engine` is `local` or
    `ray`, and `ray_address` that of the cluster. `fresh` asks models again although their answers are in
    the cache. With `leave_unsure`, a resumed run makes no call that may have been paid for when it broke
    off. Without `yes`, a run that spends much asks first; with `only_plan` it ends there. With
    `leave_one_out` it goes over all rows with all few-shot examples, and without each. `unsaved` are texts
    that count instead of what is saved, by absolute path. `secrets` are variables for the environment of
    the run, such as keys; they are never written anywhere. `editor` says that whoever starts the run can be
    asked for the models of the editor.
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
    leave_unsure: bool = False
    yes: bool = False
    only_plan: bool = False
    leave_one_out: bool = False
    models_base: str | None = None
    engine: Engine | None = None
    ray_address: str | None = None
    editor: bool = False
    unsaved: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def access(self) -> Access:
        """Return what the run may see of the environment, and what it sends where.

        Raises UserError as its plan does.
        """
        from promptls.experiments.prepare import requested_access

        return requested_access(self)


@dataclass(frozen=True, slots=True)
class Planned:
    """Every row was rendered, and no model was asked yet.

    `failing` rows cannot be rendered, `over_limit` ones are cut to the token limit. `calls` are to be made,
    `cached` answers are there already; `tokens` are those of the prompts to be sent. Costs are US dollars:
    that of the prompts alone, and that with the longest answers; None if no price or no longest answer is
    known. `changed` rows render otherwise than in the run before, `before`; None without one. `question` is
    what is to be asked before so much is spent, None if nobody need be asked.
    """

    experiment: str
    rows: int
    failing: int
    first_failing: str | None
    over_limit: int
    calls: int
    cached: int
    tokens: int
    prompt_cost: float | None
    longest_cost: float | None
    changed: int | None
    before: str | None
    question: str | None
    judging: int = 0
    """How many of the calls are those of metrics."""
    unsure: str | None = None
    """Of a resumed run, which calls may have been paid for already; None if none may."""
    sends: Sequence[Mapping[str, Any]] = ()
    """What is sent to which server: `model`, `host`, `variable` (None without a key), and `allowed`."""
    environment: Sequence[str] = ()
    """The variables that functions and metrics may read because the settings list them."""


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins, and `total` results are expected.

    `path` identifies the run, as `--resume` takes it; empty if it cannot be resumed. `done` results are there
    already, if the run continues another one. `metrics` have `name`, `kind` and `allowed_values`,
    as a manifest has them.
    """

    run: str
    total: int
    failing: int
    input_tokens: int
    path: str
    done: int = 0
    metrics: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class RowFinished:
    """One result more is on disk.

    `seconds` have gone by, and about `left` seconds are to come; `rate` is results a second, of late.
    `problem` says what is wrong with the answer's form.
    """

    id: str
    model: str
    error: str | None
    scores: Mapping[str, Any]
    done: int
    total: int
    seconds: float = 0.0
    left: float = 0.0
    rate: float = 0.0
    cached: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run was cancelled, or its budget is spent (`why` says which); `path` is as in `Started`."""

    done: int
    total: int
    path: str
    why: str = "cancelled"


@dataclass(frozen=True, slots=True)
class Finished:
    """The run has ended; `manifest` is what its manifest file holds."""

    results: str
    manifest_path: str
    manifest: Mapping[str, Any]


Event: TypeAlias = Planned | Started | RowFinished | Stopped | Finished


_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (Planned, Started, RowFinished, Stopped, Finished)
}


def to_json(event: Event) -> dict[str, Any]:
    """Return the event as JSON, its kind under `event`."""
    return {"event": type(event).__name__, **asdict(event)}


def from_json(value: Mapping[str, Any]) -> Event:
    """Return the event that `to_json` wrote."""
    return _KINDS[value["event"]](**{key: item for key, item in value.items() if key != "event"})


QUESTIONS: Final = frozenset({"AskEditor", "LeaveEditor"})
"""The events that the editor is asked with."""


class EditorLink:
    """The end in the process of a run: questions that wait for their answers."""

    def __init__(self, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._tell = tell
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}

    async def ask(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the editor's answer; a cancelled call lets the editor stop its work."""
        number = next(self._numbers)
        waiting: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        self._tell({"event": "AskEditor", "id": number, **question})
        try:
            return await waiting
        except asyncio.CancelledError:
            self._tell({"event": "LeaveEditor", "id": number})
            raise
        finally:
            del self._waiting[number]

    def answered(self, line: Mapping[str, Any]) -> None:
        """Take an answer; one that nobody waits for any more is left."""
        waiting = self._waiting.get(line["id"])
        if waiting is not None and not waiting.done():
            waiting.set_result(line["answer"])


class EditorAnswers:
    """The end of whoever started the process: questions that the editor works on."""

    def __init__(self, ask: AskEditor | None, send: Callable[[Any], Awaitable[None]]) -> None:
        self._ask = ask
        self._send = send
        self._asked: dict[int, asyncio.Task[None]] = {}

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take one of the `QUESTIONS`."""
        number = event["id"]
        if event["event"] == "AskEditor":
            question = {name: event[name] for name in ("model", "messages", "parameters")}
            self._asked[number] = asyncio.ensure_future(self._answer(number, question))
        elif (asked := self._asked.pop(number, None)) is not None:
            asked.cancel()

    def close(self) -> None:
        """No question is worked on any more."""
        for asked in self._asked.values():
            asked.cancel()
        self._asked.clear()

    async def _answer(self, number: int, question: Mapping[str, Any]) -> None:
        assert self._ask is not None
        answer = await self._ask(question)
        self._asked.pop(number, None)
        await self._send({"id": number, "answer": answer})
