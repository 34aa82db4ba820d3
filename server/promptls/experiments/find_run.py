"""The run that a word of the command line means."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from promptls.experiments.history import RunSummary, last_run, read_run, runs_of
from promptls.experiments.last_runs import LOOKED_BACK
from promptls.experiments.results_folder import prompt_stem, results_folder
from promptls.experiments.unfinished import unfinished_runs
from promptls.text.errors import FilePlace, UsageError
from promptls.text.suggest import did_you_mean
from promptls.workspace.disk import ENDINGS
from promptls.workspace.settings import find_project


def find_run(word: str, *, whole: bool = False) -> RunSummary:
    """Return the run named by its table, its manifest, its name, or its prompt file (the last run).

    The ending `.yml.j2` of a prompt may be left out. With `whole`, a prompt file means its last run over all
    rows, where there is one.

    Raises `UsageError` when there is none, with the nearest name or what to do.
    """
    path = Path(word)
    if path.suffix in {".csv", ".json"}:
        return _of_file(path)
    if path.is_file():
        run = (_last_whole(path) if whole else None) or last_run(path)
        if run is None:
            raise UsageError("the prompt has no run", FilePlace(path), f"make one: `promptls run {word}`")
        return run
    named = next((name for ending in ENDINGS if Path(name := f"{word}{ending}").is_file()), None)
    return find_run(named, whole=whole) if named is not None else _of_name(word)


def _last_whole(prompt: Path) -> RunSummary | None:
    runs = islice(runs_of(prompt), LOOKED_BACK)
    return next((run for run in runs if run.rows_chosen is None), None)


def find_unfinished(word: str) -> Path:
    """Return the path of the unfinished run meant by its path, its name or a prompt file: the newest one.

    Raises `UsageError` if there is none.
    """
    path = Path(word)
    if path.is_file() and path.suffix not in {".csv", ".json"}:
        shape = re.compile(rf"\d{{8}}-\d{{6}}-{re.escape(prompt_stem(path))}(-\d+)?")
        found = [
            each for each in _unfinished([results_folder(path.absolute())]) if shape.fullmatch(each.name)
        ]
        if found:
            return found[-1]
        raise UsageError(
            "no run of this prompt was broken off", FilePlace(path), f"begin one: `promptls run {word}`"
        )
    name = path.stem if path.suffix in {".csv", ".json"} else path.name
    folders = [path.absolute().parent] if path.parent != Path() else _folders()
    runs = _unfinished(folders)
    named = next((each for each in runs if each.name == name), None)
    if named is not None:
        return named
    if any((folder / f"{name}.json").is_file() for folder in folders):
        raise UsageError(
            f"the run `{name}` has ended", remedy="ask its failed rows again with `--retry-errors`"
        )
    names = [each.name for each in runs]
    raise UsageError(
        f"there is no run `{name}` that was broken off{did_you_mean(name, names)}",
        remedy=f"those that were are {', '.join(f'`{each}`' for each in names[-3:])}"
        if names
        else "no run here was broken off",
    )


def _folders() -> list[Path]:
    here = Path.cwd()
    return list(dict.fromkeys([here / "experiments", here, find_project(here / "any").root / "experiments"]))


def _unfinished(folders: list[Path]) -> list[Path]:
    return sorted(
        (run.path for folder in folders for run in unfinished_runs(folder)), key=lambda path: path.name
    )


def _of_file(path: Path) -> RunSummary:
    manifest = path.with_suffix(".json")
    if manifest.is_file():
        return read_run(manifest)
    others = [file.stem for file in path.parent.glob("*.json")] if path.parent.is_dir() else []
    if path.is_file():
        raise UsageError(
            "the table has no manifest beside it",
            FilePlace(path),
            f"a run is a table with its manifest, `{manifest.name}`, in one folder",
        )
    raise UsageError(
        f"there is no such run{did_you_mean(path.stem, others)}", FilePlace(path), "check the path"
    )


def _of_name(name: str) -> RunSummary:
    path = Path(name)
    folders = _folders() if path.parent == Path() else [path.absolute().parent]
    name = path.name
    names = []
    for folder in folders:
        if (folder / f"{name}.json").is_file():
            return read_run(folder / f"{name}.json")
        if folder.is_dir():
            names += [file.stem for file in folder.glob("*-*-*.json")]
    if any(each.name == name for each in _unfinished(folders)):
        raise UsageError(
            "this run did not end, so it has no scores to compare",
            FilePlace(path),
            f"go on with it: `promptls run --resume {path}`",
        )
    remedy = (
        f"the last runs are {', '.join(f'`{run}`' for run in sorted(names)[-3:])}"
        if names
        else ("name a table in an `experiments` folder, or a prompt file that has been run")
    )
    raise UsageError(f"there is no run or prompt file `{name}`{did_you_mean(name, names)}", remedy=remedy)
