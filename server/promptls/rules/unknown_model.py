"""An experiment with a model that nobody knows.

## What it does

Reports the names under `models` of an experiment in the file's header that neither a provider of
promptls nor the project's `models` knows. Whether a model is installed, or has its key, is no
matter here: `promptls doctor` says that.

## Why is this bad?

The experiment cannot be run.

## Example

```yaml
-- tickets.csv --
text,expected
-- main.yml.j2 --
{#---
input_keys: [text]
experiments:
  triage:
    dataset: tickets.csv
    models: [local:smollm]
             ^^^^^^^^^^^^ unknown-model: there is no model `local:smollm`; did you mean `local:smollm2`?
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

Use instead:

```yaml
-- tickets.csv --
text,expected
-- main.yml.j2 --
{#---
input_keys: [text]
experiments:
  triage:
    dataset: tickets.csv
    models: [local:smollm2]
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.declared_experiments import changed_to, declared_experiments
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule
from promptls.text.failure import WrongUse
from promptls.text.nearest import nearest


def check(context: FileContext) -> Iterator[Finding]:
    """The names of models that lead to none."""
    for experiment in declared_experiments(context):
        for index, name in enumerate(experiment.declared.models):
            span = experiment.span(context, "models", index)
            message = None if span is None else _objection(context, name)
            if span is None or message is None:
                continue
            meant = nearest(name, _known(context))
            if meant is None or meant == name:
                yield Finding(span, message)
            else:
                fix = changed_to(context, span, meant)
                yield Finding(span, f"{message}; did you mean `{meant}`?", (fix,))


def _objection(context: FileContext, name: str) -> str | None:
    """What is wrong with a model's name; None where nothing is."""
    from promptls.models.registry import find_model

    try:
        find_model(name, context.project.models)
    except WrongUse as refused:
        return refused.message
    return None


def _known(context: FileContext) -> list[str]:
    from promptls.models.weights import LOCAL_MODELS

    return [*context.project.models, *(f"local:{model}" for model in LOCAL_MODELS), "echo"]


RULE = Rule(
    name="unknown-model",
    summary="an experiment with a model that nobody knows",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
)
