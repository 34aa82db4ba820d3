"""The rows that an evaluation prompt asks, and those that its examples come from.

The asked rows are those of the first experiment's data set; else of `path`, as OpenCompass names a
data set: a file, or a folder with a file for each split. Where there is no such file or folder, it
is a name in a hub, whose rows are not here. The examples come from the training split
of such a folder; else they are the `examples` that the prompt declares; else the asked rows
themselves, which is what OpenCompass makes of a data set without splits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from promptls.datasets.registry import SUFFIXES, open_dataset
from promptls.meaning.dialogue_texts import scalars_in
from promptls.meaning.evaluation import evaluation_of
from promptls.meaning.fields import fields_in
from promptls.meaning.template import Template
from promptls.rendering.evaluation_job import EvaluationData
from promptls.systems.opencompass.prompt_list import Row
from promptls.text.file_stamp import kept_by_file

USUAL_SPLITS: Final = {"train": "train", "test": "test"}


def rows_of(data: EvaluationData) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The training rows and the asked ones; raises Failure for data sets that cannot be read."""
    test = _rows_of(data.test) if data.test else data.examples
    if data.train:
        return _rows_of(data.train), test
    return data.examples or test, test


def evaluation_data(template: Template, path: str) -> EvaluationData:
    """The data of the evaluation prompt at `path`; an experiment's data set may be missing."""
    declared = template.declarations
    reader = declared.data.get("reader_cfg")
    reader = reader if isinstance(reader, Mapping) else {}
    splits = {name: str(reader.get(f"{name}_split") or name) for name in USUAL_SPLITS}
    folder = Path(path).parent
    named = declared.data.get("path")
    named = folder / named if isinstance(named, str) else None
    found = {}
    if named is not None and named.exists():
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
    """The columns that an evaluation prompt reads: those of its reader, and the fields of its texts."""
    chunk = template.source.first_chunk
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
    """The file of a split: in a folder, the one with its name; else the file itself."""
    if named.is_file():
        return named
    files = [named / f"{split}{suffix}" for suffix in SUFFIXES]
    return next((file for file in files if file.is_file()), files[0])


@kept_by_file(8)
def _rows_of(path: str) -> tuple[Row, ...]:
    return tuple(dict(row.values) for row in open_dataset(path).rows())
