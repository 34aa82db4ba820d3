"""Rendering a data set's rows: the messages of each, and the hash that they are known by."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from promptls.datasets.dataset import Row
from promptls.experiments.definition import Experiment
from promptls.models.digest import digest_of
from promptls.rendering.job import RenderJob
from promptls.rendering.limits import Limits
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.worker import RenderWorker


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
    """Renders the rows of one experiment in a process of its own, which `close` ends."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._worker = RenderWorker(
            Limits(experiment.rendering_seconds, experiment.rendering_megabytes * 1024**2)
        )

    async def render(self, row: Row) -> RenderedRow:
        """The messages for `row`, cut to the token limit where there is one."""
        experiment = self._experiment
        outcome = await self._worker.render(
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
            )
        )
        if isinstance(outcome, RenderFailure):
            where = f" (line {outcome.line + 1})" if outcome.line is not None else ""
            return RenderedRow(error=f"the prompt does not render: {outcome.message}{where}")
        messages = tuple(outcome.messages)
        return RenderedRow(
            messages,
            outcome.tokens_kept,
            digest_of(messages),
            outcome.files,
            is_cut=outcome.tokens_kept < outcome.tokens,
        )

    async def close(self) -> None:
        """The process is ended."""
        await self._worker.close()

    def _data(self, row: Row) -> dict[str, Any]:
        """The declared inputs out of the row; all of it where nothing is declared.

        What is not declared stays out, so that an expected answer cannot slip into the prompt.
        """
        experiment = self._experiment
        if not experiment.input_keys:
            return dict(row.values)
        return {
            name: row.values[name] if name in row.values else experiment.input_defaults[name]
            for name in experiment.input_keys
            if name in row.values or name in experiment.input_defaults
        }


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
