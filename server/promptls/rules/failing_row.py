"""Rows of a data set that failed in the last run of an experiment.

## What it does

Says at an experiment how many of its rows failed in its last run: rows that could not be rendered, and
those that the model did not answer. In the data set itself it says at each row what went wrong, and what
a metric found that is not good. It says nothing when the prompt, a file that it includes, or the data set
has changed since the run.

## Why is this bad?

A row that failed has no score, so that the scores of the run speak of the others only.

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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from promptls.meaning.kind import Kind
from promptls.rules.declared_experiments import name_span
from promptls.rules.rule import FileContext, Finding, Rule

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary


class RowFinding(NamedTuple):
    """What is said of a row in the data set at `dataset`: the line on which it begins, from 0, and why."""

    dataset: Path
    line: int
    message: str


def check(context: FileContext, runs: Sequence[RunSummary]) -> Iterator[Finding]:
    """The experiments whose last run has rows without an answer."""
    for run in runs:
        span = name_span(context.template, run.experiment)
        if run.failed and span is not None:
            message = (
                f"{run.failed} of {run.rows} rows failed in the last run, `{run.name}`: its results say why"
            )
            yield Finding(span, message)


def rows_in_datasets(runs: Sequence[RunSummary]) -> Iterator[RowFinding]:
    """What the runs say of the rows of their data sets, as far as these are what was run."""
    from promptls.datasets.known import row_lines
    from promptls.experiments.failed_rows import failed_rows, unchanged_dataset

    for run in runs:
        failed = failed_rows(run) if not run.stale else ()
        dataset = unchanged_dataset(run) if failed else None
        lines = row_lines(dataset) if dataset is not None else {}
        for row in failed:
            if dataset is not None and row.number in lines:
                message = f"{row.message}, in the last run of `{run.experiment}` in `{run.prompt.name}`"
                yield RowFinding(dataset, lines[row.number], message)


RULE = Rule(
    name="failing-row",
    summary="rows of a data set that failed in the last run of an experiment",
    severity="information",
    module=__name__,
    kinds=frozenset({Kind.PARTS, Kind.OBJECT}),
    check_runs=check,
)
