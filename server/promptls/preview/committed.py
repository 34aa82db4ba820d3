"""The texts of a prompt and of what it includes as they are in the last commit."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from promptls.meaning.template import Template
from promptls.rendering.job import RenderJob
from promptls.syntax.source import Source
from promptls.text.failure import Failure, FilePlace
from promptls.workspace.snapshot import Snapshot

_SECONDS: Final = 10.0
"""How long git may take for one answer."""
_MOST_FILES: Final = 500
_ENVIRONMENT: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
"""Nothing is fetched, asked or locked."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The last commit: its short name, its subject, and when it was made, as ISO 8601."""

    name: str
    subject: str
    date: str


@dataclass(frozen=True, slots=True)
class CommittedPrompt:
    """The last commit, and the job that renders the prompt as it is there."""

    commit: Commit
    job: RenderJob


async def committed_prompt(snapshot: Snapshot, job: RenderJob) -> CommittedPrompt:
    """The prompt of `job` as the last commit has it, includes and all, with the same data and limits.

    Raises Failure where git is missing, the file lies in no repository, or the commit does not hold it.
    """
    path = Path(job.path)
    top = Path((await _git(path.parent, "rev-parse", "--show-toplevel")).strip())
    commit = await _commit(top, job.path)
    texts: dict[str, str] = {}
    waiting, seen = [*snapshot.included(job.path), job.path], set[str]()
    while waiting and len(seen) < _MOST_FILES:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        text = await _text(top, current)
        if text is not None:
            texts[current] = text
            waiting += _named_files(snapshot, job.path, text)
    if job.path not in texts:
        raise Failure("the last commit does not hold this file", FilePlace(path), "commit it once")
    own = texts.pop(job.path)
    return CommittedPrompt(commit, replace(job, text=own, unsaved={**job.unsaved, job.path: own, **texts}))


def _named_files(snapshot: Snapshot, path: str, text: str) -> list[str]:
    """Where the files that a text names may lie."""
    names = [
        name
        for reference in Template(Source.of(text)).references
        for name in reference.alternatives or (reference.name,)
        if name
    ]
    folders = snapshot.search_folders(path)[:1] or (str(Path(path).parent),)
    return [os.path.normpath(os.path.join(folder, name)) for folder in folders for name in names]  # noqa: PTH118 - as text


async def _commit(top: Path, path: str) -> Commit:
    try:
        told = await _git(top, "log", "-1", "--no-show-signature", "--format=%h%x00%s%x00%cI")
    except Failure:
        raise Failure("the repository has no commit yet", FilePlace(Path(path))) from None
    name, subject, date = told.rstrip("\n").split("\0")
    return Commit(name, subject, date)


async def _text(top: Path, path: str) -> str | None:
    """The file's text in the last commit; None where that does not hold it, or it is no text."""
    try:
        return await _git(top, "cat-file", "blob", f"HEAD:{_relative(path, top)}")
    except (Failure, ValueError):
        return None


def _relative(path: str, top: Path) -> str:
    """The path as git names it; raises ValueError for one outside the repository."""
    return Path(os.path.realpath(path)).relative_to(os.path.realpath(top)).as_posix()


async def _git(folder: Path, *words: str) -> str:
    """What git says; raises Failure with its first line where it fails. Nothing of the repository is run."""
    command = ["git", "--no-pager", "-c", "core.fsmonitor=false", "-C", str(folder), *words]
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:
        raise Failure(
            "git cannot be started", remedy="install git to compare with the last commit"
        ) from error
    try:
        output, errors = await asyncio.wait_for(process.communicate(), _SECONDS)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        raise Failure("git did not answer in time", FilePlace(folder)) from None
    if process.returncode != 0:
        first = (errors.decode("utf-8", "replace").strip().splitlines() or ["it failed"])[0]
        raise Failure(_words(first), FilePlace(folder))
    try:
        return output.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failure("the file is no text in UTF-8", FilePlace(folder)) from None


def _words(told: str) -> str:
    if "not a git repository" in told:
        return "the file lies in no git repository, so there is no commit to compare with"
    return told.removeprefix("fatal: ")
