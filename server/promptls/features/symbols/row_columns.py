"""Where experiments in Python read a column of the data set that a prompt names too."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.features.symbols.declared_inputs import data_files
from promptls.features.symbols.symbol import Occurrence
from promptls.meaning.template import Template
from promptls.workspace.python_experiments import experiments_for
from promptls.workspace.python_findings import RowColumn
from promptls.workspace.snapshot import Snapshot


def row_column_places(snapshot: Snapshot, path: str, template: Template, name: str) -> Iterator[Occurrence]:
    """The places `row["name"]` of experiments for the prompt, whose rows are loaded from its data set.

    Which rows an experiment is given is certain only where its file loads no other data set.
    """
    for file, found in snapshot.written.items():
        for column in found.columns:
            if column.name == name and reads_rows_of(snapshot, file, column, path, template):
                yield Occurrence(file, column.span, "read", "python", is_likely=len(found.loaded) > 1)


def reads_rows_of(snapshot: Snapshot, file: str, column: RowColumn, path: str, template: Template) -> bool:
    """Whether a column that a Python file reads of a row is one of the data sets of the prompt at `path`.

    That is so where the Python file loads data sets by name, and one of them is called as the prompt's
    file of rows: what makes its rows in any other way may give a column another name.
    """
    found = snapshot.written.get(file)
    names = {each.stem for each in data_files(snapshot, path, template)}
    if found is None or not names & found.loaded:
        return False
    experiments = experiments_for(snapshot.written, path)
    return any((each.file, each.name) == (file, column.experiment) for each in experiments)
