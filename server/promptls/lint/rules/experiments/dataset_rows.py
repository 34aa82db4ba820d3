"""Rows of datasets that failed, or that are examples as well.

# failing-row

Dataset rows that failed in the last run of an experiment.

Reports, at the name of an experiment, how many of its rows failed in its last run: rows that could not
be rendered, and rows that the model did not answer. In the dataset itself, each row shows its error, or
the result that a metric rated as not good. Nothing is reported if the prompt, a file that it includes,
or the dataset has changed since the run.

## Why is this bad?

A row that failed has no score, so the scores of the run cover only the other rows.

## Example

```yaml
-- tickets.csv --
text,expected
Where is my order?,Shipping
,Billing
-- last-run.csv --
text,expected,response,exact_match,error,row_number
Where is my order?,Shipping,Shipping,pass,,1
,Billing,,,division by zero,2
-- main.yml.j2 --
{#---
input_keys: [text]
experiments:
  triage: {dataset: tickets.csv, metrics: [exact_match]}
  ^^^^^^ failing-row: 1 of 2 rows failed in the last run, `last-run`: its results say why
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ 1 / (text | length) }}
```

Use instead:

```yaml
-- tickets.csv --
text,expected
Where is my order?,Shipping
,Billing
-- last-run.csv --
text,expected,response,exact_match,error,row_number
Where is my order?,Shipping,Shipping,pass,,1
,Billing,Billing,pass,,2
-- main.yml.j2 --
{#---
input_keys: [text]
experiments:
  triage: {dataset: tickets.csv, metrics: [exact_match]}
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

# example-in-dataset

Example that is also in the dataset it is scored on.

Reports an example in the file's header whose inputs match a row in the dataset of one of its
experiments. The text of every input must be the same, apart from white space at the ends. Datasets
larger than two megabytes are not checked.

## Why is this bad?

The model has seen the answer of that row in the prompt, so the score of the row is meaningless.

## Example

```yaml
-- tickets.csv --
text,response
Where is my order?,Shipping
My card was charged twice.,Billing
-- main.yml.j2 --
{#---
input_keys: [text]
output_key: response
examples:
  - {text: My card was charged twice., response: Billing}
     ^^^^ example-in-dataset: this example is row 2 of `tickets.csv`, which `triage` is scored on
experiments:
  triage: {dataset: tickets.csv}
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

Use instead:

```yaml
-- tickets.csv --
text,response
Where is my order?,Shipping
-- main.yml.j2 --
{#---
input_keys: [text]
output_key: response
examples:
  - {text: My card was charged twice., response: Billing}
experiments:
  triage: {dataset: tickets.csv}
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from promptls.lint.analysis.declared_experiments import DeclaredExperiment, declared_experiments, name_span
from promptls.lint.rule import File, Finding, rule
from promptls.semantic.kind import Kind
from promptls.semantic.object_data import is_printed

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary


_TO_THE_END = 10**9
"""A line number beyond the end of any file."""


class RowFinding(NamedTuple):
    """A failed result of the dataset row `number`, counted from 1.

    The row begins on `line` and ends before `end`, and the result begins on `result_line` of the table of
    the run; all three are counted from 0.
    """

    dataset: Path
    number: int
    line: int
    end: int
    message: str
    run: RunSummary
    result_line: int
    response: str


@rule(severity="information", kinds=frozenset({Kind.PARTS, Kind.OBJECT}), needs="runs")
def failing_row(file: File) -> Iterator[Finding]:
    """Yield the experiments whose latest run has rows without an answer."""
    for run in file.runs:
        if not run.is_complete and any(
            run.experiment == other.experiment and other.is_complete for other in file.runs
        ):
            continue
        span = name_span(file.template, run.experiment)
        if run.failed and span is not None:
            message = (
                f"{run.failed} of {run.rows} rows failed in the last run, `{run.name}`: its results say why"
            )
            yield Finding(span, message)


def rows_in_datasets(newest_first: Sequence[RunSummary]) -> Iterator[RowFinding]:
    """Return the failed rows of one experiment's runs, in the datasets that have not changed since."""
    from promptls.datasets.dataset_files import row_lines
    from promptls.experiments.verdicts import standing_failures, unchanged_dataset

    for run, row in standing_failures(newest_first):
        dataset = unchanged_dataset(run)
        lines = row_lines(dataset) if dataset is not None else {}
        if dataset is not None and row.number in lines:
            line = lines[row.number]
            message = f"{row.message}, in the last run of `{run.experiment}` in `{run.prompt.name}`"
            yield RowFinding(
                dataset=dataset,
                number=row.number,
                line=line,
                end=lines.get(row.number + 1, _TO_THE_END),
                message=message,
                run=run,
                result_line=row_lines(run.results).get(row.place, 0),
                response=row.cells.get("response") or "",
            )


@rule(severity="warning", kinds=frozenset({Kind.PARTS, Kind.OBJECT}))
def example_in_dataset(file: File) -> Iterator[Finding]:
    """Yield the examples that are also rows of a dataset."""
    examples = file.template.declarations.examples
    if not examples:
        return
    output = file.template.declarations.data.get("output_key")
    seen: set[tuple[int, Path]] = set()
    for experiment in declared_experiments(file):
        for index, example in enumerate(examples):
            inputs = {key: value for key, value in example.data.items() if key != output}
            if (index, experiment.dataset) in seen or not inputs:
                continue
            row = _row_of(experiment, inputs)
            if row is not None and not is_printed(example.node):
                seen.add((index, experiment.dataset))
                named = experiment.declared.dataset
                message = f"this example is row {row} of `{named}`, which `{experiment.name}` is scored on"
                yield Finding(example.first_key, message)


def _row_of(experiment: DeclaredExperiment, inputs: dict[Any, Any]) -> int | None:
    """Return the number of the row that has all of the inputs, or None."""
    from promptls.datasets.dataset_files import as_text, known_columns, rows_by_values

    known = known_columns(experiment.dataset)
    columns = tuple(sorted(key for key in inputs if isinstance(key, str)))
    if known.failure is not None or len(columns) < len(inputs) or not set(columns) <= set(known.columns):
        return None
    values = tuple(as_text(inputs[column]) for column in columns)
    if not any(values):
        return None
    place = rows_by_values(experiment.dataset, columns).get(values)
    return place.number if place else None
