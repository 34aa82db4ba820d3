"""Experiments as tests, for an editor that shows tests: what there is, and what the last runs say of it.

`promptls.experimentTests` lists prompt files with their experiments and examples, `promptls.experimentRows`
the rows of one experiment with their verdicts, `promptls.rowVerdicts` what one run says of its rows. Nothing
is run.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.ide.experiments import (
    PromptTests,
    dataset_of,
    prompt_tests,
    prompts_with_experiments,
    row_tests,
)
from promptls.server import command_types
from promptls.server.commands.arguments import prompt_path
from promptls.server.commands.followed_run import verdict_json
from promptls.server.progress import in_slices
from promptls.text.errors import UsageError, UserError, optional

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lsprotocol import types

    from promptls.server.context import Context
    from promptls.server.state.scan import Scan


async def experiment_tests(
    context: Context, scan: Scan, arguments: dict[str, Any], token: types.ProgressToken | None
) -> command_types.ExperimentTestsResult:
    """Return the prompt files with experiments: of the workspace, or with `uri` that file alone."""
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
    # Long datasets take their time; nothing of the session is touched meanwhile.
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(None, _rows, path, experiment, dataset, unsaved)
    found["dataset"] = context.uri_of(str(dataset)) if dataset is not None else None
    return found


async def row_verdicts(arguments: dict[str, Any]) -> command_types.RowVerdictsResult:
    """Return what the run whose table `run` names says of its rows."""
    run = optional(arguments, "run", str)
    if run is None:
        raise UsageError("the command needs the table of a run", remedy='pass {"run": "….csv"}')
    found = await asyncio.get_running_loop().run_in_executor(None, _of_run, run)
    return {"verdicts": found}


def _prompt(context: Context, found: PromptTests) -> command_types.PromptTests:
    template = context.snapshot.template(found.path)
    assert template is not None
    return {
        "uri": context.uri_of(found.path),
        "experiments": list(found.experiments),
        "examples": [
            {"number": number, "line": template.source.place(offset).line, "label": label}
            for number, (offset, label) in enumerate(found.examples, start=1)
        ],
    }


def _rows(
    path: str, experiment: str, dataset: Path | None, unsaved: Mapping[str, str]
) -> command_types.ExperimentRows:
    from promptls.experiments.history import last_runs
    from promptls.experiments.row_choice import is_of_examples
    from promptls.experiments.verdicts import newest_verdicts

    runs = last_runs(Path(path), experiment, unsaved=unsaved).newest_first
    verdicts = list(_readable(newest_verdicts(run for run in runs if not is_of_examples(run.rows_chosen))))
    of_examples = list(_readable(newest_verdicts(run for run in runs if is_of_examples(run.rows_chosen))))
    listed: list[command_types.RowTest]
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
    """Yield what can be read of it: the table of a run may be gone."""
    try:
        yield from found
    except (UserError, OSError):
        return


def _of_run(table: str) -> list[command_types.RowVerdict]:
    from promptls.experiments.history import read_run
    from promptls.experiments.verdicts import row_verdicts as verdicts_of

    run = read_run(Path(table).with_suffix(".json"))
    return [verdict_json(verdict, stale=False) for verdict in verdicts_of(run)]
