"""What a Python file defines of experiments, metrics and data sets; plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from promptls.text.span import Span

_PROMPT_PARAMETERS: Final = frozenset(
    {"prompt", "prompt_file", "prompt_path", "prompt_template", "template", "template_file", "template_path"}
)


class PythonName(NamedTuple):
    """A name that a Python file defines at its top level, with its place in code points."""

    name: str
    span: Span
    line: int


class RowColumn(NamedTuple):
    """A column that a function reads of its row: `row["text"]`. The span is that of what is in the quotes."""

    name: str
    span: Span
    experiment: str


class PythonExperiment(NamedTuple):
    """An experiment: its parameters behind the row, and what it says of prompts, metrics and columns."""

    file: str
    name: str
    span: Span
    line: int
    parameters: tuple[str, ...]
    required: frozenset[str]
    """Those of the parameters that have no default."""
    prompts: frozenset[str]
    """The texts that look like paths of prompt files: in the function, and of one that takes a prompt, where
    it has none itself, those of templates outside of all experiments, as in a call of its `arun`."""
    scores: Mapping[str, str]
    """The columns of its results that a metric of the file fills, with the name of the metric."""

    @property
    def prompt_parameter(self) -> str | None:
        """The parameter that takes the path of a prompt file."""
        return next((name for name in self.parameters if name in _PROMPT_PARAMETERS), None)


class PythonFindings(NamedTuple):
    """What one Python file defines; every tuple in the order of the file."""

    experiments: tuple[PythonExperiment, ...] = ()
    metrics: tuple[PythonName, ...] = ()
    datasets: tuple[PythonName, ...] = ()
    columns: tuple[RowColumn, ...] = ()
    loaded: frozenset[str] = frozenset()
    """The names of data sets that are loaded by `Dataset.load` or `Dataset.stream`, as they are kept."""
