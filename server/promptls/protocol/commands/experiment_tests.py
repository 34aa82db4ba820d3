"""Experiments as tests, for an editor that shows tests: what there is, and what the last runs say of it.

`promptls.experimentTests` lists prompt files with their experiments and examples, `promptls.experimentRows`
the rows of one experiment with their verdicts, `promptls.rowVerdicts` what one run says of its rows. Nothing
is run.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.experiment_tests import (
    PromptTests,
    dataset_of,
    prompt_tests,
    prompts_with_experiments,
    row_tests,
)
from promptls.protocol.client.progress import in_slices
from promptls.protocol.commands.arguments import prompt_path
from promptls.text.arguments import optional
from promptls.text.failure import Failure, WrongUse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptls.experiments.row_verdicts import RowVerdict
    from promptls.protocol.session import Session


async def experiment_tests(
    session: Session, arguments: dict[str, Any], token: types.ProgressToken | None
) -> dict[str, Any]:
    """The prompt files with experiments: of the workspace, or with `uri` that file alone."""
    if "uri" in arguments:
        one = prompt_tests(session.snapshot, prompt_path(session, arguments))
        found = [one] if one is not None else []
    else:
        await session.scan.finished()
        found = await in_slices(
            session, prompts_with_experiments(session.snapshot), token, "Looking for tests"
        )
    return {"prompts": [_prompt(session, each) for each in found]}


async def experiment_rows(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The rows of the experiment, with the newest verdict on each row and on each example.

    `dataset` is null for an experiment in Python: its rows are those of its last run.
    """
    path = prompt_path(session, arguments)
    experiment = optional(arguments, "experiment", str)
    if experiment is None:
        raise WrongUse("the command needs the experiment", remedy='pass {"uri": …, "experiment": "<name>"}')
    dataset = dataset_of(session.snapshot, path, experiment)
    unsaved = session.snapshot.unsaved()
    # Long data sets take their time; nothing of the session is touched meanwhile.
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(None, _rows, path, experiment, dataset, unsaved)
    return {**found, "dataset": session.uri_of(str(dataset)) if dataset is not None else None}


async def row_verdicts(
    _session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """What the run whose table `run` names says of its rows."""
    run = optional(arguments, "run", str)
    if run is None:
        raise WrongUse("the command needs the table of a run", remedy='pass {"run": "….csv"}')
    found = await asyncio.get_running_loop().run_in_executor(None, _of_run, run)
    return {"verdicts": found}


def _prompt(session: Session, found: PromptTests) -> dict[str, Any]:
    template = session.snapshot.template(found.path)
    assert template is not None
    return {
        "uri": session.uri_of(found.path),
        "experiments": list(found.experiments),
        "examples": [
            {"number": number, "line": template.source.place(offset).line, "label": label}
            for number, (offset, label) in enumerate(found.examples, start=1)
        ],
    }


def _rows(path: str, experiment: str, dataset: Path | None, unsaved: Mapping[str, str]) -> dict[str, Any]:
    from promptls.experiments.example_choice import is_of_examples
    from promptls.experiments.last_runs import last_runs
    from promptls.experiments.row_verdicts import newest_verdicts

    runs = last_runs(Path(path), experiment, unsaved=unsaved).newest_first
    verdicts = list(_readable(newest_verdicts(run for run in runs if not is_of_examples(run.rows_chosen))))
    of_examples = list(_readable(newest_verdicts(run for run in runs if is_of_examples(run.rows_chosen))))
    if dataset is not None:
        rows, more = row_tests(dataset)
        listed = [{"number": row.number, "line": row.line, "label": row.label} for row in rows]
    else:
        more = False
        listed = [{"number": each.number, "line": None, "label": str(each.number)} for _, each in verdicts]
    return {
        "rows": listed,
        "more": more,
        "verdicts": [_verdict(verdict, stale=run.stale) for run, verdict in verdicts],
        "exampleVerdicts": [_verdict(verdict, stale=run.stale) for run, verdict in of_examples],
    }


def _readable(found: Any) -> Any:
    """What can be read of it: the table of a run may be gone."""
    try:
        yield from found
    except (Failure, OSError):
        return


def _of_run(table: str) -> list[dict[str, Any]]:
    from promptls.experiments.history import read_run
    from promptls.experiments.row_verdicts import row_verdicts as verdicts_of

    run = read_run(Path(table).with_suffix(".json"))
    return [_verdict(verdict, stale=False) for verdict in verdicts_of(run)]


def _verdict(verdict: RowVerdict, *, stale: bool) -> dict[str, Any]:
    return {**verdict._asdict(), "stale": stale}
