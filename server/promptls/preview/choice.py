"""The choices of the reader of a preview, and the job that renders them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from promptls.preview.preview_result import MAX_SEGMENTS
from promptls.rendering.job import RenderJob
from promptls.rendering.make import job_for
from promptls.rendering.samples import Sample, default_sample, row_sample, sample_named
from promptls.text.errors import optional
from promptls.workspace.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PreviewChoice:
    """The data, the limit and the step to render with; None means those of the file and its settings."""

    sample: str | None = None
    row: int | None = None
    """A row of the first experiment's dataset, from 0."""
    limit: int | None = None
    """The token limit of the prompt."""
    step: int | None = None
    """Removal happens in multiples of this many tokens."""
    meta_template: str | None = None
    """The meta template for an evaluation prompt."""
    source_map: bool = False
    """Whether to include the source map regardless of its size."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> PreviewChoice:
        """Return the choice from a command's arguments; raises UsageError for values of other types."""
        return cls(
            sample=optional(value, "sample", str),
            row=optional(value, "row", int),
            limit=optional(value, "limit", int),
            step=optional(value, "step", int),
            meta_template=optional(value, "metaTemplate", str),
            source_map=optional(value, "sourceMap", bool) or False,
        )

    @property
    def data(self) -> str | int | None:
        """The sample's name, or the row's number from 1, or None for the default sample."""
        return self.sample if self.row is None else self.row + 1


def chosen_sample(snapshot: Snapshot, path: str, chosen: str | int | None) -> Sample:
    """Return the sample with a name, the row with a number from 1, or the default sample.

    Raises UserError if there is none.
    """
    if isinstance(chosen, int):
        return row_sample(snapshot, path, chosen)
    return default_sample(snapshot, path) if chosen is None else sample_named(snapshot, path, chosen)


def preview_job(snapshot: Snapshot, path: str, sample: Sample, choice: PreviewChoice) -> RenderJob:
    """Return the job that renders the file with a sample under the chosen limits.

    Raises UsageError like `job_for`.
    """
    job = job_for(
        snapshot,
        path,
        sample.data,
        token_limit=choice.limit,
        truncation_step=choice.step,
        with_stand_ins=True,
    )
    if job.evaluation is not None:
        row = choice.row + 1 if choice.row is not None else None
        job = replace(job, evaluation=replace(job.evaluation, row=row, meta_template=choice.meta_template))
    max_segments = None if choice.source_map else MAX_SEGMENTS
    return replace(job, with_source_map=True, max_segments=max_segments)
