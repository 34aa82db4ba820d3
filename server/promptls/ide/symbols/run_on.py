"""Experiments that can be run on a prompt file: its own, and those of the settings whose rows fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from promptls.ide.symbols.data_keys import csv_cells, json_keys
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import INJECTED
from promptls.semantic.template import Template
from promptls.settings.header import ExperimentKey
from promptls.workspace.snapshot import Snapshot

_RUN: frozenset[Kind] = frozenset({Kind.PARTS, Kind.OBJECT, Kind.EVALUATION})


class RunOn(NamedTuple):
    """An experiment, and the file that declares it, from whose folder its paths count."""

    declared: ExperimentKey
    named_in: str

    @property
    def dataset(self) -> str:
        """The absolute path of its dataset."""
        return os.path.normpath(Path(self.named_in).parent / self.declared.dataset)


def experiments_on(snapshot: Snapshot, path: str, template: Template) -> Iterator[RunOn]:
    """Yield the experiments of the file at `path`, then those of its settings that can be run on it."""
    own = template.declarations.settings.experiments or {}
    yield from (RunOn(each, path) for each in own.values() if each.dataset)
    project = snapshot.project(path)
    if project.path is None or not project.settings.experiments or snapshot.kind(path) not in _RUN:
        return
    declared = {key.name for key in template.declarations.inputs or ()}
    inputs = declared or (template.names.input_names - INJECTED)
    for name, each in project.settings.experiments.items():
        found = RunOn(each, str(project.path))
        if name not in own and inputs and inputs <= columns_in(snapshot, found.dataset):
            yield found


def columns_in(snapshot: Snapshot, file: str) -> frozenset[str]:
    """Return the columns that the first row of a dataset in text has; none of one that cannot be read."""
    key = ("columns in", file)
    known = snapshot.derived.get(key)
    if known is None:
        held = snapshot.template(file) if Path(file).suffix.lower() in {".csv", ".json", ".jsonl"} else None
        known = snapshot.derived[key] = frozenset(_columns(file, held.source.text) if held else ())
    assert isinstance(known, frozenset)
    return known


def _columns(file: str, text: str) -> Iterator[str]:
    if file.lower().endswith(".csv"):
        for cell in next(csv_cells(text), ()):
            yield text[cell.span.start : cell.span.end]
        return
    first = text.lstrip().partition("\n")[0] if file.lower().endswith(".jsonl") else text
    yield from (key.name for key in json_keys(first) if not key.path)
