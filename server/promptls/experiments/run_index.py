"""Every run of a results' folder, also those that are going on or did not end, however many there are.

What is known of a run is kept in `experiments/.cache/runs.sqlite` and read again only when its file has
changed. Deleting the folder `.cache` costs nothing but time.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from promptls.experiments.answer_cache import FOLDER, make_cache_folder
from promptls.experiments.journal import SUFFIX, is_result, is_running, read_header
from promptls.experiments.manifest import hash_of_text, manifest_of, relative
from promptls.experiments.tally import score_text
from promptls.text.failure import Failure

FILE = "runs.sqlite"

# Grows when what is kept of a run changes.
FORMAT = 1

Status = Literal["finished", "running", "stopped"]

_RUN = re.compile(rf"\d{{8}}-\d{{6}}-.+?(\.json|{re.escape(SUFFIX)})")


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run as a list shows it.

    `rows` results were planned, `done` are on disk; `failed` have no answer, `invalid` ones not the form
    that the prompt demands; of a run that did not end these two are None. `scores` are in words, `values` in
    numbers, by metric. `cost` and `paid` are US dollars. `path` is the table, or the journal of a run that
    did not end; `continues` names the run whose failed rows this one asked again. `prompt_hash` is that of
    the prompt's content with all that it includes, `text_hash` of its own file.
    """

    name: str
    status: Status
    experiment: str
    prompt: str
    path: str
    started: str
    seconds: float | None
    models: tuple[str, ...]
    rows: int
    done: int
    failed: int | None
    invalid: int | None
    cost: float | None
    paid: float | None
    scores: Mapping[str, str]
    values: Mapping[str, float | None]
    chosen: str | None
    continues: str | None
    prompt_hash: str | None
    text_hash: str | None
    rendered_hash: str | None
    commit: str | None
    dirty: bool | None


def known_runs(
    folder: Path,
    *,
    prompt: Path | None = None,
    experiment: str | None = None,
    same_text: str | None = None,
    most: int | None = None,
) -> list[KnownRun]:
    """The runs of the results' folder, the newest first, `most` of them.

    With `prompt`, those of that file; with `same_text`, those whose prompt file had this text, under whatever
    name it was.
    """
    with contextlib.closing(_connected(folder)) as connection:
        _update(connection, folder)
        conditions, values = ["1"], []
        for column, value in (
            ("prompt", None if prompt is None else _relative(prompt.absolute(), folder)),
            ("experiment", experiment),
            ("text_hash", None if same_text is None else hash_of_text(same_text)),
        ):
            if value is not None:
                conditions.append(f"{column} = ?")
                values.append(value)
        where = " AND ".join(conditions)
        query = f"SELECT known FROM runs WHERE {where} ORDER BY started DESC, name DESC LIMIT ?"  # noqa: S608 - constants
        found = connection.execute(query, (*values, -1 if most is None else most)).fetchall()
    return [_placed(json.loads(known), folder) for (known,) in found]


def _update(connection: sqlite3.Connection, folder: Path) -> None:
    """What is kept is what the folder holds."""
    kept = {name: (changed, size) for name, changed, size in connection.execute(
        "SELECT file, changed, size FROM runs"
    )}  # fmt: skip
    there = dict(_files(folder))
    gone = [(name,) for name in kept if name not in there]
    fresh = [(name, *stamp) for name, stamp in there.items() if kept.get(name) != stamp]
    if not gone and not fresh:
        return
    with contextlib.suppress(sqlite3.Error), connection:
        connection.executemany("DELETE FROM runs WHERE file = ?", gone)
        for name, changed, size in fresh:
            known = _known(folder / name)
            if known is None:
                continue
            connection.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    name,
                    changed,
                    size,
                    known.name,
                    known.started,
                    known.prompt,
                    known.experiment,
                    known.text_hash,
                    json.dumps(asdict(known)),
                ),
            )


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _RUN.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    state = entry.stat()
                    yield entry.name, (state.st_mtime_ns, state.st_size)


def _known(path: Path) -> KnownRun | None:
    """The run of a manifest or a journal; None for a file that is neither."""
    try:
        if path.name.endswith(SUFFIX):
            # The journal of a run that has ended may be left for a moment.
            ended = path.with_name(path.name.removesuffix(SUFFIX) + ".json")
            return None if ended.exists() else _of_journal(path)
        return _of_manifest(path)
    except (Failure, OSError, LookupError, TypeError, ValueError):
        return None


def _of_manifest(path: Path) -> KnownRun:
    values = manifest_of(path)
    totals = values["totals"]
    metrics = {str(metric["name"]): metric for metric in values["metrics"]}
    return KnownRun(
        **_common(values, path),
        status="finished",
        path=path.with_suffix(".csv").name,
        seconds=values["seconds"],
        rows=totals["results"],
        done=totals["results"],
        failed=totals["failed"],
        invalid=totals.get("invalid", 0),
        cost=totals["cost"],
        paid=totals.get("paid"),
        scores={name: score_text(metric) for name, metric in metrics.items()},
        values={name: metric["value"] for name, metric in metrics.items()},
    )


def _of_journal(path: Path) -> KnownRun | None:
    values = read_header(path)
    if values is None:
        return None
    with path.open("rb") as stream:
        done = sum(map(is_result, stream))
    total = values["rendered"]["rows"] * len(values["models"]) * values["settings"]["repeats"]
    return KnownRun(
        **_common(values, path),
        status="stopped",
        path=path.name,
        seconds=None,
        rows=total,
        done=min(total, done),
        failed=None,
        invalid=None,
        cost=None,
        paid=None,
        scores={},
        values={},
    )


def _common(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    prompt = str(values["prompt"])
    git = values.get("git") or {}
    return {
        "name": path.name.removesuffix(SUFFIX).removesuffix(".json"),
        "experiment": str(values["experiment"]),
        "prompt": prompt,
        "started": str(values["started"]),
        "models": tuple(str(model["name"]) for model in values["models"]),
        "chosen": (values.get("dataset") or {}).get("rows"),
        "continues": values.get("continues"),
        "prompt_hash": values.get("prompt_hash"),
        "text_hash": values["files"].get(prompt),
        "rendered_hash": values.get("rendered_hash"),
        "commit": git.get("commit"),
        "dirty": git.get("dirty"),
    }


def _placed(values: dict[str, Any], folder: Path) -> KnownRun:
    """The run with absolute paths; whether a run that did not end is going on is asked now."""
    path = folder.absolute() / values["path"]
    status = values["status"]
    if status == "stopped" and is_running(path):
        status = "running"
    prompt = os.path.normpath(folder.absolute() / values["prompt"])
    models = tuple(values["models"])
    return KnownRun(**{**values, "prompt": prompt, "path": str(path), "status": status, "models": models})


def _relative(prompt: Path, folder: Path) -> str:
    return relative(prompt, folder.absolute())


def _connected(folder: Path) -> sqlite3.Connection:
    """The kept list; one in memory where none can be kept."""
    try:
        make_cache_folder(folder / FOLDER)
        return _opened(str(folder / FOLDER / FILE))
    except (OSError, sqlite3.Error):
        return _opened(":memory:")


def _opened(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=2.0)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != FORMAT:
            connection.execute("DROP TABLE IF EXISTS runs")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS runs (file TEXT PRIMARY KEY, changed INTEGER, size INTEGER, "
            "name TEXT, started TEXT, prompt TEXT, experiment TEXT, text_hash TEXT, known TEXT)"
        )
    except sqlite3.Error:
        connection.close()
        raise
    return connection
