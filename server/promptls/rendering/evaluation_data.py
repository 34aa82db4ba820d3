"""The test rows of an evaluation prompt, and the training rows that its examples come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from promptls.datasets.files import SUFFIXES, open_dataset
from promptls.dialects.opencompass.prompt_list import Row, complete_rows
from promptls.rendering.job import EvaluationData, EvaluationJob
from promptls.security.files import is_file, is_folder, kept_by_file
from promptls.semantic.evaluation import evaluation_of, fields_in, scalars_in
from promptls.semantic.template import Template
from promptls.workspace.snapshot import Snapshot

USUAL_SPLITS: Final = {"train": "train", "test": "test"}


def rows_of(data: EvaluationData) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return the training rows and the test rows; raises UserError for datasets that cannot be read."""
    test = _rows_of(data.test) if data.test else data.examples
    if data.train:
        return _rows_of(data.train), test
    return data.examples or test, test


def evaluation_data(template: Template, path: str) -> EvaluationData:
    """Return the data of the evaluation prompt at `path`; an experiment's dataset may be missing."""
    declared = template.declarations
    reader = declared.data.get("reader_cfg")
    reader = reader if isinstance(reader, Mapping) else {}
    splits = {name: str(reader.get(f"{name}_split") or name) for name in USUAL_SPLITS}
    folder = Path(path).parent
    named = declared.data.get("path")
    named = folder / named if isinstance(named, str) and named else None
    found = {}
    if named is not None and (is_file(named) or is_folder(named)):
        found = {name: _split_file(named, split) for name, split in splits.items()}
    test = found.get("test")
    for experiment in (declared.settings.experiments or {}).values():
        test = folder / experiment.dataset
        break
    train = found.get("train")
    return EvaluationData(
        test=str(test) if test else None,
        train=str(train) if train and train != found.get("test") else None,
        examples=tuple(example.data for example in declared.examples),
    )


def columns_of(template: Template) -> tuple[str, ...]:
    """Return the columns that an evaluation prompt uses: those of its reader, and the fields in its texts."""
    chunk = template.source.whole
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return ()
    fields = (
        field.name
        for each in evaluation.templates
        for body in each.bodies
        for scalar in scalars_in(body)
        for field in fields_in(chunk, scalar)
    )
    return tuple(dict.fromkeys((*(evaluation.columns or ()), *fields)))


def _split_file(named: Path, split: str) -> Path:
    """Return the file of a split: the one with its name in a folder, or else the file itself."""
    if is_file(named):
        return named
    files = [named / f"{split}{suffix}" for suffix in SUFFIXES]
    return next((file for file in files if is_file(file)), files[0])


@kept_by_file(8)
def _rows_of(path: str) -> tuple[Row, ...]:
    return tuple(complete_rows([dict(row.values) for row in open_dataset(path).rows()]))


def evaluation_job(
    snapshot: Snapshot, path: str, *, row: int | None = None, rows: int = 1, meta_template: str | None = None
) -> EvaluationJob:
    """Return the job to preview the evaluation prompt at `path`: `rows` rows (0 for all), from `row` on."""
    template = snapshot.template(path)
    return EvaluationJob(
        data=evaluation_data(template, path) if template else EvaluationData(),
        row=row,
        rows=rows,
        meta_template=meta_template,
        meta_templates=snapshot.project(path).settings.meta_templates,
    )
