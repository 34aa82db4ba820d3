"""The latest rendering of each open prompt, made in worker processes in the background."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from promptls.preview.preview_result import chosen_sample
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.job import RenderJob
from promptls.rendering.make import RENDERED_KINDS, limits_for, render_file, weigh
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.samples import Sample
from promptls.rendering.worker import RenderWorker, RenderWorkers, SupersededError
from promptls.server.context import Context, Event
from promptls.text.errors import UserError
from promptls.workspace.snapshot import Snapshot


class _Workers:
    """The worker of each file, within the limits of its settings."""

    def __init__(self) -> None:
        self.all: Final = RenderWorkers()
        self._by_file: Final[dict[str, RenderWorker]] = {}

    def of(self, snapshot: Snapshot, path: str) -> RenderWorker:
        """Return the process that renders the file; cancel its jobs under former limits."""
        worker = self.all.within(limits_for(snapshot, path))
        former = self._by_file.get(path)
        if former is not None and former is not worker:
            former.give_up(path)  # a job under the former limits may run for very long
        self._by_file[path] = worker
        return worker

    def give_up(self, path: str) -> None:
        """Cancel the jobs of the file."""
        if (worker := self._by_file.pop(path, None)) is not None:
            worker.give_up(path)


log = logging.getLogger(__name__)

CHANGED: Final = "promptls/changed"
"""The notification for a client with panels that the rendering of a file may have changed."""
_QUICK_SECONDS: Final = 0.15
"""Previews that take less time are refreshed at each keystroke, and not only after a pause."""
_FIRST_SECONDS: Final = 1.0
"""How long a request waits for the first rendering of a file."""


class _Outcome(NamedTuple):
    """The outcome of a job for an open file, at a revision of the workspace."""

    revision: int
    job: RenderJob
    outcome: Rendering | RenderFailure

    def serves(self, snapshot: Snapshot, job: RenderJob) -> bool:
        """Return whether the outcome can be reused for the job; it may include an unneeded source map.

        Outcomes that depend on functions are not reused, since functions may return different values each
        time.
        """
        if job.functions is not None:
            return False
        if self.revision != snapshot.revision or (job.with_source_map and not self.job.with_source_map):
            return False
        if not job.with_source_map:
            job = replace(job, with_source_map=self.job.with_source_map, max_segments=self.job.max_segments)
        return job == self.job

    @property
    def is_quick(self) -> bool:
        """Whether the file can be rendered at each keystroke."""
        return isinstance(self.outcome, Rendering) and self.outcome.seconds < _QUICK_SECONDS


class Renderings:
    """Renders one file at a time, from its current text."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self.on_render: Event[[Snapshot, str, FileRendering]] = Event()
        """A file was rendered from this snapshot."""
        self._latest: dict[str, FileRendering] = {}
        self._chosen: Final[dict[str, str | int | None]] = {}
        self._waiting: dict[str, None] = {}
        self._unweighed: dict[str, None] = {}
        self._work: asyncio.Task[None] | None = None
        self._workers: Final = _Workers()
        self._tried: set[str] = set()
        self._outcomes: dict[str, _Outcome] = {}
        self._previewed: set[str] = set()
        self._made = asyncio.Condition()

    def latest(self, path: str) -> FileRendering | None:
        """Return the latest rendering of a file, which may be of an earlier text; None before the first."""
        return self._latest.get(path)

    async def first(self, path: str, seconds: float = _FIRST_SECONDS) -> FileRendering | None:
        """Return the latest rendering of a file; wait for the first one, by default for a short time.

        It is made before those of other files, even if the user does not pause.
        """
        is_coming = path in self._context.snapshot.open_files and path not in self._tried
        if is_coming and self._context.kind(path) in RENDERED_KINDS:
            self._waiting = {path: None, **self._waiting}
            self._render_soon()
            with contextlib.suppress(asyncio.TimeoutError):
                async with self._made:
                    await asyncio.wait_for(self._made.wait_for(lambda: path in self._tried), seconds)
        return self._latest.get(path)

    async def once(self, snapshot: Snapshot, path: str) -> FileRendering:
        """Render a file with its rows; the file need not be open."""
        worker = self.worker(snapshot, path)
        return await weigh(worker, snapshot, await render_file(worker, snapshot, path))

    def refresh(self, paths: list[str]) -> None:
        """Rerender files whose renderings may have changed."""
        for path in paths:
            if self._context.kind(path) in RENDERED_KINDS:
                self._waiting[path] = None
                if self._context.capabilities.panels:
                    self._context.notify(CHANGED, {"uri": self._context.uri_of(path)})
            else:  # the dependencies of an old rendering may no longer apply
                self._forget(path)
        self._render_soon()

    def _render_soon(self) -> None:
        if self._waiting and self._work is None:
            self._work = self._context.start(self._render_waiting(), "the rendering of the open files")

    def on_did_close(self, path: str) -> None:
        """Forget a closed file."""
        self._forget(path)
        self._workers.give_up(path)
        self._previewed.discard(path)
        self._chosen.pop(path, None)

    def _forget(self, path: str) -> None:
        self._waiting.pop(path, None)
        self._unweighed.pop(path, None)
        self._latest.pop(path, None)
        self._outcomes.pop(path, None)
        self._tried.discard(path)

    async def close(self) -> None:
        """End the worker processes."""
        await self._workers.all.close()

    def choose(self, snapshot: Snapshot, path: str, choice: str | int | None) -> Sample:
        """Choose the sample, by its name, or the row, by its number from 1, to render the file with.

        None chooses the default. Raises UserError if there is no such sample, and retains the previous
        choice.
        """
        sample = chosen_sample(snapshot, path, choice)
        if self._chosen.get(path) != choice:
            self._chosen[path] = choice
            self.refresh([path])
        return sample

    def sample(self, snapshot: Snapshot, path: str) -> Sample:
        """Return the data to render the file with; raises UserError if it cannot be read."""
        choice = self._chosen.get(path)
        if choice is not None:
            try:
                return chosen_sample(snapshot, path, choice)
            except UserError:
                del self._chosen[path]  # it existed when it was chosen
        return chosen_sample(snapshot, path, None)

    def worker(self, snapshot: Snapshot, path: str) -> RenderWorker:
        """Return the process that renders the file, within the limits of its settings."""
        return self._workers.of(snapshot, path)

    async def render(self, snapshot: Snapshot, job: RenderJob) -> Rendering | RenderFailure:
        """Run a job within the limits in the settings of its file."""
        return await self.worker(snapshot, job.path).render(job)

    async def _render_in_background(self, snapshot: Snapshot, job: RenderJob) -> Rendering | RenderFailure:
        """Run a job; raises SupersededError if a preview of its file is requested before it is done.

        The outcome of a preview is reused until something in the workspace changes.
        """
        worker = self.worker(snapshot, job.path)
        await worker.wait_for_latest(job.path)
        known = self._outcomes.get(job.path)
        if known is not None and known.serves(snapshot, job):
            return known.outcome
        return self._stored(snapshot, job, await worker.render_unless_superseded(job))

    def _stored(
        self, snapshot: Snapshot, job: RenderJob, outcome: Rendering | RenderFailure
    ) -> Rendering | RenderFailure:
        """Store the outcome, so that the same job for an open file need not run again."""
        if job.path in self._context.snapshot.open_files:
            self._outcomes[job.path] = _Outcome(snapshot.revision, job, outcome)
        return outcome

    async def preview(
        self, path: str, made_job: Callable[[Snapshot], tuple[Sample, RenderJob]]
    ) -> tuple[Snapshot, FileRendering]:
        """Render the current text for a preview; return the rendered snapshot, too."""
        self._previewed.add(path)
        while True:
            snapshot = self._context.snapshot
            sample, job = made_job(snapshot)
            known = self._outcomes.get(path)
            if known is not None and known.serves(snapshot, job):
                return snapshot, FileRendering(job, sample, known.outcome)
            try:
                outcome = await self.worker(snapshot, path).render_latest(job)
            except SupersededError:
                # A newer text, or one with different limits, is already being rendered.
                await self.worker(self._context.snapshot, path).wait_for_latest(path)
                continue
            return snapshot, FileRendering(job, sample, self._stored(snapshot, job, outcome))

    def on_did_change(self, path: str) -> None:
        """Refresh a preview of the file immediately if rendering it is quick."""
        known = self._outcomes.get(path)
        if (
            self._context.capabilities.panels
            and path in self._previewed
            and known is not None
            and known.is_quick
        ):
            self._context.notify(CHANGED, {"uri": self._context.uri_of(path)})

    async def _render_waiting(self) -> None:
        shown_changed = False
        try:
            while self._waiting or self._unweighed:
                if self._waiting:
                    shown_changed |= await self._render_next()
                    continue
                if shown_changed:
                    self._context.refresh_inlay_hints()
                    shown_changed = False
                await self._weigh_next()
        finally:
            self._work = None
        if shown_changed:
            self._context.refresh_inlay_hints()

    async def _render_next(self) -> bool:
        """Render the file that has waited longest; return whether its annotations change."""
        path = next(iter(self._waiting))
        del self._waiting[path]
        try:
            return await self._render_one(path)
        except Exception:
            log.exception("%s cannot be rendered", path)
            return False
        finally:
            self._tried.add(path)
            async with self._made:
                self._made.notify_all()

    async def _weigh_next(self) -> None:
        path = next(iter(self._unweighed))
        del self._unweighed[path]
        try:
            await self._count_rows(path)
        except Exception:
            log.exception("the rows of %s cannot be weighed", path)

    async def _render_one(self, path: str) -> bool:
        """Render the current file; return whether its annotations change."""
        snapshot = self._context.snapshot
        template = snapshot.template(path)
        if template is None:
            return False
        before = self._latest.get(path)
        worker = self.worker(snapshot, path)
        try:
            made = await render_file(
                worker,
                snapshot,
                path,
                lambda: self.sample(snapshot, path),
                before,
                partial(self._render_in_background, snapshot),
            )
        except SupersededError:
            if path in self._context.snapshot.open_files:
                self._waiting[path] = None
            return False
        is_open = path in self._context.snapshot.open_files
        if not is_open or self._context.kind(path) not in RENDERED_KINDS:
            return False
        made = made.after(before)
        if before is not None and before.token_limit == made.token_limit:
            made = replace(made, rows=before.rows, ranges=before.ranges)  # until recounted
        self._store(snapshot, made)
        self._unweighed[path] = None
        return before is None or _shown(before) != _shown(made)

    async def _count_rows(self, path: str) -> None:
        """Count the tokens of the rows of the dataset, while no file waits to be rendered."""
        snapshot, made = self._context.snapshot, self._latest.get(path)
        template = snapshot.template(path)
        if made is None or template is None or template.source.text != made.job.text:
            return
        worker = self.worker(snapshot, path)
        weighed = await weigh(worker, snapshot, made, lambda: not self._waiting)
        if self._latest.get(path) is not made:
            return
        if weighed is made:  # interrupted for a file that waits; it is resumed afterwards
            self._unweighed[path] = None
            return
        self._store(snapshot, weighed)
        if weighed.ranges != made.ranges:
            self._context.refresh_inlay_hints()

    def _store(self, snapshot: Snapshot, made: FileRendering) -> None:
        self._latest[made.job.path] = made
        self.on_render.emit(snapshot, made.job.path, made)


def _shown(made: FileRendering) -> object:
    """Return the data of a rendering that hints and lenses show."""
    if isinstance(made.outcome, RenderFailure):
        return (made.outcome.message, tuple(made.template_tokens.items()))
    return (
        made.sample.name,
        made.token_limit,
        tuple((part.name, part.tokens, part.kept) for part in made.outcome.parts),
    )
