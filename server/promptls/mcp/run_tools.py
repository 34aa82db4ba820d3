"""The tools for experiments: run, compare, read results, list runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from promptls.cli.terminal import shown_path
from promptls.mcp.folder import Folder, ToolResult, not_trusted
from promptls.security.trust import TrustStore
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_dollars, plural
from promptls.workspace.settings import find_project

if TYPE_CHECKING:
    from promptls.experiments.access import Access
    from promptls.experiments.history import RunSummary
    from promptls.experiments.run_protocol import Event, Finished, Planned, RunRequest
    from promptls.models.model import ModelReference

SHOWN: Final = 10
"""The default number of rows and runs in an answer."""

Notify = Callable[[float, float, str], Awaitable[None]]
"""Reports progress: results there, results expected, and a message."""


async def run_experiment(folder: Folder, arguments: Mapping[str, Any], notify: Notify) -> ToolResult:
    """Run the experiment in its own process, under the budget; return its scores and worst rows."""
    from promptls.experiments.client import plan_in_process, run_in_process
    from promptls.experiments.history import read_run
    from promptls.ide.code_lenses import plan_text

    request = await asyncio.to_thread(_request, folder, arguments)
    if request.only_plan:
        planned = await plan_in_process(request)
        return ToolResult(plan_text(planned), asdict(planned))
    consent = _Consent(request)
    try:
        finished = await _followed(partial(run_in_process, request), consent, notify)
    except asyncio.CancelledError:
        if consent.refusal is None:
            raise
        raise consent.refusal from None
    run = read_run(Path(finished.manifest_path))
    folder.paid += run.paid or 0.0
    return await asyncio.to_thread(_finished, run)


async def _followed(
    run: Callable[[Callable[[Event], None], Callable[[Planned], Awaitable[bool]]], Awaitable[Finished]],
    consent: _Consent,
    notify: Notify,
) -> Finished:
    """Run and report progress; each report is sent before the next, and none holds up the run."""
    from promptls.experiments.run_protocol import RowFinished

    events: asyncio.Queue[RowFinished] = asyncio.Queue()

    async def report() -> None:
        while True:
            event = await events.get()
            scores = ", ".join(f"{name} {score}" for name, score in event.scores.items())
            await notify(event.done, event.total, f"{event.id}: {event.error or scores or 'answered'}")

    reporting = asyncio.ensure_future(report())
    try:
        return await run(
            lambda event: events.put_nowait(event) if isinstance(event, RowFinished) else None, consent.ask
        )
    finally:
        reporting.cancel()


def _request(folder: Folder, arguments: Mapping[str, Any]) -> RunRequest:
    """Return the request; raises UsageError for an untrusted folder, a missing budget, or another model."""
    from promptls.experiments.folder_code import code_of_run, folders_of_run
    from promptls.experiments.prepare import requested_access
    from promptls.experiments.run_protocol import RunRequest

    request = RunRequest(
        prompt=str(folder.file(arguments["file"])),
        experiment=arguments.get("experiment"),
        models=arguments.get("models") or (),
        rows=arguments.get("rows"),
        repeats=arguments.get("repeats"),
        fresh=arguments.get("fresh") is True,
        max_calls=arguments.get("max_calls"),
        max_tokens=arguments.get("max_tokens"),
        max_cost=arguments.get("max_cost"),
        only_plan=arguments.get("plan_only") is True,
    )
    if not Path(request.prompt).is_file():
        raise UsageError("there is no such file", FilePlace(request.prompt), "check the path")
    decisions = TrustStore().read()
    for each in () if folder.trusts else folders_of_run(request):
        if decisions.on(each) is not True:
            raise not_trusted(each, code_of_run(request))
    _refuse_other_models(request)
    access = requested_access(request)
    if request.only_plan:
        return request
    if not access.opens_models:
        _refuse_keys(request, access)
        return request
    remote = [each for each in access.references if _is_remote(each)]
    if not remote:
        return request
    _require_budget(request, remote)
    if folder.max_cost is None:
        return request
    left = folder.max_cost - folder.paid
    if left <= 0:
        raise UsageError(
            f"the budget of this session, {in_dollars(folder.max_cost)}, is spent",
            remedy="only the user can raise it: `promptls mcp --max-cost DOLLARS`",
        )
    return replace(request, max_cost=left if request.max_cost is None else min(left, request.max_cost))


def _refuse_other_models(request: RunRequest) -> None:
    """Raise UsageError for a model that the experiment does not declare."""
    from promptls.experiments.definition import define_experiment

    if not request.models:
        return
    declared = [each.name for each in define_experiment(Path(request.prompt), request.experiment).models]
    for name in request.models:
        if name not in declared:
            raise UsageError(
                f"the experiment does not declare the model `{name}`",
                FilePlace(request.prompt),
                f"choose one of: {', '.join(declared)}; or declare it in `models` of the experiment",
            )


def _is_remote(model: ModelReference) -> bool:
    """Return whether calls of the model leave this machine, or cost money."""
    from promptls.models.keys import destination_of
    from promptls.models.providers import is_paid

    destination = destination_of(model)
    if is_paid(model) or destination is None:
        return is_paid(model)
    return urlsplit(destination.host).hostname not in {"localhost", "127.0.0.1", "::1"}


def _refuse_keys(request: RunRequest, access: Access) -> None:
    """Raise UsageError for an experiment in Python that gets a key, as it can spend any amount."""
    names = ", ".join(sorted(f"`{name}`" for name in access.key_variables if os.environ.get(name)))
    if names:
        raise UsageError(
            f"the experiment is a Python function that may read {names}, so no budget can be enforced",
            FilePlace(request.prompt),
            "only the user can run it: `promptls run FILE`",
        )


def _require_budget(request: RunRequest, remote: Sequence[ModelReference]) -> None:
    names = ", ".join(dict.fromkeys(f"`{each.name}`" for each in remote))
    if request.max_calls is None and request.max_tokens is None and request.max_cost is None:
        raise UsageError(
            f"{names} is not on this machine, so the run needs a budget",
            FilePlace(request.prompt),
            "pass `max_cost`, `max_calls` or `max_tokens`; `plan_only` shows what the run would need",
        )


class _Consent:
    """Decides about a run that the command line would ask the user about."""

    def __init__(self, request: RunRequest) -> None:
        self._request = request
        self.refusal: UsageError | None = None

    async def ask(self, planned: Planned) -> bool:
        """Return whether the budget keeps the run below what the user allows without a question."""
        limit = find_project(Path(self._request.prompt)).settings.ask_above
        cost, calls = self._request.max_cost, self._request.max_calls
        has_price = planned.longest_cost is not None or planned.prompt_cost is not None
        if (has_price and cost is not None and cost <= limit.cost) or (
            calls is not None and not has_price and calls <= limit.calls
        ):
            return True
        self.refusal = UsageError(
            str(planned.question).removesuffix(" Run it?"),
            FilePlace(self._request.prompt),
            f"run fewer `rows`, or pass `max_cost` of at most {limit.cost:g} (`max_calls` of at most "
            f"{limit.calls:,} without a known price), as `ask_above` in the settings allows; or the user "
            "runs it: `promptls run FILE`",
        )
        return False


def _finished(run: RunSummary) -> ToolResult:
    from promptls.experiments.history import run_before
    from promptls.results_view.results_answers import chosen_places, readable_rows, row_lines

    before = run_before(run)
    lines = [run_line(run)]
    metrics = []
    for metric in run.metrics:
        old = before.metric(metric.name) if before else None
        was = f" (before: {old.text} in {before.name})" if before and old and old.value is not None else ""
        unscored = f", {metric.unscored} without a score" if metric.unscored else ""
        lines.append(f"{metric.name}: {metric.text}{unscored}{was}")
        metrics.append({"name": metric.name, "value": metric.value, "text": metric.text})
    worst = readable_rows(run, chosen_places(run, "failing")[:3])
    if worst:
        lines += ["worst rows:", *row_lines(worst)]
    lines.append("read_results shows its rows")
    if before:
        lines.append(
            f"compare_runs shows whether it is better than {before.name}, the last run; if you took the "
            "change of that run back, name the run of the version that you kept"
        )
    data = {
        "run": run.name,
        "table": shown_path(run.results),
        "rows": run.rows,
        "rows_chosen": run.rows_chosen,
        "failed": run.failed,
        "invalid": run.invalid,
        "cached": run.cached,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cached_input_tokens": run.cached_input_tokens,
        "reasoning_tokens": run.reasoning_tokens,
        "cost": run.cost,
        "paid": run.paid,
        "metrics": metrics,
        "before": None if before is None else before.name,
        "worst": worst,
    }
    return ToolResult("\n".join(lines), data)


def run_line(run: RunSummary) -> str:
    """Return what a run did, on one line."""
    from promptls.experiments.row_choice import chosen_rows

    chosen = f" (only {chosen_rows(run.rows_chosen)})" if run.rows_chosen else ""
    notes = [
        f"{plural(run.rows, 'row')}{chosen} of {shown_path(run.prompt)}, {' + '.join(run.models)}",
        f"{run.token_text} in {run.seconds:g} s",
    ]
    if run.failed:
        notes.append(f"{run.failed:,} failed")
    if run.invalid:
        notes.append(f"{run.invalid:,} in the wrong format")
    if run.cached:
        notes.append(f"{run.cached:,} from the cache")
    if run.cost:
        notes.append(f"{in_dollars(run.cost)}, {in_dollars(run.paid or 0)} of it paid now")
    if run.stale:
        notes.append("the prompt has changed since")
    return f"{run.name}: {'; '.join(notes)}"


async def compare_runs(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the verdict on each metric, and the rows whose score changed, worse ones first."""
    return await asyncio.to_thread(_compare, folder, arguments)


