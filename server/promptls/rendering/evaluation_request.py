"""The rows and meta templates of an evaluation prompt of the workspace."""

from __future__ import annotations

from promptls.rendering.evaluation_data import evaluation_data
from promptls.rendering.evaluation_job import EvaluationData, EvaluationJob
from promptls.workspace.snapshot import Snapshot


def evaluation_job(
    snapshot: Snapshot, path: str, *, row: int | None = None, rows: int = 1, meta_template: str | None = None
) -> EvaluationJob:
    """What to show of the evaluation prompt at `path`: `rows` rows (0 for all) from `row`, from 1, on."""
    template = snapshot.template(path)
    return EvaluationJob(
        data=evaluation_data(template, path) if template else EvaluationData(),
        row=row,
        rows=rows,
        meta_template=meta_template,
        meta_templates=snapshot.project(path).settings.meta_templates,
    )
