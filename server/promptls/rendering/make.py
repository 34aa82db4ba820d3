"""A file's rendering with its counts, as the server keeps it and the command line makes it."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from promptls.meaning.evaluation import evaluation_of
from promptls.meaning.kind import Kind
from promptls.rendering.file_rendering import (
    FileRendering,
    RowTokens,
    TokenRange,
    included_texts,
    rendered_parts,
    template_texts,
)
from promptls.rendering.included_tokens import tokens_of, told_names
from promptls.rendering.job import RenderJob
from promptls.rendering.limits import Limits
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.request import job_for
from promptls.rendering.samples import Sample, default_sample, row_samples
from promptls.rendering.worker import CountingError, RenderWorker
from promptls.systems.opencompass.retriever_keys import COMPARING_RETRIEVERS
from promptls.text.failure import Failure
from promptls.workspace.included_parts import included_part_names
from promptls.workspace.snapshot import Snapshot

log = logging.getLogger(__name__)

Render: TypeAlias = Callable[[RenderJob], Awaitable[Rendering | RenderFailure]]

MOST_WEIGHED_PARTS = 200
"""Of a template with more parts, the rows' tokens are not told part by part."""
MOST_WEIGHING_SECONDS = 10.0
"""How long the rows of a data set are tried; what was tried until then counts."""


COMPARING_SECONDS = 60.0
"""How much longer a prompt may take whose retriever compares rows: its packages and rows are read once."""


def limits_for(snapshot: Snapshot, path: str) -> Limits:
    """What rendering the file may take, by its settings and by what its retriever has to do."""
    settings = snapshot.project(path).settings.rendering
    template = snapshot.template(path) if snapshot.kind(path) is Kind.EVALUATION else None
    evaluation = evaluation_of(template.source.first_chunk) if template else None
    compares = evaluation is not None and evaluation.retriever_class in COMPARING_RETRIEVERS
    seconds = settings.timeout + (COMPARING_SECONDS if compares else 0)
    return Limits(seconds=seconds, memory_bytes=settings.memory << 20)


async def render_file(
    worker: RenderWorker,
    snapshot: Snapshot,
    path: str,
    sample: Callable[[], Sample] | None = None,
    known: FileRendering | None = None,
    render: Render | None = None,
    encoding: str | None = None,
) -> FileRendering:
    """The rendering of the file at `path` with the sample that `sample` gives, or with its default one.

    A sample that cannot be read, for which `sample` raises Failure, is a failed rendering. Token
    counts of `known`, a former rendering of the file, are taken over. `render` gives a job's outcome,
    by default as the worker does. Tokens are counted in `encoding`, by default in the file's.
    """
    template = snapshot.template(path)
    assert template is not None
    try:
        chosen = sample() if sample else default_sample(snapshot, path)
    except Failure as failure:
        chosen = Sample("none", "the samples cannot be read", {})
        job = job_for(snapshot, path, {})
        outcome: Rendering | RenderFailure = RenderFailure("data", failure.message, path)
    else:
        job = job_for(snapshot, path, chosen.data, with_stand_ins=True)
        job = replace(job, encoding=encoding) if encoding else job
        outcome = _at_its_name(await (render or worker.render)(job), job.path)
    texts = dict.fromkeys([*template_texts(template), *included_texts(snapshot, path)])
    counted = _counts(known, job.encoding, texts)
    unknown = [text for text in texts if text not in counted]
    try:
        counts = await worker.count(unknown, job.encoding)
        counted.update(zip(unknown, counts, strict=True))
    except CountingError as error:
        log.warning("%s: %s", path, error)
    return FileRendering(job, chosen, outcome, counted)


def _at_its_name(outcome: Rendering | RenderFailure, path: str) -> Rendering | RenderFailure:
    """The outcome, whose failure is at `path` also where that is no file: the worker takes it for one."""
    if isinstance(outcome, RenderFailure) and outcome.path and not Path(path).is_absolute():
        return replace(outcome, path=path) if outcome.path.endswith(os.sep + path) else outcome
    return outcome


async def weigh_rows(
    worker: RenderWorker, snapshot: Snapshot, made: FileRendering, go_on: Callable[[], bool] = lambda: True
) -> FileRendering:
    """The same rendering, with what the data set's rows come to; they are tried as long as `go_on` says so.

    The rows are those that can be chosen as samples, as many as there is time for. Without rows, or
    where rendering them would say nothing certain, the rendering has none.
    """
    path = made.job.path
    template = snapshot.template(path)
    if template is None or made.job.stand_ins or made.rendering is None:
        return replace(made, rows=None) if made.rows else made
    has_parts = snapshot.kind(path) is Kind.PARTS and len(template.parts) <= MOST_WEIGHED_PARTS
    foreign = included_part_names(snapshot, path) if has_parts else frozenset()
    counts: list[tuple[int, int, int]] = []
    of_parts: list[list[int]] = []
    names = [name for its in told_names(snapshot, path).values() for name in its] if has_parts else []
    of_included: list[list[int]] = []
    deadline = time.monotonic() + MOST_WEIGHING_SECONDS
    samples = row_samples(snapshot, path)
    for sample in samples:
        if not go_on():
            return made
        if time.monotonic() > deadline:
            break
        outcome = await worker.render(replace(made.job, data=sample.data))
        if isinstance(outcome, Rendering):
            number = int(sample.name.removeprefix("row "))
            counts.append((number, outcome.tokens, outcome.tokens_kept))
            if has_parts:
                became = rendered_parts(template, foreign, outcome)
                of_parts.append([sum(part.tokens for part in its) for its in became])
                of_included.append([sum(tokens_of((name,), outcome)) for name in names])
    if not counts:
        return replace(made, rows=None) if made.rows else made
    limit = made.token_limit or math.inf
    totals = [tokens for _, tokens, _ in counts]
    rows = RowTokens(
        dataset=samples[0].source,
        rows=len(counts),
        over=tuple(number for number, tokens, _ in counts if tokens > limit),
        stuck=tuple(number for number, _, kept in counts if kept > limit),
        most=max(totals),
        total=TokenRange.of(totals),
        parts=tuple(TokenRange.of(its) if any(its) else None for its in zip(*of_parts, strict=True)),
        included={
            name: TokenRange.of(its)
            for name, its in zip(names, zip(*of_included, strict=True), strict=False)
            if any(its)
        },
    )
    return replace(made, rows=rows)


def _counts(known: FileRendering | None, encoding: str, texts: Mapping[str, None]) -> dict[str, int]:
    if known is None or known.job.encoding != encoding:
        return {}
    return {text: known.template_tokens[text] for text in texts if text in known.template_tokens}
