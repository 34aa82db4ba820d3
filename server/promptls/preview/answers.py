"""What the page asks for beside the rendering itself: tokens one by one, rows, the last commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from promptls.preview import wire
from promptls.preview.choice import Choice, chosen_sample, preview_job
from promptls.preview.committed import committed_prompt
from promptls.preview.result import failure_json, rendering_json
from promptls.preview.rows import matching_rows
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.samples import dataset_path
from promptls.rendering.worker import CountingError, RenderWorker
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.workspace.snapshot import Snapshot


async def tokens_of(worker: RenderWorker, texts: list[str], encoding: str) -> wire.TokensAnswer:
    """Return the tokens of each text, with ids and places in UTF-16 code units; raises UserError."""
    try:
        pieces = await worker.cut(texts, encoding)
    except CountingError as error:
        raise UserError(str(error)) from error
    return {
        "encoding": encoding,
        "texts": [{"ids": each["ids"], "starts": each["starts"]} for each in pieces],
    }


async def rows_of(snapshot: Snapshot, path: str, words: str, start: int) -> wire.DatasetRowsAnswer:
    """Return the rows of the file's dataset that hold some words; raises UserError where there is none."""
    template = snapshot.template(path)
    dataset = dataset_path(template, path) if template else None
    if dataset is None:
        raise UsageError(
            "there is no dataset to take a row from", FilePlace(path), "declare an experiment in the header"
        )
    return await asyncio.to_thread(matching_rows, dataset, words, start)


async def committed(
    snapshot: Snapshot,
    path: str,
    choice: Choice,
    render: Callable[[RenderJob], Awaitable[Rendering | RenderFailure]],
) -> wire.CommittedAnswer:
    """Return the last commit's rendering with the data that the reader chose.

    Raises UserError where there is none.
    """
    sample = chosen_sample(snapshot, path, choice.data)
    before = await committed_prompt(snapshot, preview_job(snapshot, path, sample, choice))
    commit = before.commit
    outcome = await render(before.job)
    rendering = outcome if isinstance(outcome, Rendering) else None
    return {
        "commit": {"name": commit.name, "subject": commit.subject, "date": commit.date},
        "rendering": None if rendering is None else rendering_json(snapshot, path, rendering),
        "failure": failure_json(outcome) if isinstance(outcome, RenderFailure) else None,
    }
