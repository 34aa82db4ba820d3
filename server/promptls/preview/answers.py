"""What the page asks for beside the rendering itself: tokens one by one, rows, the last commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from promptls.preview.choice import Choice, chosen_sample, preview_job
from promptls.preview.committed import committed_prompt
from promptls.preview.result import rendering_json
from promptls.preview.rows import matching_rows
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.samples import dataset_path
from promptls.rendering.worker import CountingError, RenderWorker
from promptls.text.failure import Failure, FilePlace, WrongUse
from promptls.workspace.snapshot import Snapshot


async def tokens_of(worker: RenderWorker, texts: list[str], encoding: str) -> dict[str, Any]:
    """The tokens of each text, with ids and places in UTF-16 code units; raises Failure."""
    try:
        return {"encoding": encoding, "texts": await worker.cut(texts, encoding)}
    except CountingError as error:
        raise Failure(str(error)) from error


async def rows_of(snapshot: Snapshot, path: str, words: str, start: int) -> dict[str, Any]:
    """The rows of the file's data set that hold some words; raises Failure where there is none."""
    template = snapshot.template(path)
    dataset = dataset_path(template, path) if template else None
    if dataset is None:
        raise WrongUse(
            "there is no data set to take a row from", FilePlace(path), "declare an experiment in the header"
        )
    return await asyncio.to_thread(matching_rows, dataset, words, start)


async def committed(
    snapshot: Snapshot,
    path: str,
    choice: Choice,
    render: Callable[[RenderJob], Awaitable[Rendering | RenderFailure]],
) -> dict[str, Any]:
    """The last commit's rendering with the data that the reader chose; raises Failure where there is none."""
    sample = chosen_sample(snapshot, path, choice.data)
    before = await committed_prompt(snapshot, preview_job(snapshot, path, sample, choice))
    outcome = await render(before.job)
    rendering = outcome if isinstance(outcome, Rendering) else None
    return {
        "commit": asdict(before.commit),
        "rendering": rendering_json(snapshot, path, rendering),
        "failure": asdict(outcome) if isinstance(outcome, RenderFailure) else None,
    }
