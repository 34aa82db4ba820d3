"""Rendering a data set's rows: the messages of each, and the hash that they are known by."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from promptls.datasets.dataset import Row
from promptls.experiments.definition import Experiment
from promptls.models.digest import digest_of
from promptls.rendering.job import RenderJob
from promptls.rendering.limits import Limits
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.worker import RenderWorker

# Rows from which on it is worth starting further processes, and how many there are at most.
MANY = 200
MOST_PROCESSES = 4


@dataclass(frozen=True, slots=True)
class RenderedRow:
    """What the model gets for a row, or `error` where the row does not render.

    `is_cut` says that the token limit left something out.
    """

    messages: tuple[Mapping[str, Any], ...] = ()
    tokens: int = 0
    digest: str = ""
    files: tuple[str, ...] = ()
    error: str | None = None
    is_cut: bool = False


class RowRenderer:
    """Renders the rows of one experiment in processes of its own, which `close` ends."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._workers = [self._worker()]

    async def render(self, row: Row) -> RenderedRow:
        """The messages for `row`, cut to the token limit where there is one."""
        return await self._render(row, self._workers[0])

    async def render_all(self, rows: Iterable[Row]) -> AsyncIterator[tuple[Row, RenderedRow]]:
        """Each row with its messages, in order; where there are many, several are rendered at once."""
        begun: deque[tuple[Row, asyncio.Task[RenderedRow]]] = deque()
        try:
            for number, row in enumerate(rows):
                if number == MANY:
                    self._workers += [self._worker() for _ in range(_most_processes() - len(self._workers))]
                worker = self._workers[number % len(self._workers)]
                begun.append((row, asyncio.create_task(self._render(row, worker))))
                # Two for each process: none of them waits for the next row to come.
                if len(begun) >= 2 * len(self._workers):
                    first, task = begun.popleft()
                    yield first, await task
            while begun:
                first, task = begun.popleft()
                yield first, await task
        finally:
            for _, task in begun:
                task.cancel()

    def _worker(self) -> RenderWorker:
        experiment = self._experiment
        return RenderWorker(Limits(experiment.rendering_seconds, experiment.rendering_megabytes * 1024**2))

    async def _render(self, row: Row, worker: RenderWorker) -> RenderedRow:
        experiment = self._experiment
        outcome = await worker.render(
            RenderJob(
                path=str(experiment.prompt),
                text=experiment.text,
                data=self._data(row),
                unsaved=experiment.unsaved,
                functions=str(experiment.functions) if experiment.functions else None,
                encoding=experiment.encoding,
                token_limit=experiment.token_limit,
                truncation_step=experiment.truncation_step,
                kind=experiment.rendering,
                ragas_version=experiment.ragas_version,
                evaluation=replace(experiment.evaluation, row=row.number) if experiment.evaluation else None,
            )
        )
        if isinstance(outcome, RenderFailure):
            where = f" (line {outcome.line + 1})" if outcome.line is not None else ""
            return RenderedRow(error=f"the prompt does not render: {outcome.message}{where}")
        messages = tuple(outcome.messages)
        if experiment.evaluation is not None and not messages:
            return RenderedRow(error="the prompt compares labels, which a chat model cannot be asked to do")
        return RenderedRow(
            messages,
            outcome.tokens_kept,
            digest_of(messages),
            outcome.files,
            is_cut=outcome.tokens_kept < outcome.tokens,
        )

    async def close(self) -> None:
        """The processes are ended."""
        await asyncio.gather(*(worker.close() for worker in self._workers))

    def _data(self, row: Row) -> dict[str, Any]:
        """The declared inputs out of the row; all of it where nothing is declared.

        What is not declared stays out, so that an expected answer cannot slip into the prompt. In an
        evaluation prompt it is masked.
        """
        experiment = self._experiment
        if not experiment.input_keys or experiment.evaluation is not None:
            return dict(row.values)
        return {
            name: row.values[name] if name in row.values else experiment.input_defaults[name]
            for name in experiment.input_keys
            if name in row.values or name in experiment.input_defaults
        }


def _most_processes() -> int:
    return max(1, min(MOST_PROCESSES, os.cpu_count() or 1))


@asynccontextmanager
async def row_renderer(
    experiment: Experiment, opened: RowRenderer | None = None
) -> AsyncIterator[RowRenderer]:
    """`opened`, or where that is None a renderer of its own, which is closed at the end of the block."""
    renderer = opened or RowRenderer(experiment)
    try:
        yield renderer
    finally:
        if opened is None:
            await renderer.close()
