"""What a run tells while it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias


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
    """Of a run that is gone on with, which calls may have been paid for already; None if none may."""
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
