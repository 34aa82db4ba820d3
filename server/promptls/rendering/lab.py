"""The truncation lab for a file of the workspace: its chats, and the process that explores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from promptls.rendering.job import LabChat, LabRequest
from promptls.rendering.make import job_for
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.samples import Sample, placeholder_sample, row_samples, samples_of
from promptls.rendering.worker import Limits, Notify, RenderWorker
from promptls.semantic.kind import Kind
from promptls.text.errors import FilePlace, UsageError, optional
from promptls.text.suggest import did_you_mean
from promptls.truncation.prefix_cache import CACHES, cache_of
from promptls.truncation.simulation import growing_inputs
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.truncation.lab_report import LabJson

DEFAULT_ROWS = 3
"""The default number of rows of a dataset that are grown as chats."""


@dataclass(frozen=True, slots=True)
class LabOptions:
    """The choices of the user; defaults are determined for missing ones."""

    limit: int | None = None
    """The current limit, in place of the file's."""
    step: int | None = None
    """The current step, in place of the file's."""
    limits: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    turns: int | None = None
    rows: int | None = None
    """The number of rows of the dataset that are grown; 0 for none."""
    input: str | None = None
    """The input that grows: `messages`, or `chat.messages`."""
    cache: str | None = None
    """The name of the cache; None for that of the file's first model."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LabOptions:
        """Return the options from a command's arguments of the same names.

        Raises UsageError for wrong values.
        """
        return cls(
            limit=_positive(value, "limit"),
            step=_positive(value, "step"),
            limits=_all_positive(value, "limits"),
            steps=_all_positive(value, "steps"),
            turns=_positive(value, "turns"),
            rows=optional(value, "rows", int),
            input=optional(value, "input", str),
            cache=optional(value, "cache", str),
        )


def lab_request(
    snapshot: Snapshot, path: str, options: LabOptions, sample: Sample | None = None
) -> LabRequest:
    """Return the exploration request for the parts template at `path`.

    Its chats are the rows of the dataset with a list of messages, else `sample`, else the first sample with
    one, else placeholders. Raises UsageError for other kinds of files, and for unknown names.
    """
    if snapshot.kind(path) not in {Kind.PARTS, Kind.SECTION}:
        raise UsageError(
            "only parts templates are truncated", FilePlace(path), "name a file that is a list of parts"
        )
    cache = options.cache or cache_of(_first_model(snapshot, path)).name
    if cache not in CACHES:
        raise UsageError(
            f"there is no cache `{cache}`{did_you_mean(cache, CACHES)}",
            remedy=f"choose one of: {', '.join(CACHES)}",
        )
    chats = _chats(snapshot, path, options, sample)
    job = job_for(
        snapshot,
        path,
        chats[0].data,
        token_limit=options.limit,
        truncation_step=options.step,
        with_stand_ins=True,
    )
    return LabRequest(
        job=job,
        chats=chats,
        keys=tuple(options.input.split(".")) if options.input else (),
        turns=options.turns,
        limits=options.limits,
        steps=options.steps,
        cache=cache,
    )


def _positive(value: Mapping[str, Any], name: str) -> int | None:
    number = optional(value, name, int)
    if number is not None and number < 1:
        raise UsageError(f"the argument `{name}` is {number}: it must be 1 or more")
    return number


def _all_positive(value: Mapping[str, Any], name: str) -> tuple[int, ...]:
    numbers = optional(value, name, list) or []
    if not all(isinstance(number, int) and number > 0 for number in numbers):
        raise UsageError(f"the argument `{name}` must be a list of whole numbers of 1 or more")
    return tuple(numbers)


async def explore(
    request: LabRequest, limits: Limits, notify: Notify | None = None
) -> LabJson | RenderFailure:
    """Return the lab's result from a separate process, which ends with it or if the caller is cancelled."""
    async with RenderWorker(limits) as worker:
        return await worker.explore(request, notify)


def _chats(snapshot: Snapshot, path: str, options: LabOptions, sample: Sample | None) -> tuple[LabChat, ...]:
    count = DEFAULT_ROWS if options.rows is None else options.rows
    rows = [each for each in row_samples(snapshot, path) if _has_chat(each.data, options)][:count]
    if sample is None and rows:
        return tuple(LabChat(each.name, each.source, each.data) for each in rows)
    candidates: Sequence[Sample] = [sample] if sample else samples_of(snapshot, path)
    made_up = placeholder_sample(snapshot, path)
    chosen = next((each for each in candidates if _has_chat(each.data, options)), None)
    if chosen is None:
        # Other data of the sample is retained; only the messages are made up.
        data = {**made_up.data, **candidates[0].data} if candidates[0].data else made_up.data
        chosen = replace(made_up, data=data) if _has_chat(data, options) else made_up
    return (LabChat(chosen.name, chosen.source, chosen.data, chosen.kind == "placeholders"),)


def _has_chat(data: Mapping[str, Any], options: LabOptions) -> bool:
    return any(options.input in {None, each.name} for each in growing_inputs(data))


def _first_model(snapshot: Snapshot, path: str) -> str | None:
    template = snapshot.template(path)
    experiments = template.declarations.settings.experiments if template else None
    models = [model for each in (experiments or {}).values() for model in each.models]
    return models[0] if models else None
