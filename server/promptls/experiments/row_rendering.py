"""Rendering a dataset's rows: their messages, their hashes, and the temporary file that stores them.

Rows are rendered once, so what is planned is what is sent, and rendered rows are not held in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import pickle
import tempfile
from array import array
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from promptls.datasets.cells import typed_row
from promptls.datasets.dataset_files import Row
from promptls.experiments.experiment import Experiment
from promptls.models.testing import digest_of
from promptls.rendering.job import RenderJob, RowMessages
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.worker import RenderWorker, limits_of
from promptls.security.files import ANYWHERE, current_scope
from promptls.security.processes import usable_cores, visible_variables

# Number of rows from which additional processes are started, and the maximum number of processes.
MANY = 200
MAX_PROCESSES = 4

# Maximum rows and characters of a batch that is sent to a process, and the size of the first batch.
MAX_ROWS = 256
MAX_CHARACTERS = 200_000
FIRST_ROWS = 8

BATCH_SECONDS = 0.1
"""Target duration of a batch in seconds: runs are cancelled between batches."""


@dataclass(frozen=True, slots=True)
class RenderedRow:
    """The rendered messages of a row, or `error` if the row does not render.

    `is_cut` means that the prompt was truncated to the token limit.
    """

    messages: tuple[Mapping[str, Any], ...] = ()
    tokens: int = 0
    digest: str = ""
    files: tuple[str, ...] = ()
    error: str | None = None
    is_cut: bool = False


class RowRenderer:
    """Renders the rows of an experiment in separate processes, which `close` terminates."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._workers = [self._worker()]
        self._size = FIRST_ROWS

    async def render(self, row: Row) -> RenderedRow:
        """Return the messages for `row`, truncated to the token limit, if any."""
        return await self._render(row, self._workers[0])

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in the experiment's encoding."""
        return await self._workers[0].count(texts, self._experiment.encoding)

    async def render_all(self, rows: Iterable[Row]) -> AsyncIterator[tuple[Row, RenderedRow]]:
        """Yield each row with its messages, in order; many rows are rendered by several processes."""
        begun: deque[asyncio.Task[list[tuple[Row, RenderedRow]]]] = deque()
        batches = self._batches(rows)
        number = count = 0
        try:
            while batch := next(batches, None):
                count += len(batch)
                if count > MANY:
                    self._workers += [self._worker() for _ in range(_most_processes() - len(self._workers))]
                worker = self._workers[number % len(self._workers)]
                number += 1
                begun.append(asyncio.create_task(self._render_batch(batch, worker)))
                # Two batches per process, so that no process has to wait for its next batch.
                if len(begun) >= 2 * len(self._workers):
                    for each in await begun.popleft():
                        yield each
            while begun:
                for each in await begun.popleft():
                    yield each
        finally:
            for task in begun:
                task.cancel()

    def _batches(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Yield the rows in batches that are limited by rendering time and size."""
        batch: list[Row] = []
        characters = 0
        for row in rows:
            batch.append(row)
            characters += sum(len(value) for value in row.values.values() if isinstance(value, str))
            if len(batch) >= self._size or characters >= MAX_CHARACTERS:
                yield batch
                batch, characters = [], 0
        if batch:
            yield batch

    async def _render_batch(self, rows: list[Row], worker: RenderWorker) -> list[tuple[Row, RenderedRow]]:
        rendered = None
        if self._experiment.evaluation is None:
            rendered = await worker.render_rows(self._job({}), [self._data(row) for row in rows])
        if rendered is None:
            # A row took too long or ended the process: rows are rendered separately to find which one.
            self._size = 1
            return [(row, await self._render(row, worker)) for row in rows]
        fitting = int(BATCH_SECONDS * len(rows) / max(rendered.seconds, 1e-6))
        self._size = max(1, min(2 * self._size, MAX_ROWS, fitting))
        return [(row, _rendered(outcome)) for row, outcome in zip(rows, rendered.outcomes, strict=True)]

    def _worker(self) -> RenderWorker:
        experiment = self._experiment
        seconds, megabytes = experiment.rendering_seconds, experiment.rendering_megabytes
        return RenderWorker(limits_of(seconds, megabytes, trusted=current_scope() == ANYWHERE))

    async def _render(self, row: Row, worker: RenderWorker) -> RenderedRow:
        experiment = self._experiment
        job = self._job(self._data(row))
        if experiment.evaluation is not None:
            job = replace(job, evaluation=replace(experiment.evaluation, row=row.number, with_labels=True))
        outcome = await worker.render(job)
        if isinstance(outcome, RenderFailure):
            return _rendered(outcome)
        messages: Sequence[Mapping[str, Any]] = outcome.messages
        if outcome.labels or not messages:
            messages = outcome.labels
        return _rendered(RowMessages(messages, outcome.tokens, outcome.tokens_kept, outcome.files))

    def _job(self, data: Mapping[str, Any]) -> RenderJob:
        experiment, scope = self._experiment, current_scope()
        return RenderJob(
            path=str(experiment.prompt),
            text=experiment.text,
            data=data,
            unsaved=experiment.unsaved,
            functions=str(experiment.functions) if experiment.functions else None,
            environment=visible_variables(experiment.environment) if experiment.functions else {},
            encoding=experiment.encoding,
            token_limit=experiment.token_limit,
            truncation_step=experiment.truncation_step,
            kind=experiment.rendering,
            roots=scope.roots,
            trusted=scope == ANYWHERE,
            ragas_version=experiment.ragas_version,
        )

    async def close(self) -> None:
        """Terminate the processes."""
        await asyncio.gather(*(worker.close() for worker in self._workers))

    def _data(self, row: Row) -> dict[str, Any]:
        """Return the declared inputs of the row; the whole row if no inputs are declared.

        Other columns are excluded, so that an expected answer cannot leak into the prompt. In an
        evaluation prompt, it is masked.
        """
        experiment = self._experiment
        if not experiment.input_keys or experiment.evaluation is not None:
            return dict(row.values)
        values = {**experiment.input_defaults, **typed_row(row.values, experiment.input_types)}
        return {name: values[name] for name in experiment.input_keys if name in values}


def _rendered(outcome: RowMessages | RenderFailure) -> RenderedRow:
    if isinstance(outcome, RenderFailure):
        where = f" (line {outcome.line + 1})" if outcome.line is not None else ""
        return RenderedRow(error=f"the prompt does not render: {outcome.message}{where}")
    messages = tuple(outcome.messages)
    return RenderedRow(
        messages,
        outcome.tokens_kept,
        digest_of(messages),
        tuple(outcome.files),
        is_cut=outcome.tokens_kept < outcome.tokens,
    )


def _most_processes() -> int:
    return min(MAX_PROCESSES, usable_cores())


@asynccontextmanager
async def row_renderer(
    experiment: Experiment, opened: RowRenderer | None = None
) -> AsyncIterator[RowRenderer]:
    """Yield `opened` or, if it is None, a new renderer that is closed at the end of the block."""
    renderer = opened or RowRenderer(experiment)
    try:
        yield renderer
    finally:
        if opened is None:
            await renderer.close()


@dataclass(frozen=True, slots=True)
class FailingRow:
    """A row that does not render; `line` is its line in the dataset, counted from 0."""

    number: int
    line: int
    message: str


class RenderedRows:
    """A list of rows in a temporary file, which is deleted with the object.

    `tokens` counts one request per row; `over_limit` rows are truncated to the token limit; `files` are all
    template files that were read, and `failing` the rows that do not render.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self.over_limit = 0
        self.files: dict[str, None] = {}
        self.failing: list[FailingRow] = []
        self._stream: Any = None
        # If no temporary file can be created, everything stays in memory.
        with contextlib.suppress(OSError):
            self._stream = tempfile.TemporaryFile(buffering=0, prefix="promptls-")  # noqa: SIM115 - kept open
        self._offsets = array("Q")
        # Rows that do not fit on a full disk stay in memory.
        self._in_memory: dict[int, bytes] = {}
        self._end = 0
        self._hash = hashlib.sha256()

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def hash(self) -> str:
        """The hash of all rendered rows, in order."""
        return self._hash.hexdigest()

    def append(self, row: Row, rendered: RenderedRow) -> None:
        """Append the row."""
        packed = pickle.dumps((row.number, row.line, dict(row.values), rendered), pickle.HIGHEST_PROTOCOL)
        self.tokens += rendered.tokens
        self.over_limit += rendered.is_cut
        self.files.update(dict.fromkeys(rendered.files))
        if rendered.error is not None:
            self.failing.append(FailingRow(row.number, row.line, rendered.error))
        self._hash.update(rendered.digest.encode())
        self._offsets.append(self._end)
        with contextlib.suppress(OSError):
            if self._stream is not None:
                self._stream.seek(self._end)
                if self._stream.write(packed) == len(packed):
                    self._end += len(packed)
                    return
        self._in_memory[len(self._offsets) - 1] = packed

    def __iter__(self) -> Iterator[tuple[Row, RenderedRow]]:
        return map(self.__getitem__, range(len(self._offsets)))

    def __getitem__(self, index: int) -> tuple[Row, RenderedRow]:
        packed = self._in_memory.get(index)
        if packed is None:
            # Several runs may iterate concurrently, so every step seeks to its own position.
            end = self._offsets[index + 1] if index + 1 < len(self._offsets) else self._end
            self._stream.seek(self._offsets[index])
            packed = self._stream.read(end - self._offsets[index])
        number, line, values, rendered = pickle.loads(packed)  # noqa: S301 - written by this object
        return Row(number, line, values), rendered

    def close(self) -> None:
        """Delete the file."""
        if self._stream is not None:
            self._stream.close()
