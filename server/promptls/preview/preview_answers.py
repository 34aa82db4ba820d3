"""Responses to requests of the preview's page: tokens, rows, and the committed version."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from promptls.datasets.dataset_files import open_dataset
from promptls.preview import preview_result, preview_wire
from promptls.rendering.job import RenderJob, plain
from promptls.rendering.lab import LabOptions, explore, lab_request
from promptls.rendering.make import limits_for
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.samples import Sample, dataset_of_rows, placeholder_sample
from promptls.rendering.worker import CountingError, Notify, RenderWorker
from promptls.security.git import run_git_async
from promptls.semantic.template import Template
from promptls.syntax.source import Source
from promptls.text.errors import FilePlace, UsageError, UserError, optional
from promptls.workspace.disk import has_prompt_name, source_of
from promptls.workspace.snapshot import Snapshot

Render: TypeAlias = Callable[[RenderJob], Awaitable[Rendering | RenderFailure]]
Arguments: TypeAlias = Mapping[str, Any]
"""The arguments of a page's request, among them the choices of its reader."""


async def tokens_of(worker: RenderWorker, arguments: Arguments) -> preview_wire.TokensAnswer:
    """Return the tokens of `texts` in `encoding`, with ids and offsets in UTF-16 code units.

    Raises UserError.
    """
    texts, encoding = optional(arguments, "texts", list), optional(arguments, "encoding", str)
    if texts is None or encoding is None or not all(isinstance(text, str) for text in texts):
        raise UsageError("the command needs `texts`, a list of strings, and an `encoding`")
    try:
        pieces = await worker.cut(texts, encoding)
    except CountingError as error:
        raise UserError(str(error)) from error
    return {
        "encoding": encoding,
        "texts": [{"ids": each["ids"], "starts": each["starts"]} for each in pieces],
    }


async def rows_of(snapshot: Snapshot, path: str, arguments: Arguments) -> preview_wire.DatasetRowsAnswer:
    """Return the rows of the file's dataset that match `search`, starting with the match `start`.

    Raises UserError without a dataset.
    """
    query, start = optional(arguments, "search", str) or "", optional(arguments, "start", int) or 0
    return await asyncio.to_thread(matching_rows, dataset_of_rows(snapshot, path), query, start)


async def lab_answer(
    snapshot: Snapshot,
    path: str,
    uri: str,
    arguments: Arguments,
    data: str | int | None,
    notify: Notify,
) -> preview_wire.LabResult:
    """Return the result of the truncation lab with `data`, as in `chosen_sample`, or of several samples.

    Raises UserError if there is nothing to explore.
    """
    from promptls.experiments.history import measured_cache

    sample = None if data is None else preview_result.chosen_sample(snapshot, path, data)
    request = lab_request(snapshot, path, LabOptions.from_json(arguments), sample)
    found = await explore(request, limits_for(snapshot, path), notify)
    if isinstance(found, RenderFailure):
        failure = preview_result.failure_json(found)
        return {"uri": uri, "found": None, "failure": failure, "cancelled": False}
    found["measured"] = await asyncio.to_thread(measured_cache, Path(path))
    return {"uri": uri, "found": found, "failure": None, "cancelled": False}


async def rendering_to_show(
    snapshot: Snapshot, path: str, arguments: Arguments, render: Render
) -> Rendering | RenderFailure:
    """Return the rendering with the reader's choices; raises UserError if its data are unavailable."""
    choice = preview_result.RenderingChoice.from_json(arguments)
    sample = preview_result.sample_to_show(snapshot, path, choice)
    return await render(preview_result.preview_job(snapshot, path, sample, choice))


async def committed_rendering(
    snapshot: Snapshot, path: str, arguments: Arguments, render: Render
) -> preview_wire.CommittedAnswer:
    """Return another version's rendering with the data that the reader chose.

    That is the last commit's, or that of the commit or the prompt file of the same folder that `against`
    names. Raises UserError if there is none.
    """
    choice, against = preview_result.RenderingChoice.from_json(arguments), optional(arguments, "against", str)
    sample = preview_result.sample_to_show(snapshot, path, choice)
    other = str(Path(path).with_name(against)) if against and has_prompt_name(against) else None
    if other is not None and Path(against or "").name == against and snapshot.exists(other):
        commit = _version(against)
        job = preview_result.preview_job(snapshot, other, sample, choice)
        outcome = await render(_with_inputs(job, snapshot, placeholder_sample(snapshot, path)))
    else:
        commit, job = await committed_prompt(
            snapshot, preview_result.preview_job(snapshot, path, sample, choice), against
        )
        outcome = await render(job)
    rendering = outcome if isinstance(outcome, Rendering) else None
    return {
        "commit": commit,
        "rendering": None if rendering is None else preview_result.rendering_json(snapshot, path, rendering),
        "failure": preview_result.failure_json(outcome) if isinstance(outcome, RenderFailure) else None,
        "others": [*await _commits(path), *_neighbors(path)],
    }


def _with_inputs(job: RenderJob, version: Snapshot, own: Sample) -> RenderJob:
    """Return the job of another version of a prompt, with the inputs that only that version has.

    `own` has the inputs of the prompt now. If one was renamed, its value is that of the new name. Others have
    placeholders.
    """
    needed = placeholder_sample(version, job.path).data
    missing = {name: value for name, value in needed.items() if name not in job.data and name not in own.data}
    extra = [name for name in job.data if name in own.data and name not in needed]
    if len(missing) == len(extra) == 1:
        missing = dict.fromkeys(missing, job.data[extra[0]])
    return replace(job, data={**missing, **job.data})


