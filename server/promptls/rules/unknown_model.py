"""An experiment with a model that nobody knows.

## What it does

Reports the names under `models` of an experiment in the file's header that neither a provider of
promptls nor the project's `models` knows. Whether a model is installed, or has its key, is no
matter here: `promptls doctor` says that.

The models of experiments in the project's settings are looked at too: `promptls check`, `promptls doctor` and
the editor's log say what is wrong in the settings.

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
from typing import TYPE_CHECKING

from promptls.rules.declared_experiments import Objection, declared_experiments
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule
from promptls.text.failure import WrongUse
from promptls.text.nearest import nearest

if TYPE_CHECKING:
    from promptls.settings.project import Project


def check(context: FileContext) -> Iterator[Finding]:
    """The names of models that lead to none."""
    for experiment in declared_experiments(context):
        for index, name in enumerate(experiment.declared.models):
            span = experiment.span(context, "models", index)
            objection = model_objection(name, context.project)
            if span is not None and objection is not None:
                yield objection.finding(context, span)


def model_objection(name: str, project: Project) -> Objection | None:
    """What is wrong with a model's name; None where a provider or the project's `models` knows it."""
    from promptls.models.registry import find_model
    from promptls.models.weights import LOCAL_MODELS

    try:
        find_model(name, project.models)
    except WrongUse as refused:
        meant = nearest(name, [*project.models, *(f"local:{model}" for model in LOCAL_MODELS), "echo"])
        return Objection(refused.message, None if meant == name else meant)
    return None


RULE = Rule(
    name="unknown-model",
    summary="an experiment with a model that nobody knows",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
)
