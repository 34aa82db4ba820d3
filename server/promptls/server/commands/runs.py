"""Running experiments: plans, runs and their progress, and the tests of experiments that editors show."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from promptls.experiments.history import last_runs, read_run
from promptls.experiments.manifest import results_folder
from promptls.experiments.row_choice import is_of_examples
from promptls.experiments.run_protocol import (
    Event,
    Finished,
    Planned,
    RowFinished,
    RunRequest,
    Started,
    Stopped,
)
from promptls.experiments.verdicts import LiveVerdicts, RowVerdict, latest_verdicts
from promptls.experiments.verdicts import row_verdicts as verdicts_of
from promptls.ide import experiment_runs
from promptls.ide.code_lenses import Running, changed_text, plan_text, progress_text
from promptls.models.editor_model import AskEditor
from promptls.server import command_types
from promptls.server.context import Context
from promptls.server.folder_trust import Trust
from promptls.server.locations import prompt_path
from promptls.server.progress import WorkDoneProgress, in_slices, progress
from promptls.server.shown_text import show_text
from promptls.server.state.latest_runs import LatestRuns
from promptls.server.state.scan import WorkspaceScan
from promptls.text.errors import UsageError, UserError, optional
from promptls.text.escape import markdown_prose, markdown_text
from promptls.text.format import plural

RUN_IT: Final = "Run it"


async def followed_run(
    context: Context,
    runs: LatestRuns,
    request: RunRequest,
    token: types.ProgressToken | None,
    title: str,
    follow: str | None = None,
) -> tuple[Finished | None, dict[str, Any]]:
    """Return the final event of the run; if the user cancelled it, None and the result of a cancelled run.

    The user must confirm an expensive run, and one that sends a key to a server named in the settings of the
    project. The run ends when its progress is cancelled, or by `promptls.cancelRun`. The client receives the
    verdicts on rows under the name `follow` as the rows finish. Raises UserError if the run cannot start, or
    is aborted.
    """
    from promptls.experiments.access import NOT_SENT, may_send_keys
    from promptls.experiments.client import RUNS, run_in_process

    if not await may_send_keys(await asyncio.to_thread(RUNS.access, request), context.confirmed):
        return None, {**_NOTHING, "message": NOT_SENT}
    prompt, named = subject_of(context, request)
    async with progress(context, token, title) as shown:
        watch = _Watch(context, runs, shown, prompt, named)
        news = None if follow is None else VerdictNews(context, follow)

        def see(event: Event) -> None:
            watch.see(event)
            if news is not None:
                news.see(event)

        try:
            with runs.in_progress(prompt, named, shown.cancel):
                finished = await shown.run(run_in_process(request, see, watch.may_spend, editor_of(context)))
        finally:
            if news is not None:
                await news.close()
    return finished, watch.cancelled() if finished is None else {}


def subject_of(context: Context, request: RunRequest) -> tuple[str, str]:
    """Return the prompt and the name of the experiment of a run."""
    from promptls.experiments.folder_code import prompt_of_run

    prompt, experiment = prompt_of_run(request)
    return prompt, experiment or next(iter(experiment_runs.experiment_names(context.snapshot, prompt)), "")


def title_of(context: Context, request: RunRequest) -> str:
    """Return the title of the progress of a run."""
    prompt, experiment = subject_of(context, request)
    return experiment or Path(prompt).name


_NOTHING: dict[str, Any] = {
    "run": "",
    "name": "",
    "rows": 0,
    "failed": 0,
    "scores": {},
    "cancelled": True,
    "resume": "",
}


class _Watch:
    """Shows the events of a run as progress, and records what the report of a cancelled run needs."""

    def __init__(
        self, context: Context, runs: LatestRuns, shown: WorkDoneProgress, prompt: str, experiment: str
    ) -> None:
        self._context = context
        self._runs = runs
        self._shown = shown
        self._prompt = prompt
        self._experiment = experiment
        self._is_refused = False
        self._last: Started | Stopped | None = None
        self._done = 0

    def see(self, event: Event) -> None:
        """Handle the next event."""
        if isinstance(event, Planned):
            self._shown.report(plan_text(event), 0)
        elif isinstance(event, RowFinished):
            self._done = event.done
            running = Running(event.done, event.total, event.left)
            self._runs.advanced(self._prompt, self._experiment, running)
            share = 100 * event.done // max(event.total, 1)
            self._shown.report(progress_text(event.done, event.total, event.rate, event.left), share)
        elif isinstance(event, Started | Stopped):
            self._last = event
            if isinstance(event, Started):
                self._done = event.done
                running = Running(event.done, event.total)
                self._runs.advanced(self._prompt, self._experiment, running, event.path)
                self._shown.report(f"{event.done} of {event.total} rows", 0)

    async def may_spend(self, planned: Planned) -> bool:
        """Ask the user whether an expensive run may start."""
        self._is_refused = not await self._context.confirmed(_question(planned), RUN_IT)
        self._shown.is_cancelled |= self._is_refused
        return not self._is_refused

    def cancelled(self) -> dict[str, Any]:
        """Return the result of a run that the user has cancelled."""
        last = self._last
        if self._is_refused:
            return {**_NOTHING, "message": "Nothing was run, and nothing was spent."}
        path = last.path if last is not None and self._done else ""
        retained = "; the finished ones are kept" if path else ""
        if path and not self._context.capabilities.panels:
            retained += f", and `promptls run --resume {path}` continues"
        of = f" of {last.total}" if last is not None else ""
        return {
            **_NOTHING,
            "rows": self._done,
            "resume": path,
            "message": f"The run was cancelled after {self._done}{of} rows{retained}.",
        }


def _question(planned: Planned) -> str:
    """Return the question, preceded by the effect of the edit if that is known."""
    if planned.changed is None:
        return str(planned.question)
    return f"{changed_text(planned)}. {planned.question}"


_NEWS_SECONDS: Final = 0.25
"""The minimum time between two notifications."""


class VerdictNews:
    """Notifies the client of rows as they finish, in batches: `{"follow", "verdicts"}`."""

    def __init__(self, context: Context, follow: str) -> None:
        """`follow` is the client's name for the run."""
        self._context = context
        self._follow = follow
        self._live: LiveVerdicts | None = None
        self._sending: asyncio.Task[None] | None = None

    def see(self, event: Event) -> None:
        """Handle an event of the run."""
        if isinstance(event, Started):
            self._live = LiveVerdicts(Path(event.path), event.metrics)
        elif isinstance(event, RowFinished) and self._sending is None:
            self._sending = self._context.start(self._send(), "the verdicts on rows")

    async def close(self) -> None:
        """Stop sending."""
        if self._sending is not None:
            self._sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sending
            self._sending = None

    async def _send(self) -> None:
        await asyncio.sleep(_NEWS_SECONDS)
        assert self._live is not None
        fresh = await asyncio.to_thread(self._live.fresh)
        # Rows that finish from now on are sent in the next batch.
        self._sending = None
        if fresh:
            verdicts = [verdict_json(verdict, stale=False) for verdict in fresh]
            params: command_types.RowVerdictsParams = {"follow": self._follow, "verdicts": verdicts}
            self._context.notify("promptls/rowVerdicts", {**params})