def _compare(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    from promptls.cli.commands.compare import comparison_json
    from promptls.experiments.comparison import compare_with

    before, after = (_run_named(folder, arguments[name], complete=True) for name in ("before", "after"))
    (comparison,) = compare_with(before, [after])
    data = comparison_json(comparison)
    lines = [f"before: {run_line(before)}", f"after: {run_line(after)}"]
    lines += [f"{metric.metric}: {metric.message}" for metric in comparison.metrics]
    lines += [f"note: {note}" for note in comparison.notes]
    if before.results == after.results:
        lines.append("note: this is one run, compared with itself")
    changes = sorted(comparison.changes, key=lambda change: change.better)
    better = sum(change.better for change in changes)
    lines.append(f"{better} scores got better, {len(changes) - better} got worse")
    shown = changes[: arguments.get("count", SHOWN)]
    lines += [
        f"{'better' if each.better else 'worse'}: row {each.id} {each.metric} {each.before} → {each.after}"
        for each in shown
    ]
    if len(changes) > len(shown):
        lines.append(f"… and {len(changes) - len(shown)} more: raise `count`")
    return ToolResult("\n".join(lines), {**data, "changes": [each._asdict() for each in shown]})


def _run_named(folder: Folder, name: str, *, complete: bool = False) -> RunSummary:
    """Return the run of a name, a table or a prompt file; raises UsageError for a file outside."""
    from promptls.experiments.named_runs import find_run

    try:
        run = find_run(str(folder.file(name)) if Path(name).name != name else name, complete=complete)
    except UsageError as error:
        remedy = "run_experiment makes one" if "promptls run" in (error.remedy or "") else error.remedy
        raise UsageError(error.message, error.place, remedy) from None
    folder.file(str(run.results.absolute()))
    return run


async def read_results(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return rows of a run: the data, the answer, and the scores with their reasons."""
    return await asyncio.to_thread(_results, folder, arguments)


def _results(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    from promptls.results_view.results_answers import rows_page

    run = _run_named(folder, arguments["run"])
    start, count = arguments.get("start", 0), arguments.get("count", SHOWN)
    page = rows_page(run, arguments.get("show", "worst"), arguments.get("search", ""), start, count)
    text = "\n".join([run_line(run), *page.lines])
    return ToolResult(text, {"run": run.name, "total": page.total, "start": start, "rows": page.rows})


async def list_runs(folder: Folder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the runs, newest first."""
    return await asyncio.to_thread(_listed, folder, arguments.get("file"), arguments.get("count", SHOWN))


def _listed(folder: Folder, name: str | None, count: int) -> ToolResult:
    from promptls.experiments.named_runs import folders_of_runs, known_runs, newest_first, run_notes

    file = None if name is None else folder.file(name)
    prompt = None if file is None or file.is_dir() else file
    folders = folders_of_runs(file or folder.path)
    runs = newest_first(
        (run for each in folders for run in known_runs(each, prompt=prompt, limit=count)), count
    )
    lines = [
        "; ".join(
            filter(
                None,
                (
                    f"{run.name}: {shown_path(run.prompt)}, {' + '.join(run.models)}, {run.done:,} rows",
                    ", ".join(f"{metric} {score}" for metric, score in run.scores.items()),
                    run_notes(run),
                ),
            )
        )
        for run in runs
    ]
    data = {
        "runs": [
            {
                "run": run.name,
                "status": run.status,
                "prompt": shown_path(run.prompt),
                "models": list(run.models),
                "rows": run.done,
                "scores": run.values,
                "cost": run.cost,
                "started": run.started,
                "commit": run.commit,
            }
            for run in runs
        ]
    }
    return ToolResult("\n".join(lines) or "no run yet: run_experiment makes one", data)
