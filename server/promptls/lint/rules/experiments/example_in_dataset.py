"""Example that is also in the dataset it is scored on.

## What it does

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

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from promptls.lint.analysis.declared_experiments import DeclaredExperiment, declared_experiments
from promptls.lint.rule import File, Finding, Rule
from promptls.semantic.kind import Kind
from promptls.semantic.object_data import is_printed


def check(file: File) -> Iterator[Finding]:
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
    """Return the number of the row that has all of the inputs; None if there is none."""
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


RULE = Rule(check, severity="warning", kinds=frozenset({Kind.PARTS, Kind.OBJECT}))