def verdict_json(verdict: RowVerdict, *, stale: bool) -> command_types.RowVerdictJson:
    """Return the verdict on a row; it is `stale` if the prompt changed after the run."""
    return {
        "number": verdict.number,
        "state": verdict.state,
        "message": verdict.message,
        "expected": verdict.expected,
        "actual": verdict.actual,
        "seconds": verdict.seconds,
        "stale": stale,
    }


ASK_MODEL: Final = "promptls/askModel"
"""The request: `{"run", "model", "messages", "parameters"}`.

The model is `<vendor>/<family>`, and `run` is the same for all requests of one run. The answer is `{"text",
"model", "inputTokens", "outputTokens"}`, the counts null where they are not known, or `{"error": {"code",
"message"}}` with one of the codes `notFound`, `noPermissions`, `blocked`, `failed`.
"""


def editor_of(context: Context) -> AskEditor | None:
    """Return a function that sends a request to a model of the client; None if the client offers no models.

    The function never raises. If it is cancelled, so is the request at the client.
    """
    if not context.capabilities.models:
        return None

    run = str(uuid4())

    async def ask(question: Mapping[str, Any]) -> Mapping[str, Any]:
        request_id = str(uuid4())
        params = {"run": run, **question}
        request = context.server.protocol.send_request_async(ASK_MODEL, params, msg_id=request_id)
        try:
            answer = await request
        except JsonRpcException as error:
            return _failed(error.message)
        except asyncio.CancelledError:
            context.notify(types.CANCEL_REQUEST, types.CancelParams(request_id))
            raise
        return answer if isinstance(answer, dict) else _failed("the editor gave no answer")

    return ask


