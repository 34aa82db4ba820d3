"""Example whose row failed in the last run of an experiment.

## What it does

Reports an example in the file's header if the row with the same inputs failed in the last run of one of
its experiments, or if a metric rated the answer as not good. Nothing is reported if the prompt, or a
file that it includes, has changed since the run.

## Why is this bad?

The model does not do what the example shows, although it has seen it: the example contradicts the
instructions, or the expected answer of the dataset.

## Example

```yaml
-- tickets.csv --
text,expected
My card was charged twice.,Payment
-- last-run.csv --
text,expected,response,exact_match,error,row_number
My card was charged twice.,Payment,Billing,fail,,1
-- main.yml.j2 --
{#---
input_keys: [text]
output_key: response
examples:
  - {text: My card was charged twice., response: Billing}
     ^^^^ failing-example: in the last run of `triage`: exact_match says `fail`
experiments:
  triage: {dataset: tickets.csv, metrics: [exact_match]}
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

Use instead:

```yaml
-- tickets.csv --
text,expected
Where is my order?,Shipping
-- last-run.csv --
text,expected,response,exact_match,error,row_number
Where is my order?,Shipping,Shipping,pass,,1
-- main.yml.j2 --
{#---
input_keys: [text]
output_key: response
examples:
  - {text: My card was charged twice., response: Billing}
experiments:
  triage: {dataset: tickets.csv, metrics: [exact_match]}
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.rule import File, Finding, Rule
from promptls.semantic.kind import Kind


def check(file: File) -> Iterator[Finding]:
    """Yield the examples that failed in the latest runs."""
    from promptls.experiments.examples import example_result
    from promptls.experiments.verdicts import describe_failure

    template = file.template
    for experiment in dict.fromkeys(run.experiment for run in file.runs):
        own = [run for run in file.runs if run.experiment == experiment]
        for number, example in enumerate(template.declarations.examples, start=1):
            found = example_result(number, example.data, template.declarations.settings.output_key, own)
            message = describe_failure(found.run, found.cells) if found is not None else None
            if message is not None:
                yield Finding(example.first_key, f"in the last run of `{experiment}`: {message}")


RULE = Rule(check, severity="information", kinds=frozenset({Kind.PARTS, Kind.OBJECT}), needs="runs")
