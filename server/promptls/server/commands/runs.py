"""Running experiments: plans, runs, and the tests of experiments that editors show."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.ide.code_lenses import plan_text
from promptls.ide.experiments import (
    ExperimentTests,
    dataset_of,
    prompt_tests,
    prompts_with_experiments,
    row_tests,
)
from promptls.server import command_types
from promptls.server.commands.followed_run import followed_run, title_of, verdict_json
from promptls.server.locations import prompt_path
from promptls.server.progress import in_slices
from promptls.server.shown_text import show_text
from promptls.text.errors import UsageError, UserError, optional
from promptls.text.escape import markdown_prose, markdown_text

if TYPE_CHECKING:
    from promptls.experiments.run_protocol import Finished, RunRequest
    from promptls.server.context import Context
    from promptls.server.folder_trust import Trust
    from promptls.server.state.latest_runs import LatestRuns
    from promptls.server.state.scan import WorkspaceScan


async def run_request(context: Context, trust: Trust, arguments: dict[str, Any]) -> RunRequest:
    """Return the run that the arguments describe.

    Raises `UsageError` if a folder of the run is not trusted.

    `uri` is the prompt; `resume` and `retryErrors` specify a run instead. `secrets` are variables with keys
    from the editor's secret storage: they are passed to the process of the run and nowhere else.
    """
    from promptls.experiments.folder_code import code_of_run, files_of_run
    from promptls.experiments.run_protocol import RunRequest

    resume = optional(arguments, "resume", str)
    retry = optional(arguments, "retryErrors", str)
    path = "" if resume or retry else prompt_path(context, arguments)
    models = optional(arguments, "models", list) or []
    rows = arguments.get("rows")
    budget = optional(arguments, "budget", dict) or {}
    cost = budget.get("cost")
    secrets = optional(arguments, "secrets", dict) or {}
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
        fresh=arguments.get("fresh") is True,
        yes=arguments.get("yes") is True,
        engine="ray" if engine == "ray" else "local" if engine == "local" else None,
        ray_address=optional(arguments, "rayAddress", str),
        editor=context.capabilities.models,
        unsaved=context.snapshot.unsaved(),
        secrets={str(name): str(value) for name, value in secrets.items()},
    )
    files = context.snapshot.roots
    if not trust.is_decided_by_client:
        # Finding experiments in Python searches the files of the project, which can take long.
        files = await asyncio.to_thread(lambda: tuple(map(str, files_of_run(request))))
    if not await trust.may_run(files, partial(code_of_run, request)):
        raise trust.refuse("experiments are not run", files)
    return request


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
    from promptls.experiments.history import read_run

    run = read_run(Path(finished.manifest_path))
    scores = ", ".join(f"{metric.name} {metric.text}" for metric in run.metrics)
    rows = f"{run.rows} {'row' if run.rows == 1 else 'rows'}"
    failed = f", {run.failed} of them failed" if run.failed else ""
    return {
        "run": str(run.results),
        "name": run.name,
        "rows": run.rows,
        "failed": run.failed,
        "scores": {metric.name: metric.value for metric in run.metrics if metric.value is not None},
        "cancelled": False,
        "message": f"{run.name}: {rows}{failed}{f': {scores}' if scores else ''}",
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
        *(f"- Example {each['number']} {markdown_prose(each['words'])}." for each in report["examples"]),
    ]
    return "\n".join(lines) + "\n"


async def experiment_tests(
    context: Context, scan: WorkspaceScan, arguments: dict[str, Any], token: types.ProgressToken | None
) -> command_types.ExperimentTestsResult:
    """Return the prompt files with experiments in the workspace, or only the file `uri`."""
    if "uri" in arguments:
        one = prompt_tests(context.snapshot, prompt_path(context, arguments))
        found = [one] if one is not None else []
    else:
        await scan.finished()
        found = await in_slices(
            context, prompts_with_experiments(context.snapshot), token, "Looking for tests"
        )
    return {"prompts": [_prompt(context, each) for each in found]}


async def experiment_rows(context: Context, arguments: dict[str, Any]) -> command_types.ExperimentRows:
    """Return the rows of the experiment, with the latest verdict on each row and on each example.

    `dataset` is null for an experiment in Python: its rows are those of its last run.
    """
    path = prompt_path(context, arguments)
    experiment = optional(arguments, "experiment", str)
    if experiment is None:
        raise UsageError("the command needs the experiment", remedy='pass {"uri": …, "experiment": "<name>"}')
    dataset = dataset_of(context.snapshot, path, experiment)
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


def _prompt(context: Context, found: ExperimentTests) -> command_types.PromptTestsJson:
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
    from promptls.experiments.history import last_runs
    from promptls.experiments.row_choice import is_of_examples
    from promptls.experiments.verdicts import latest_verdicts

    runs = last_runs(Path(path), experiment, unsaved=unsaved).newest_first
    verdicts = list(_readable(latest_verdicts(run for run in runs if not is_of_examples(run.rows_chosen))))
    of_examples = list(_readable(latest_verdicts(run for run in runs if is_of_examples(run.rows_chosen))))
    listed: list[command_types.RowTestJson]
    if dataset is not None:
        rows, more = row_tests(dataset)
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
    from promptls.experiments.history import read_run
    from promptls.experiments.verdicts import row_verdicts as verdicts_of

    run = read_run(Path(table).with_suffix(".json"))
    return [verdict_json(verdict, stale=False) for verdict in verdicts_of(run)]
