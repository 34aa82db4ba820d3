"""The run that a word of the command line means."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from promptls.experiments.history import RunSummary, last_run, read_run, runs_of
from promptls.experiments.journal import SUFFIX
from promptls.experiments.last_runs import LOOKED_BACK
from promptls.experiments.results_folder import prompt_stem, results_folder
from promptls.text.failure import FilePlace, WrongUse
from promptls.text.nearest import did_you_mean
from promptls.workspace.disk import ENDINGS
from promptls.workspace.project_settings import find_project


def find_run(word: str, *, whole: bool = False) -> RunSummary:
    """The run meant by a path of its table or manifest, by its name, or by a prompt file: its last run.

    The ending `.yml.j2` of a prompt may be left out. With `whole`, a prompt file means its last run over all
    rows, where there is one.

    Raises `WrongUse` when there is none, with the nearest name or what to do.
    """
    path = Path(word)
    if word.endswith(SUFFIX):
        raise WrongUse(
            "this run did not end, so it has no scores to compare",
            FilePlace(path),
            f"go on with it: `promptls run --resume {word}`",
        )
    if path.suffix in {".csv", ".json"}:
        return _of_file(path)
    if path.is_file():
        run = (_last_whole(path) if whole else None) or last_run(path)
        if run is None:
            raise WrongUse("the prompt has no run", FilePlace(path), f"make one: `promptls run {word}`")
        return run
    named = next((name for ending in ENDINGS if Path(name := f"{word}{ending}").is_file()), None)
    return find_run(named, whole=whole) if named is not None else _of_name(word)


def _last_whole(prompt: Path) -> RunSummary | None:
    runs = islice(runs_of(prompt), LOOKED_BACK)
    return next((run for run in runs if run.rows_chosen is None), None)


def find_interrupted(word: str) -> Path:
    """The journal of the run that did not end, meant by its path, its name or a prompt file: its newest one.

    Raises `WrongUse` where there is none.
    """
    path = Path(word)
    if word.endswith(SUFFIX) and path.is_file():
        return path.absolute()
    name = path.name.removesuffix(SUFFIX)
    if path.is_file() and path.suffix not in {".csv", ".json"}:
        folder = results_folder(path.absolute())
        stem = re.escape(prompt_stem(path))
        shape = re.compile(rf"\d{{8}}-\d{{6}}-{stem}(-\d+)?{re.escape(SUFFIX)}")
        found = [file for file in _journals([folder]) if shape.fullmatch(file.name)]
        if found:
            return found[-1]
        raise WrongUse(
            "no run of this prompt was broken off", FilePlace(path), f"begin one: `promptls run {word}`"
        )
    folders = [path.absolute().parent] if path.parent != Path() else _folders()
    journals = _journals(folders)
    named = next((file for file in journals if file.name == f"{name}{SUFFIX}"), None)
    if named is not None:
        return named
    if any(
        (folder / f"{path.stem if path.suffix in {'.csv', '.json'} else name}.json").is_file()
        for folder in folders
    ):
        raise WrongUse(
            f"the run `{name}` has ended", remedy="ask its failed rows again with `--retry-errors`"
        )
    names = [file.name.removesuffix(SUFFIX) for file in journals]
    raise WrongUse(
        f"there is no run `{name}` that was broken off{did_you_mean(name, names)}",
        remedy=f"those that were are {', '.join(f'`{each}`' for each in names[-3:])}"
        if names
        else "no run here was broken off",
    )


def _folders() -> list[Path]:
    here = Path.cwd()
    return list(dict.fromkeys([here / "experiments", here, find_project(here / "any").root / "experiments"]))


def _journals(folders: list[Path]) -> list[Path]:
    return sorted(file for folder in folders if folder.is_dir() for file in folder.glob(f"*{SUFFIX}"))


def _of_file(path: Path) -> RunSummary:
    manifest = path.with_suffix(".json")
    if manifest.is_file():
        return read_run(manifest)
    others = [file.stem for file in path.parent.glob("*.json")] if path.parent.is_dir() else []
    if path.is_file():
        raise WrongUse(
            "the table has no manifest beside it",
            FilePlace(path),
            f"a run is a table with its manifest, `{manifest.name}`, in one folder",
        )
    raise WrongUse(
        f"there is no such run{did_you_mean(path.stem, others)}", FilePlace(path), "check the path"
    )


def _of_name(name: str) -> RunSummary:
    folders = _folders()
    names = []
    for folder in folders:
        if (folder / f"{name}.json").is_file():
            return read_run(folder / f"{name}.json")
        if folder.is_dir():
            names += [file.stem for file in folder.glob("*-*-*.json")]
    remedy = (
        f"the last runs are {', '.join(f'`{run}`' for run in sorted(names)[-3:])}"
        if names
        else ("name a table in an `experiments` folder, or a prompt file that has been run")
    )
    raise WrongUse(f"there is no run or prompt file `{name}`{did_you_mean(name, names)}", remedy=remedy)
