"""`promptls history`: the runs of a prompt or project, newest first."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.arguments import whole_number
from promptls.cli.terminal import Color, Column, TableRow, paint, print_json, printed_path, table
from promptls.security.files import read_bytes
from promptls.text.errors import FilePlace, UsageError

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary

DESCRIPTION = """\
List the runs of a prompt, or of the project and the folders below, newest first, including
running, cancelled and killed ones with their progress.

examples:
  promptls history                            all runs of this project
  promptls history triage.yml.j2              runs of one prompt
  promptls history triage.yml.j2 --same-text  runs of the prompt's current text
  promptls history --json | jq '.[0].values'

exit codes: 0 listed, 1 nothing found, 2 usage error"""

SHOWN = 20
"""The default number of runs shown."""

COMMIT = 8
"""The number of characters shown of a commit hash."""

_COLORS: dict[str, Color] = {"running": "cyan", "stopped": "yellow"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the prompt, and the selection of its runs."""
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="a prompt file or folder")
    parser.add_argument("--experiment", metavar="NAME", help="only runs of this experiment")
    parser.add_argument(
        "--same-text",
        action="store_true",
        help="only runs of the current text, under any file name",
    )
    parser.add_argument(
        "--limit", metavar="N", type=whole_number, default=SHOWN, help="maximum number of runs (default: 20)"
    )
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Print the runs; return 1 if there are none."""
    from promptls.experiments.named_runs import folders_of_runs, known_runs, newest_first

    file: Path | None = arguments.file
    prompt = None if file is None or file.is_dir() else file
    if prompt is not None and not prompt.is_file():
        raise UsageError("the prompt file does not exist", FilePlace(prompt), "check the path")
    if arguments.same_text and prompt is None:
        raise UsageError("`--same-text` needs a prompt file", remedy="name one: `promptls history FILE`")
    text = read_bytes(prompt).decode("utf-8", "surrogateescape") if arguments.same_text and prompt else None
    folders = folders_of_runs(file or Path.cwd())
    found = (
        run
        for folder in folders
        for run in known_runs(
            folder,
            prompt=None if text is not None else prompt,
            experiment=arguments.experiment,
            same_text=text,
            limit=arguments.limit + 1,
        )
    )
    one_more = newest_first(found, arguments.limit + 1)
    runs = one_more[: arguments.limit]
    if arguments.json:
        print_json([_json(run) for run in runs])
    elif runs:
        _print(runs)
        if len(one_more) > len(runs):
            print(paint(f"there are older runs: `--limit {2 * arguments.limit}` shows more", "dim"))
    else:
        of = f" of an experiment `{arguments.experiment}`" if arguments.experiment else ""
        print(f"no run{of} in {printed_path(folders[0])} yet: promptls run FILE")
    return int(not runs)


def _json(run: RunSummary) -> dict[str, Any]:
    is_finished = run.status == "finished"
    totals = {
        "seconds": run.seconds,
        "failed": run.failed,
        "invalid": run.invalid,
        "cost": run.cost,
        "paid": run.paid,
        "cached": run.cached,
    }
    return {
        "name": run.name,
        "status": run.status,
        "experiment": run.experiment,
        "prompt": str(run.prompt),
        "path": str(run.path),
        "started": run.started,
        "models": run.models,
        "rows": run.rows,
        "done": run.done,
        **(totals if is_finished else dict.fromkeys(totals)),
        "scores": run.scores,
        "values": run.values,
        "complete": run.is_complete,
        "chosen": run.rows_chosen,
        "dataset_hash": run.dataset_hash,
        "continues": run.continues,
        "prompt_hash": run.prompt_hash,
        "text_hash": run.text_hash,
        "rendered_hash": run.rendered_hash,
        "commit": run.commit,
        "dirty": run.dirty,
    }


def _print(runs: list[RunSummary]) -> None:
    metrics = list(dict.fromkeys(name for run in runs for name in run.scores))
    columns = [
        Column("run"),
        Column("prompt"),
        Column("model"),
        Column("rows", "right"),
        *(Column(name, "right") for name in metrics),
        Column("seconds", "right"),
        Column("commit"),
        Column(""),
    ]
    print(table(columns, [_row(run, metrics) for run in runs]))
    stopped = next((run for run in runs if run.status == "stopped"), None)
    if stopped is not None:
        print(paint(f"\nresume one that stopped: promptls run --resume {stopped.name}", "dim"))


def _row(run: RunSummary, metrics: list[str]) -> TableRow:
    from promptls.experiments.named_runs import run_notes

    rows = f"{run.done:,}" if run.done == run.rows else f"{run.done:,} of {run.rows:,}"
    commit = (run.commit or "")[:COMMIT] + ("*" if run.dirty else "")
    cells = [
        run.name,
        printed_path(run.prompt),
        " + ".join(run.models),
        rows,
        *(run.scores.get(name, "") for name in metrics),
        f"{run.seconds:g}" if run.status == "finished" else "",
        commit,
        run_notes(run),
    ]
    return TableRow(cells, _COLORS.get(run.status))
