"""The run that a word of the command line means."""

from __future__ import annotations

from pathlib import Path

from promptls.experiments.history import RunSummary, last_run, read_run
from promptls.experiments.journal import SUFFIX
from promptls.text.failure import FilePlace, WrongUse
from promptls.text.nearest import did_you_mean
from promptls.workspace.project_settings import find_project


def find_run(word: str) -> RunSummary:
    """The run meant by a path of its table or manifest, by its name, or by a prompt file: its last run.

    Raises `WrongUse` when there is none, with the nearest name or what to do.
    """
    path = Path(word)
    if word.endswith(SUFFIX):
        raise WrongUse(
            "this run did not end, so it has no scores to compare", FilePlace(path), "run it again"
        )
    if path.suffix in {".csv", ".json"}:
        return _of_file(path)
    if path.is_file():
        run = last_run(path)
        if run is None:
            raise WrongUse("the prompt has no run", FilePlace(path), f"make one: `promptls run {word}`")
        return run
    return _of_name(word)


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
    here = Path.cwd()
    folders = dict.fromkeys([here / "experiments", here, find_project(here / "any").root / "experiments"])
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
