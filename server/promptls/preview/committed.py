"""The texts of a prompt and of what it includes as they are in the last commit."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from promptls.rendering.job import RenderJob
from promptls.security.git import run_git_async
from promptls.semantic.template import Template
from promptls.syntax.source import Source
from promptls.text.errors import FilePlace, UserError
from promptls.workspace.snapshot import Snapshot

_MAX_FILES: Final = 500


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
    """Return the prompt of `job` as the last commit has it, includes and all, with the same data and limits.

    Raises UserError where git is missing, the file lies in no repository, or the commit does not hold it.
    """
    path = Path(job.path)
    top = Path((await run_git_async(path.parent, "rev-parse", "--show-toplevel")).strip())
    commit = await _commit(top, job.path)
    texts: dict[str, str] = {}
    waiting, seen = [*snapshot.included(job.path), job.path], set[str]()
    while waiting and len(seen) < _MAX_FILES:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        text = await _text(top, current)
        if text is not None:
            texts[current] = text
            waiting += _named_files(snapshot, job.path, text)
    if job.path not in texts:
        raise UserError("the last commit does not hold this file", FilePlace(path), "commit it once")
    own = texts.pop(job.path)
    return CommittedPrompt(commit, replace(job, text=own, unsaved={**job.unsaved, job.path: own, **texts}))


def _named_files(snapshot: Snapshot, path: str, text: str) -> list[str]:
    """Return where the files that a text names may lie."""
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
        told = await run_git_async(top, "log", "-1", "--no-show-signature", "--format=%h%x00%s%x00%cI")
    except UserError:
        raise UserError("the repository has no commit yet", FilePlace(Path(path))) from None
    name, subject, date = told.rstrip("\n").split("\0")
    return Commit(name, subject, date)


async def _text(top: Path, path: str) -> str | None:
    """Return the file's text in the last commit; None if that does not hold it, or it is no text."""
    try:
        return await run_git_async(top, "cat-file", "blob", f"HEAD:{_relative(path, top)}")
    except (UserError, ValueError):
        return None


def _relative(path: str, top: Path) -> str:
    """Return the path as git names it; raises ValueError for one outside the repository."""
    return Path(os.path.realpath(path)).relative_to(os.path.realpath(top)).as_posix()
