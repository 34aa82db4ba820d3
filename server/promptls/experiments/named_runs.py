"""Runs by what a user writes: a table, a manifest, a name, or a prompt file; and all runs of a folder."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.experiments.history import (
    LOOKED_BACK,
    RunSummary,
    Status,
    finished_runs,
    is_same_dataset,
    is_stale,
    last_run,
    metric_summary,
    read_run,
    run_of_values,
    runs_of,
    with_baseline,
)
from promptls.experiments.manifest import hash_of_text, manifest_of, prompt_stem, results_folder
from promptls.experiments.row_choice import chosen_rows
from promptls.experiments.scores import RowResult, Score, Totals
from promptls.experiments.unfinished import planned_results, read_header, unfinished_runs
from promptls.metrics.metric import Metric
from promptls.security.files import open_text
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import plural
from promptls.text.suggest import did_you_mean
from promptls.workspace.disk import ENDINGS, prompt_paths_by_folder

if TYPE_CHECKING:
    from promptls.experiments.run_protocol import RunRequest

_MAX_FOLDERS: Final = 2_000
"""Maximum number of folders in which prompts are looked for."""
_MAX_ROWS: Final = 1_000_000
_NAMES: Final = re.compile(
    r"(?:^|[_ ])(?:score|accuracy|correct|correctness|precision|recall|f1|similarity|relevanc[ey]"
    r"|faithfulness|match|bleu|chrf|rouge|groundedness|adherence|passed|pass|success)$",
    re.IGNORECASE,
)
_CLASSES: Final = (
    ("correct", "incorrect"),
    ("pass", "fail"),
    ("passed", "failed"),
    ("yes", "no"),
    ("true", "false"),
    ("good", "okay", "bad"),
)
"""Common classes of discrete metrics, the good one first."""


def former_run(request: RunRequest) -> tuple[Path, Mapping[str, Any]] | None:
    """Return the file of the run that a request resumes or retries, and its manifest or header.

    None if the request is for a new run. Raises `UsageError` if there is no such run.
    """
    if request.resume is not None:
        path = find_unfinished(request.resume).absolute()
        return path, read_header(path)
    if request.retry_errors is not None:
        run = find_run(request.retry_errors)
        return run.manifest.absolute(), manifest_of(run.manifest)
    return None


def find_run(word: str, *, complete: bool = False) -> RunSummary:
    """Find a run by its table, its manifest, its name, or its prompt file (the last run).

    The extension `.yml.j2` of a prompt may be omitted. With `complete`, a prompt file means its latest
    complete run, if any.

    Raises `UsageError` if no run is found, with the most similar name or a remedy.
    """
    path = Path(word)
    if path.suffix in {".jsonl", ".parquet"} and (table := path.with_suffix(".csv")).is_file():
        path = table
    if path.suffix in {".csv", ".json"}:
        return _of_file(path)
    if path.suffix == ".jsonl" and path.is_file():
        raise UsageError(
            "results are read from a CSV table, and this is JSON Lines without one beside it",
            FilePlace(path),
            "store the results with the backend `local/csv`, or with promptls's `arun`",
        )
    if path.is_file():
        run = (_last_complete(path) if complete else None) or last_run(path)
        if run is None:
            raise UsageError("this prompt has no run", FilePlace(path), f"start one: `promptls run {word}`")
        return run
    named = next((name for ending in ENDINGS if Path(name := f"{word}{ending}").is_file()), None)
    return find_run(named, complete=complete) if named is not None else _of_name(word)


def _of_file(path: Path) -> RunSummary:
    manifest = path.with_suffix(".json")
    if manifest.is_file():
        return read_run(manifest)
    others = [file.stem for file in path.parent.glob("*.json")] if path.parent.is_dir() else []
    if path.is_file():
        run = run_of_table(path)
        if run is not None:
            return run
        raise UsageError(
            "the table has no manifest beside it, and no column of it looks like a score",
            FilePlace(path),
            f"put its manifest `{manifest.name}` beside it, or name columns such as `accuracy_score`",
        )
    raise UsageError(
        f"there is no such run{did_you_mean(path.stem, others)}", FilePlace(path), "check the path"
    )


def _of_name(name: str) -> RunSummary:
    path = Path(name)
    folders = _folders() if path.parent == Path() else [path.absolute().parent]
    names = []
    for folder in folders:
        if (folder / f"{path.name}.json").is_file():
            return read_run(folder / f"{path.name}.json")
        if folder.is_dir():
            names += [file.stem for file in folder.glob("*-*-*.json")]
    if any(each.name == path.name for each in _unfinished_paths(folders)):
        raise UsageError(
            "this run did not finish, so it has no scores to compare",
            FilePlace(path),
            f"resume it: `promptls run --resume {path}`",
        )
    remedy = (
        f"the last runs are {', '.join(f'`{run}`' for run in sorted(names)[-3:])}"
        if names
        else ("name a table in an `experiments` folder, or a prompt file that has been run")
    )
    problem = f"there is no run or prompt file `{path}`{did_you_mean(path.name, names)}"
    raise UsageError(problem, remedy=remedy)


def _last_complete(prompt: Path) -> RunSummary | None:
    runs = runs_of(prompt)
    found = next((run for run in islice(runs, LOOKED_BACK) if run.is_complete), None)
    return None if found is None else with_baseline(found, runs)


def run_to_retry(word: str, *, complete: bool, judged: bool = True) -> RunSummary:
    """Find a run whose failed rows are to be asked again or, with `complete`, those that it left out.

    Rows that lack a score have failed if they are `judged`. Raises `UsageError` if there are no such rows.
    """
    run = find_run(word)
    place = FilePlace(run.results)
    if complete and run.is_complete:
        remedy = f"`promptls run --retry-errors {run.name}` asks failed rows again"
        raise UsageError(f"{run.name} already has all rows", place, remedy)
    is_scored = not judged or not any(metric.unscored for metric in run.metrics)
    if not complete and not run.failed and is_scored:
        said = f"no row of {run.name} failed" + (", and all of them have their scores" if judged else "")
        raise UsageError(said, place, "there is nothing to retry")
    return run


def find_unfinished(word: str) -> Path:
    """Find an unfinished run by its path, its name or a prompt file (the latest one), and return its path.

    Raises `UsageError` if no run is found.
    """
    path = Path(word)
    if path.is_file() and path.suffix not in {".csv", ".json"}:
        shape = re.compile(rf"\d{{8}}-\d{{6}}-{re.escape(prompt_stem(path))}(-\d+)?")
        found = [
            each
            for each in _unfinished_paths([results_folder(path.absolute())])
            if shape.fullmatch(each.name)
        ]
        if found:
            return found[-1]
        raise UsageError(
            "this prompt has no unfinished run", FilePlace(path), f"start one: `promptls run {word}`"
        )
    name = path.stem if path.suffix in {".csv", ".json"} else path.name
    folders = [path.absolute().parent] if path.parent != Path() else _folders()
    runs = _unfinished_paths(folders)
    named = next((each for each in runs if each.name == name), None)
    if named is not None:
        return named
    if any((folder / f"{name}.json").is_file() for folder in folders):
        raise UsageError(
            f"the run `{name}` has ended", remedy="run its failed rows again with `--retry-errors`"
        )
    names = [each.name for each in runs]
    raise UsageError(
        f"there is no unfinished run `{name}`{did_you_mean(name, names)}",
        remedy=f"those that were are {', '.join(f'`{each}`' for each in names[-3:])}"
        if names
        else "no run here is unfinished",
    )


def _unfinished_paths(folders: list[Path]) -> list[Path]:
    return sorted(
        (run.path for folder in folders for run in unfinished_runs(folder)), key=lambda path: path.name
    )


def _folders() -> list[Path]:
    """Return the folders in which runs are found by name: those of the working directory, and itself."""
    here = Path.cwd()
    return list(dict.fromkeys([here / "experiments", here, *folders_of_runs(here)]))


def folders_of_runs(path: Path) -> list[Path]:
    """Return the results folders of a prompt, or of a folder: of its project, and of all prompts below it."""
    if not path.is_dir():
        return [results_folder(path)]
    if path.name == "experiments":
        return [path]
    below = islice(prompt_paths_by_folder(path.absolute()), _MAX_FOLDERS)
    prompts = [path.absolute() / "any", *(Path(paths[0]) for paths in below if paths)]
    return list(dict.fromkeys(map(results_folder, prompts)))


def run_of_table(path: Path) -> RunSummary | None:
    """Derive a run from the columns of a CSV table; None if no column looks like a score.

    A column is a score if it is named like one or has a column with reasons, and contains only numbers
    or classes of a single metric.
    """
    try:
        with open_text(path, errors="replace") as stream:
            reader = csv.DictReader(stream)
            lines = list(islice(reader, _MAX_ROWS))
            columns = reader.fieldnames or ()
    except (OSError, csv.Error) as error:
        raise UsageError("the table cannot be read", FilePlace(path), "check the path") from error
    metrics = {
        column: metric
        for column in columns
        if (_NAMES.search(column) or f"{column}_reason" in columns)
        and (metric := _metric(column, [cells.get(column) or "" for cells in lines])) is not None
    }
    if not metrics:
        return None
    totals = Totals(list(metrics.values()), [path.stem])
    for result in _results(path.stem, lines, metrics):
        totals.add(result)
    summary = totals.summary()
    changed = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc).astimezone()
    return RunSummary(
        name=path.stem,
        experiment=path.stem,
        prompt=path.absolute().with_suffix(""),
        results=path,
        manifest=path.with_suffix(".json"),
        started=changed.isoformat(timespec="seconds"),
        seconds=0.0,
        models=(path.stem,),
        rows=len(lines),
        failed=summary["totals"]["failed"],
        input_tokens=0,
        output_tokens=0,
        cost=None,
        metrics=tuple(metric_summary(metric) for metric in summary["metrics"]),
        stale=False,
    )


def _results(model: str, lines: Sequence[dict[str, str]], metrics: dict[str, Metric]) -> Iterator[RowResult]:
    for number, cells in enumerate(lines, start=1):
        error = cells.get("error") or None
        scores = {
            name: Score(float(text) if metric.kind == "numeric" else text)
            for name, metric in metrics.items()
            if (text := cells.get(name))
        }
        yield RowResult(
            str(number), number, number - 1, model, 1, {}, scores={} if error else scores, error=error
        )


def _metric(name: str, cells: Sequence[str]) -> Metric | None:
    different = {cell for cell in cells if cell}
    if not different:
        return None
    if all(map(_is_number, different)):
        return Metric(name, "numeric", None, float)
    for classes in _CLASSES:
        if all(cell.casefold() in classes for cell in different):
            spelled = {cell.casefold(): cell for cell in different}
            return Metric(name, "discrete", [spelled.get(each, each) for each in classes], str)
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def run_notes(run: RunSummary) -> str:
    """Return what is unusual about the run: failures, chosen rows, answers from the cache."""
    notes: list[str] = []
    if run.status != "finished":
        notes.append(run.status)
    if run.failed:
        notes.append(f"{run.failed:,} failed")
    if run.invalid:
        notes.append(f"{plural(run.invalid, 'answer')} in the wrong format")
    if run.rows_chosen:
        notes.append(f"partial: {chosen_rows(run.rows_chosen)}")
    if run.cached:
        notes.append(f"{run.cached:,} from the cache")
    if run.continues:
        notes.append(f"retries {run.continues}")
    return ", ".join(notes)


def known_runs(
    folder: Path,
    *,
    prompt: Path | None = None,
    experiment: str | None = None,
    same_text: str | None = None,
    limit: int | None = None,
) -> list[RunSummary]:
    """Return at most `limit` runs of the results folder, latest first.

    `prompt` limits them to that file, `same_text` to runs whose prompt file had this text, regardless of
    its name.
    """
    folder = folder.absolute()
    own = None if prompt is None else Path(os.path.normpath(prompt.absolute()))
    text_hash = None if same_text is None else hash_of_text(same_text)

    def chosen(runs: Iterable[RunSummary]) -> Iterator[RunSummary]:
        return (
            run
            for run in runs
            if own in {None, run.prompt}
            and experiment in {None, run.experiment}
            and text_hash in {None, run.text_hash}
        )

    finished = finished_runs(folder, None if own is None else prompt_stem(own))
    return newest_first([*islice(chosen(finished), limit), *chosen(_unfinished(folder))], limit)


def newest_first(runs: Iterable[RunSummary], limit: int | None) -> list[RunSummary]:
    """Return at most `limit` of the runs, latest first."""
    return sorted(runs, key=lambda run: (run.started, run.name), reverse=True)[:limit]


def stopped_runs(prompt: Path, *, unsaved: Mapping[str, str] | None) -> dict[str, RunSummary]:
    """Return the latest stopped run of each experiment of the prompt, unless files that it uses changed."""
    own = Path(os.path.normpath(prompt.absolute()))
    return {
        run.experiment: run
        for run in _unfinished(results_folder(own))
        if (run.status, run.prompt) == ("stopped", own)
        and run.done
        and not is_stale(run, unsaved or {})
        and run.dataset is not None
        and is_same_dataset(run.dataset, str(run.dataset_hash))
    }


_NO_TOTALS: Final[Mapping[str, Any]] = {"failed": 0, "input_tokens": 0, "output_tokens": 0, "cost": None}


def _unfinished(folder: Path) -> Iterator[RunSummary]:
    """Yield the runs of the folder that have not finished; those with a damaged header are skipped."""
    for state in unfinished_runs(folder):
        total, name = planned_results(state.header), state.path.name
        if total is None:
            continue
        no_results = {"run": name, "seconds": 0.0, "metrics": [], "totals": {"results": total, **_NO_TOTALS}}
        run = run_of_values({**state.header, **no_results}, folder / f"{name}.json")
        if run is not None:
            status: Status = "running" if state.is_running else "stopped"
            yield replace(run, status=status, done=min(total, state.done))
