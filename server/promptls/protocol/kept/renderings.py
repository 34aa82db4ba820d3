"""The newest rendering of each open prompt, made in the rendering process while nobody waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from promptls.protocol.kept.chosen_samples import ChosenSamples
from promptls.protocol.kept.render_workers import RenderWorkers
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.job import RenderJob
from promptls.rendering.make import render_file, weigh_rows
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.part_ranges import weigh_parts
from promptls.rendering.request import RENDERED_KINDS
from promptls.rendering.samples import Sample
from promptls.rendering.worker import RenderWorker, SupersededError
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)

CHANGED: Final = "promptls/changed"
"""Tells a client with panels that the renderings of a file may differ."""
_QUICK_SECONDS: Final = 0.15
"""A preview that takes less is made anew at each keystroke, and not only after a pause."""
_FIRST_SECONDS: Final = 1.0
"""How long a request waits for the very first rendering of a file."""


class _Outcome(NamedTuple):
    """What a job for an open file ended with, and at which revision of the workspace."""

    revision: int
    job: RenderJob
    outcome: Rendering | RenderFailure

    def serves(self, snapshot: Snapshot, job: RenderJob) -> bool:
        """Whether the job would end with the same, but for a source map that it does not ask for.

        Functions may answer otherwise each time.
        """
        if job.functions is not None:
            return False
        if self.revision != snapshot.revision or (job.with_source_map and not self.job.with_source_map):
            return False
        if not job.with_source_map:
            job = replace(job, with_source_map=self.job.with_source_map, most_segments=self.job.most_segments)
        return job == self.job

    @property
    def is_quick(self) -> bool:
        """Whether the file can be rendered while somebody types."""
        return isinstance(self.outcome, Rendering) and self.outcome.seconds < _QUICK_SECONDS


class Renderings:
    """One rendering at a time, of the newest text; what is shown of it is refreshed when it changes."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._newest: dict[str, FileRendering] = {}
        self._samples: Final = ChosenSamples()
        self._waiting: dict[str, None] = {}
        self._unweighed: dict[str, None] = {}
        self._work: asyncio.Task[None] | None = None
        self._workers: Final = RenderWorkers()
        self._tried: set[str] = set()
        self._outcomes: dict[str, _Outcome] = {}
        self._previewed: set[str] = set()
        self._made = asyncio.Condition()

    def newest(self, path: str) -> FileRendering | None:
        """The file's newest rendering, which may be of a former text; None before the first."""
        return self._newest.get(path)

    async def first(self, path: str, seconds: float = _FIRST_SECONDS) -> FileRendering | None:
        """The file's newest rendering; the first one is waited for, by default not for long."""
        is_coming = path in self._session.snapshot.open_files and path not in self._tried
        if is_coming and self._session.kind(path) in RENDERED_KINDS:
            with contextlib.suppress(asyncio.TimeoutError):
                async with self._made:
                    await asyncio.wait_for(self._made.wait_for(lambda: path in self._tried), seconds)
        return self._newest.get(path)

    async def once(self, snapshot: Snapshot, path: str) -> FileRendering:
        """The rendering of a file that need not be open, with its rows, made for this one question."""
        worker = self.worker(snapshot, path)
        return await weigh_rows(worker, snapshot, await render_file(worker, snapshot, path))

    def look_again(self, paths: list[str]) -> None:
        """The renderings of the files at `paths` may be others than they were: render them anew."""
        for path in paths:
            if self._session.kind(path) in RENDERED_KINDS:
                self._waiting[path] = None
                if self._session.flags.panels:
                    self._session.server.protocol.notify_json(CHANGED, {"uri": self._session.uri_of(path)})
            else:  # what it was once rendered with says nothing of what it is now
                self._forget(path)
        if self._waiting and self._work is None:
            self._work = self._session.start(self._render_waiting(), "the rendering of the open files")

    def file_closed(self, path: str) -> None:
        """Forget the file."""
        self._forget(path)
        self._workers.give_up(path)
        self._previewed.discard(path)
        self._samples.forget(path)

    def _forget(self, path: str) -> None:
        self._waiting.pop(path, None)
        self._unweighed.pop(path, None)
        self._newest.pop(path, None)
        self._outcomes.pop(path, None)
        self._tried.discard(path)

    async def close(self) -> None:
        """End the processes."""
        await self._workers.close()

    def choose(self, snapshot: Snapshot, path: str, choice: str | int | None) -> Sample:
        """The sample of a name, or row of the data set from 1, that the file is rendered with from now on.

        None chooses the default. Raises Failure where there is no such sample.
        """
        sample, is_another = self._samples.choose(snapshot, path, choice)
        if is_another:
            self.look_again([path])
        return sample

    def sample(self, snapshot: Snapshot, path: str) -> Sample:
        """The data that the file is rendered with; raises Failure where it cannot be read."""
        return self._samples.sample(snapshot, path)

    def worker(self, snapshot: Snapshot, path: str) -> RenderWorker:
        """The process that renders and counts for the file, within the limits of its settings."""
        return self._workers.of(snapshot, path)

    async def render(self, snapshot: Snapshot, job: RenderJob) -> Rendering | RenderFailure:
        """The outcome of a job, within the limits that the settings of its file set."""
        return await self.worker(snapshot, job.path).render(job)

    async def _render_in_background(self, snapshot: Snapshot, job: RenderJob) -> Rendering | RenderFailure:
        """The outcome of a job; raises SupersededError where a preview of its file comes before it is done.

        What a preview has rendered is not rendered again as long as nothing in the workspace changes.
        """
        worker = self.worker(snapshot, job.path)
        await worker.settled(job.path)
        known = self._outcomes.get(job.path)
        if known is not None and known.serves(snapshot, job):
            return known.outcome
        return self._known(snapshot, job, await worker.render_unless_superseded(job))

    def _known(
        self, snapshot: Snapshot, job: RenderJob, outcome: Rendering | RenderFailure
    ) -> Rendering | RenderFailure:
        """The outcome, kept for whoever asks for the same of an open file."""
        if job.path in self._session.snapshot.open_files:
            self._outcomes[job.path] = _Outcome(snapshot.revision, job, outcome)
        return outcome

    async def preview(
        self, path: str, made_job: Callable[[Snapshot], tuple[Sample, RenderJob]]
    ) -> tuple[Snapshot, FileRendering]:
        """The rendering for a preview of the newest text, and the workspace that it is of."""
        self._previewed.add(path)
        while True:
            snapshot = with_consent(self._session.snapshot, self._session.trusted)
            sample, job = made_job(snapshot)
            known = self._outcomes.get(path)
            if known is not None and known.serves(snapshot, job):
                return snapshot, FileRendering(job, sample, known.outcome)
            try:
                outcome = await self.worker(snapshot, path).render_newest(job)
            except SupersededError:
                # A newer text, or other limits, are rendered already: nobody wants to see older ones.
                await self.worker(self._session.snapshot, path).settled(path)
                continue
            return snapshot, FileRendering(job, sample, self._known(snapshot, job, outcome))

    def edited(self, path: str) -> None:
        """The text of the file is another one: whoever previews it may ask at once where that is quick."""
        known = self._outcomes.get(path)
        if self._session.flags.panels and path in self._previewed and known is not None and known.is_quick:
            self._session.server.protocol.notify_json(CHANGED, {"uri": self._session.uri_of(path)})

    async def _render_waiting(self) -> None:
        shown_changed = False
        try:
            while self._waiting or self._unweighed:
                if self._waiting:
                    shown_changed |= await self._render_next()
                    continue
                if shown_changed:
                    self._session.refresh_inlay_hints()
                    shown_changed = False
                await self._weigh_next()
        finally:
            self._work = None
        if shown_changed:
            self._session.refresh_inlay_hints()

    async def _render_next(self) -> bool:
        """Render the file that waits longest; whether that looks different from before."""
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
            await self._weigh(path)
        except Exception:
            log.exception("the rows of %s cannot be weighed", path)

    async def _render_one(self, path: str) -> bool:
        """Render the file as it is now; whether that looks different from before."""
        snapshot = self._session.snapshot
        template = snapshot.template(path)
        if template is None:
            return False
        before = self._newest.get(path)
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
            if path in self._session.snapshot.open_files:
                self._waiting[path] = None
            return False
        is_open = path in self._session.snapshot.open_files
        if not is_open or self._session.kind(path) not in RENDERED_KINDS:
            return False
        if before is not None and before.token_limit == made.token_limit:
            made = replace(made, rows=before.rows, ranges=before.ranges)  # until they are weighed anew
        self._keep(snapshot, made)
        self._unweighed[path] = None
        return before is None or _shown(before) != _shown(made)

    async def _weigh(self, path: str) -> None:
        """Find out what the rows of the file's data set come to, unless something is to be rendered."""
        snapshot, made = self._session.snapshot, self._newest.get(path)
        template = snapshot.template(path)
        if made is None or template is None or template.source.text != made.job.text:
            return
        worker = self.worker(snapshot, path)
        weighed = await weigh_rows(worker, snapshot, made, lambda: not self._waiting)
        weighed = await weigh_parts(worker, snapshot, weighed, lambda: not self._waiting)
        if self._newest.get(path) is made and weighed is not made:
            self._keep(snapshot, weighed)
            if weighed.ranges != made.ranges:
                self._session.refresh_inlay_hints()

    def _keep(self, snapshot: Snapshot, made: FileRendering) -> None:
        self._newest[made.job.path] = made
        self._session.rendered_findings.rendered(snapshot, made.job.path, made)


def with_consent(snapshot: Snapshot, trusted: bool | None) -> Snapshot:
    """The snapshot for what the user has asked for in person.

    A client without the notion of trust consents by that; one that does not trust the workspace
    does not.
    """
    return snapshot if trusted is not None else replace(snapshot, trusted=True)


def _shown(made: FileRendering) -> object:
    """What hints and lenses say of a rendering."""
    if isinstance(made.outcome, RenderFailure):
        return (made.outcome.message, tuple(made.template_tokens.items()))
    return (
        made.sample.name,
        made.token_limit,
        tuple((part.name, part.tokens, part.kept) for part in made.outcome.parts),
    )
