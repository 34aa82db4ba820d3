"""What a run tells while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins: so many results are to come, and are kept in `journal` as they come."""

    run: str
    total: int
    failing: int
    input_tokens: int
    journal: str


@dataclass(frozen=True, slots=True)
class RowFinished:
    """One result more is on disk. `seconds` have gone by, and about `left` seconds are to come."""

    id: str
    model: str
    error: str | None
    scores: Mapping[str, Any]
    done: int
    total: int
    seconds: float
    left: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run was cancelled; what was finished is in `journal`."""

    done: int
    total: int
    journal: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The run has ended; `manifest` is what its manifest file holds."""

    results: str
    manifest_path: str
    manifest: Mapping[str, Any]


Event: TypeAlias = Started | RowFinished | Stopped | Finished


_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in (Started, RowFinished, Stopped, Finished)}


def to_json(event: Event) -> dict[str, Any]:
    """The event as JSON, its kind under `event`."""
    return {"event": type(event).__name__, **asdict(event)}


def from_json(value: Mapping[str, Any]) -> Event:
    """The event that `to_json` wrote."""
    kinds: dict[str, type[Event]] = {
        kind.__name__: kind for kind in (Started, RowFinished, Stopped, Finished)
    }
    return kinds[value["event"]](**{key: item for key, item in value.items() if key != "event"})