def editor_models(context: Context, params: dict[str, Any]) -> None:
    """Handle `promptls/editorModels`: the models that the client offers now, as `<vendor>/<family>`."""
    models = params.get("models")
    if isinstance(models, list):
        context.workspace.set_editor_models(tuple(dict.fromkeys(map(str, models))))


def _failed(message: str) -> dict[str, Any]:
    return {"error": {"code": "failed", "message": message}}


MAX_LISTED_RUNS = 50


def secrets_in(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables with keys from the editor's secret storage that the arguments pass."""
    secrets = optional(arguments, "secrets", dict) or {}
    return {str(name): str(value) for name, value in secrets.items()}


async def run_request(context: Context, trust: Trust, arguments: dict[str, Any]) -> RunRequest:
    """Return the run that the arguments describe.

    Raises `UsageError` if a folder of the run is not trusted.

    `uri` is the prompt; `resume`, `retryErrors` and `complete` specify a run instead. With `uri`, `resume`
    may be the name of a run of the prompt, as messages about stopped runs give it. `secrets` are variables
    with keys from the editor's secret storage: they are passed to the process of the run and nowhere else.
    """
    from promptls.experiments.folder_code import code_of_run, files_of_run

    resume = optional(arguments, "resume", str)
    if resume and Path(resume).parent == Path() and optional(arguments, "uri", str):
        resume = str(results_folder(Path(prompt_path(context, arguments))) / resume)
    complete = optional(arguments, "complete", str)
    retry = complete or optional(arguments, "retryErrors", str)
    path = "" if resume or retry else prompt_path(context, arguments)
    models = optional(arguments, "models", list) or []
    rows = arguments.get("rows")
    budget = optional(arguments, "budget", dict) or {}
    cost = budget.get("cost")
    engine = optional(arguments, "engine", str)
    if engine not in {None, "local", "ray"}:
        raise UsageError(f"there is no engine `{engine}`", remedy="it is `local` or `ray`")
    request = RunRequest(
        prompt=path,
        experiment=optional(arguments, "experiment", str),
        models=[str(model) for model in models],
        rows=None if rows is None else str(rows),
        repeats=optional(arguments, "repeats", int),
        max_calls=optional(budget, "calls", int),
        max_tokens=optional(budget, "tokens", int),
        max_cost=optional({"cost": float(cost) if isinstance(cost, int) else cost}, "cost", float),
        resume=resume,
        retry_errors=retry,
        complete=complete is not None,
        fresh=arguments.get("fresh") is True,
        yes=arguments.get("yes") is True,
        engine="ray" if engine == "ray" else "local" if engine == "local" else None,
        ray_address=optional(arguments, "rayAddress", str),
        editor=context.capabilities.models,
        unsaved=context.snapshot.unsaved(),
        secrets=secrets_in(arguments),
    )
    files = context.snapshot.roots
    if not trust.is_decided_by_client:
        # Finding experiments in Python searches the files of the project, which can take long.
        files = await asyncio.to_thread(lambda: tuple(map(str, files_of_run(request))))
    if not await trust.may_run(files, partial(code_of_run, request)):
        raise trust.refuse("experiments are not run", files)
    if trust.is_decided_by_client or all(map(context.snapshot.trusts, files)):
        return request
    return replace(request, roots=context.snapshot.file_scope.roots)


async def plan_experiment(context: Context, trust: Trust, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the plan with a readable summary; every row is rendered, and no model is called."""
    from promptls.experiments.client import plan_in_process

    planned = await plan_in_process(await run_request(context, trust, arguments))
    return {**asdict(planned), "message": plan_text(planned)}


async def run_experiment(
    context: Context,
    runs: LatestRuns,
    trust: Trust,
    arguments: dict[str, Any],
    token: types.ProgressToken | None,
) -> Mapping[str, object]:
    """Return the run's table, scores and a summary; raises UserError if it cannot start, or is aborted.

    With `onlyPlan`, return the plan and its cost, as `promptls.planExperiment` does. A run ends when its
    progress is cancelled, or by `promptls.cancelRun`. With `follow`, verdicts on rows are sent under that
    name during the run.
    """
    if arguments.get("onlyPlan") is True:
        return await plan_experiment(context, trust, arguments)
    request = await run_request(context, trust, arguments)
    title = f"Running {title_of(context, request)}"
    follow = optional(arguments, "follow", str)
    finished, cancelled = await followed_run(context, runs, request, token, title, follow)
    if finished is None:
        return cancelled
    runs.refresh(list(context.snapshot.open_files))
    result = _result(finished)
    if not context.capabilities.panels:
        message = types.ShowMessageParams(types.MessageType.Info, result["message"])
        context.server.window_show_message(message)
    return result


def _result(finished: Finished) -> command_types.RunResult:
    run = read_run(Path(finished.manifest_path))
    scores = ", ".join(f"{metric.name} {metric.text}" for metric in run.metrics)
    rows = f"{run.rows} {'row' if run.rows == 1 else 'rows'}"
    failed = f", {run.failed} of them failed" if run.failed else ""
    cached = f", {plural(run.cached, 'answer')} from the cache" if run.cached else ""
    return {
        "run": str(run.results),
        "name": run.name,
        "rows": run.rows,
        "failed": run.failed,
        "scores": {metric.name: metric.value for metric in run.metrics if metric.value is not None},
        "cancelled": False,
        "message": f"{run.name}: {rows}{failed}{cached}{f': {scores}' if scores else ''}",
    }


async def cancel_run(context: Context, runs: LatestRuns, arguments: dict[str, Any]) -> dict[str, Any]:
    """Cancel the runs of an experiment and return their number; the command of each run still responds."""
    path = prompt_path(context, arguments)
    cancelled = runs.cancel(path, optional(arguments, "experiment", str))
    return {"cancelled": cancelled, "message": "The run is cancelled." if cancelled else "Nothing is run."}


async def leave_one_out(
    context: Context,
    runs: LatestRuns,
    trust: Trust,
    arguments: dict[str, Any],
    token: types.ProgressToken | None,
) -> dict[str, Any]:
    """Return the report with a summary, open it as a page, and show the result at the examples.

    Raises UserError if the run cannot start, or is aborted.
    """
    request = replace(await run_request(context, trust, arguments), leave_one_out=True)
    finished, cancelled = await followed_run(
        context, runs, request, token, f"Leaving out the examples of {title_of(context, request)}"
    )
    if finished is None:
        return cancelled
    report = dict(finished.manifest)
    earning = sum(each["verdict"] == "earns its tokens" for each in report["examples"])
    context.refresh_inlay_hints()
    document = show_text(context, request.prompt, "examples", examples_markdown(report))
    message = f"{earning} of {len(report['examples'])} examples can be shown to earn their tokens."
    return {**report, "cancelled": False, "document": document, "message": message}


def examples_markdown(report: dict[str, Any]) -> str:
    """Return the report on the examples of a prompt as Markdown."""
    scores = (
        ", ".join(
            f"{markdown_text(each['name'])} {markdown_text(each['text'])}" for each in report["metrics"]
        )
        or "no metric"
    )
    models = " and ".join(map(markdown_text, report["models"]))
    lines = [
        f"# Examples of {markdown_text(Path(report['prompt']).name)}",
        "",
        (
            f"Experiment {markdown_text(report['experiment'])}, {report['rows']} rows, {models}. "
            f"With all examples: {scores}."
        ),
        "",
        "| Example | Shown in | Tokens | Verdict |",
        "| --- | ---: | ---: | --- |",
    ]
    lines += [
        f"| {each['number']}: {markdown_text(each['label'])} | {each['shown']} of {report['rows']} "
        f"| {each['tokens']:.0f} | {each['verdict']} |"
        for each in report["examples"]
    ]
    lines += [
        "",
        *(f"- Example {each['number']} {markdown_prose(each['message'])}." for each in report["examples"]),
    ]
    return "\n".join(lines) + "\n"


async def experiment_tests(
    context: Context, scan: WorkspaceScan, arguments: dict[str, Any], token: types.ProgressToken | None
) -> command_types.ExperimentTestsResult:
    """Return the prompt files with experiments in the workspace, or only the file `uri`.

    With `allPrompts`, prompts without experiments are among them.
    """
    if "uri" in arguments:
        one = experiment_runs.prompt_tests(context.snapshot, prompt_path(context, arguments))
        found = [one] if one is not None else []
    else:
        await scan.finished()
        found = await in_slices(
            context,
            experiment_runs.prompts_with_experiments(
                context.snapshot, all_prompts=optional(arguments, "allPrompts", bool) is True
            ),
            token,
            "Looking for tests",
        )
    return {"prompts": [_prompt(context, each) for each in found]}


async def list_runs(context: Context, arguments: dict[str, Any]) -> command_types.ListedRunsResult:
    """Return the last runs of the prompt `uri`, of its `experiment` if it is given."""
    path = prompt_path(context, arguments)
    found = await asyncio.to_thread(_listed_runs, Path(path), optional(arguments, "experiment", str))
    return {"runs": found}


def _listed_runs(prompt: Path, experiment: str | None) -> list[command_types.ListedRun]:
    from promptls.experiments.named_runs import known_runs, run_notes

    runs = known_runs(results_folder(prompt), prompt=prompt, experiment=experiment, limit=MAX_LISTED_RUNS)
    return [
        {
            "name": run.name,
            "table": str(run.path),
            "started": run.started,
            "status": run.status,
            "scores": run.scores,
            "models": list(run.models),
            "notes": run_notes(run),
        }
        for run in runs
    ]


async def experiment_rows(context: Context, arguments: dict[str, Any]) -> command_types.ExperimentRows:
    """Return the rows of the experiment, with the latest verdict on each row and on each example.

    `dataset` is null for an experiment in Python: its rows are those of its last run.
    """
    path = prompt_path(context, arguments)
    experiment = optional(arguments, "experiment", str)
    if experiment is None:
        raise UsageError("the command needs the experiment", remedy='pass {"uri": …, "experiment": "<name>"}')
    dataset = experiment_runs.dataset_of(context.snapshot, path, experiment)
    unsaved = context.snapshot.unsaved()
    # Reading a long dataset takes time, so a thread does it; it does not access the session.
    found = await asyncio.to_thread(_rows, path, experiment, dataset, unsaved)
    found["dataset"] = context.uri_of(str(dataset)) if dataset is not None else None
    return found


async def row_verdicts(arguments: dict[str, Any]) -> command_types.RowVerdictsResult:
    """Return the verdicts on the rows of the run whose table is `run`."""
    run = optional(arguments, "run", str)
    if run is None:
        raise UsageError("the command needs the table of a run", remedy='pass {"run": "….csv"}')
    found = await asyncio.to_thread(_of_run, run)
    return {"verdicts": found}


def _prompt(context: Context, found: experiment_runs.ExperimentTests) -> command_types.PromptTestsJson:
    template = context.snapshot.template(found.path)
    assert template is not None
    return {
        "uri": context.uri_of(found.path),
        "experiments": list(found.experiments),
        "examples": [
            {"number": number, "line": template.source.line_column(offset).line, "label": label}
            for number, (offset, label) in enumerate(found.examples, start=1)
        ],
    }


def _rows(
    path: str, experiment: str, dataset: Path | None, unsaved: Mapping[str, str]
) -> command_types.ExperimentRows:
    runs = last_runs(Path(path), experiment, unsaved=unsaved).newest_first
    verdicts = list(_readable(latest_verdicts(run for run in runs if not is_of_examples(run.rows_chosen))))
    of_examples = list(_readable(latest_verdicts(run for run in runs if is_of_examples(run.rows_chosen))))
    listed: list[command_types.RowTestJson]
    if dataset is not None:
        rows, more = experiment_runs.row_tests(dataset)
        listed = [{"number": row.number, "line": row.line, "label": row.label} for row in rows]
    else:
        more = False
        listed = [{"number": each.number, "line": None, "label": str(each.number)} for _, each in verdicts]
    return {
        "dataset": None,
        "rows": listed,
        "more": more,
        "verdicts": [verdict_json(verdict, stale=run.stale) for run, verdict in verdicts],
        "exampleVerdicts": [verdict_json(verdict, stale=run.stale) for run, verdict in of_examples],
    }


def _readable(found: Any) -> Any:
    """Suppress errors of a table that cannot be read: the file may have been deleted."""
    try:
        yield from found
    except (UserError, OSError):
        return


def _of_run(table: str) -> list[command_types.RowVerdictJson]:
    run = read_run(Path(table).with_suffix(".json"))
    return [verdict_json(verdict, stale=False) for verdict in verdicts_of(run)]
