"""An experiment whose data set is not there, or cannot be read.

## What it does

Reports the `dataset` of an experiment in the file's header where there is no such file, where its
ending is none of a data set, and where its columns cannot be read, or, in a file of up to half a
megabyte, one of its rows. The path counts from the prompt file's folder.

The data sets of experiments in the project's settings are looked at too: `promptls check`, `promptls doctor` and
the editor's log say what is wrong in the settings.

## Why is this bad?

The experiment cannot be run.

## Example

```yaml
-- tickets.csv --
text,response
-- main.yml.j2 --
{#---
input_keys: [text]
experiments:
  triage:
    dataset: ticket.csv
             ^^^^^^^^^^ unknown-dataset: there is no file `ticket.csv` beside this prompt; did you mean `tickets.csv`?
    metrics: [json_validity]
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

Use instead:

```yaml
-- tickets.csv --
text,response
-- main.yml.j2 --
{#---
input_keys: [text]
experiments:
  triage:
    dataset: tickets.csv
    metrics: [json_validity]
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.datasets.registry import SUFFIXES
from promptls.rules.facts.declared_experiments import Objection, declared_experiments
from promptls.rules.fixes.near_paths import near_file
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule
from promptls.text.span import Span

_ENDINGS: Final = (".csv", ".jsonl", ".ndjson", ".parquet")
"""The endings that only data sets have: other programs keep JSON files too."""


def check(context: FileContext) -> Iterator[Finding]:
    """The data sets that cannot be read, each where it is named."""
    found: dict[Span, Objection] = {}
    for experiment in declared_experiments(context):
        span = experiment.span(context, "dataset")
        objection = dataset_objection(experiment.declared.dataset, experiment.dataset, "this prompt")
        if span is not None and objection is not None:
            found[span] = objection
    for span, objection in found.items():
        yield objection.finding(context, span)


def dataset_objection(named: str, dataset: Path, beside: str) -> Objection | None:
    """What is wrong with the data set at `dataset`, which is called `named`; None where it can be read.

    `beside` says in words where its path counts from.
    """
    from promptls.datasets.known import known_columns, known_failure

    if not named.strip():
        return Objection("no data set is named")
    if not dataset.is_file():
        message = f"there is no file `{named}` beside {beside}"
        if "://" in named:
            message = f"`{named}` is an address: a data set is a file"
        elif dataset.is_dir():
            message = f"`{named}` is a folder"
        slashes = named.replace("\\", "/")
        is_meant = slashes != named and (dataset.parent / slashes).is_file()
        return Objection(message, slashes if is_meant else _meant(dataset, named))
    failure = known_columns(dataset).failure or known_failure(dataset)
    if failure is None:
        return None
    line = f" in line {failure.place.line + 1}" if failure.place and failure.place.line is not None else ""
    remedy = f"; {failure.remedy}" if dataset.suffix.lower() not in SUFFIXES else ""
    return Objection(f"`{named}` cannot be read{line}: {failure.message}{remedy}")


def _meant(dataset: Path, named: str) -> str | None:
    """The path of a data set that is there and has a name like this one's."""
    own = dataset.suffix.lower()
    return near_file(dataset, named, (*_ENDINGS, own) if own in SUFFIXES else _ENDINGS)


RULE = Rule(
    name="unknown-dataset",
    summary="an experiment whose data set is not there, or cannot be read",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
)
