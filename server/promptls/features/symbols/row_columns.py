"""Where experiments in Python read a column of the data set that a prompt names too."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.features.symbols.declared_inputs import data_files
from promptls.features.symbols.symbol import Occurrence
from promptls.meaning.template import Template
from promptls.workspace.python_experiments import experiments_for
from promptls.workspace.snapshot import Snapshot


def row_column_places(snapshot: Snapshot, path: str, template: Template, name: str) -> Iterator[Occurrence]:
    """The places `row["name"]` of experiments for the prompt, whose rows are loaded from its data set.

    That is so where the Python file loads data sets by name, and one of them is called as the prompt's
    file of rows: what makes its rows in any other way may give a column another name.
    """
    names = {file.stem for file in data_files(path, template.declarations)}
    if not names:
        return
    experiments = {(each.file, each.name) for each in experiments_for(snapshot.written, path)}
    for file, found in snapshot.written.items():
        if not names & found.loaded:
            continue
        for column in found.columns:
            if column.name == name and (file, column.experiment) in experiments:
                yield Occurrence(file, column.span, "read", "python")