_MAX_VERSIONS: Final = 30


async def _commits(path: str) -> list[preview_wire.CommitName]:
    """Return the latest commits that changed the file; none without git."""
    try:
        return await _log(Path(path).parent, f"-{_MAX_VERSIONS}", "--", path)
    except UserError:
        return []


async def _log(folder: Path, *arguments: str) -> list[preview_wire.CommitName]:
    """Return the commits that `git log` prints; raises UserError."""
    form = "--format=%h%x00%s%x00%cI"
    output = await run_git_async(folder, "log", "--no-show-signature", form, *arguments)
    return [_version(*line.split("\0")) for line in output.split("\n") if line]


def _version(name: str, subject: str = "", date: str = "") -> preview_wire.CommitName:
    return {"name": name, "subject": subject, "date": date}


def _neighbors(path: str) -> list[preview_wire.CommitName]:
    """Return the other prompt files of the folder."""
    names = sorted(each.name for each in Path(path).parent.iterdir() if has_prompt_name(str(each)))
    others = [name for name in names if name != Path(path).name]
    return [_version(name) for name in others[:_MAX_VERSIONS]]


MAX_ROWS: Final = 100
_MAX_SHOWN: Final = 160
"""The maximum number of characters shown of a row."""


def matching_rows(dataset: Path, query: str, start: int = 0) -> preview_wire.DatasetRowsAnswer:
    """Return the rows with all words of `query`, starting with match `start`, and the match count.

    Case is ignored.

    This reads the whole dataset row by row, so call it on a thread. Raises UserError if it cannot be read.
    """
    terms = query.casefold().split()
    found: list[preview_wire.DatasetRow] = []
    matching = total = 0
    for row in open_dataset(dataset).rows():
        total += 1
        text = "  ".join(_cell(value) for value in row.values.values())
        if terms and not all(word in text.casefold() for word in terms):
            continue
        if start <= matching < start + MAX_ROWS:
            found.append({"row": row.number - 1, "text": _around(text, terms)})
        matching += 1
    return {"dataset": dataset.name, "rows": found, "start": start, "matching": matching, "total": total}


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


def _around(text: str, terms: list[str]) -> str:
    """Return the excerpt of a row to show: its start, or the text around the first word searched for."""
    one_line = " ".join(text.split())
    place = one_line.casefold().find(terms[0]) if terms else 0
    start = 0 if place < _MAX_SHOWN else max(0, place - _MAX_SHOWN // 4)
    shown = one_line[start : start + _MAX_SHOWN]
    return f"{'…' if start else ''}{shown}{'…' if start + _MAX_SHOWN < len(one_line) else ''}"


_MAX_FILES: Final = 500


async def committed_prompt(
    snapshot: Snapshot, job: RenderJob, revision: str | None = None
) -> tuple[preview_wire.CommitName, RenderJob]:
    """Return a commit, and the prompt of `job` as of it, with its includes and the same data and limits.

    By default, that is the last commit. Raises UserError if git is missing, or there is no such commit, or
    the file is not in it.
    """
    path = Path(job.path)
    top = Path((await run_git_async(path.parent, "rev-parse", "--show-toplevel")).strip())
    commit = await _commit(top, job.path, revision)
    texts: dict[str, str] = {}
    waiting, seen = [*snapshot.included(job.path), job.path], set[str]()
    while waiting and len(seen) < _MAX_FILES:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        text = await _committed_text(top, commit["name"], current)
        if text is not None:
            texts[current] = text
            waiting += _named_files(snapshot, job.path, text)
    if job.path not in texts:
        which = "the last commit" if revision is None else f"the commit {commit['name']}"
        raise UserError(f"{which} does not contain this file", FilePlace(path), "commit it first")
    version = snapshot
    for file, text in texts.items():
        version = version.with_open(file, source_of(file, text), 0)
    committed = replace(job, text=texts[job.path], unsaved={**job.unsaved, **texts})
    return commit, _with_inputs(committed, version, placeholder_sample(snapshot, job.path))


def _named_files(snapshot: Snapshot, path: str, text: str) -> list[str]:
    """Return the possible paths of the files that a text names."""
    names = [
        name
        for reference in Template(Source.of(text)).references
        for name in reference.alternatives or (reference.name,)
        if name
    ]
    folders = snapshot.search_folders(path)[:1] or (str(Path(path).parent),)
    return [os.path.normpath(os.path.join(folder, name)) for folder in folders for name in names]  # noqa: PTH118 - as text


async def _commit(top: Path, path: str, revision: str | None) -> preview_wire.CommitName:
    try:
        [commit] = await _log(top, "-1", "--end-of-options", revision or "HEAD", "--")
    except UserError:
        if revision is not None:
            raise UserError(f"there is no prompt or commit `{revision}`", FilePlace(Path(path))) from None
        raise UserError("the repository has no commit yet", FilePlace(Path(path))) from None
    return commit


async def _committed_text(top: Path, commit: str, path: str) -> str | None:
    """Return the file's text in a commit; None if it is not in the commit, or not text."""
    try:
        return await run_git_async(top, "cat-file", "blob", f"{commit}:{_relative(path, top)}")
    except (UserError, ValueError):
        return None


def _relative(path: str, top: Path) -> str:
    """Return the path relative to the repository; raises ValueError for one outside of it."""
    return Path(os.path.realpath(path)).relative_to(os.path.realpath(top)).as_posix()
