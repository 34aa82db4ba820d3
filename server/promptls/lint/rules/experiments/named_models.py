"""The models that experiments name.

# unknown-model

Unknown model in an experiment.

## What it does

Reports the names under `models` of an experiment in the file's header, and the `model` and `embeddings`
of its `metrics`, that neither a provider of promptls nor the project's `models` knows. Whether a model
is installed, or its API key is set, is not checked here, but by `promptls doctor`.

Models of experiments in the project's settings are checked too: `promptls check`, `promptls doctor` and
the editor's log report the problems of the settings.

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

# retired-model

Retired model in an experiment.

## What it does

Reports models of experiments and metrics in the file's header that their provider has retired, with the
date. Models in the project's settings are checked too: in `models`, `default_model`, `judge`, experiments
and metrics. The dates are those of OpenAI, Anthropic, Google, Mistral and DeepSeek.
Models of other providers, and of servers of your own, are not reported, even if they have the same name.

## Why is this bad?

Every call of the model fails, or is answered by another model.

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
    models: [openai:gpt-4-32k]
             ^^^^^^^^^^^^^^^^ retired-model: OpenAI retired `gpt-4-32k` on 2025-06-06
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
    models: [anthropic:claude-haiku-4-5]
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

Compare the results of the new model with those of the last run: `promptls compare`.

## Sources

- [OpenAI](https://developers.openai.com/api/docs/deprecations)
- [Anthropic](https://platform.claude.com/docs/en/about-claude/model-deprecations)
- [Google](https://ai.google.dev/gemini-api/docs/deprecations)
- [Mistral](https://docs.mistral.ai/getting-started/models/models_overview)
- [DeepSeek](https://api-docs.deepseek.com/updates)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.lint.analysis.declared_experiments import NameProblem, declared_experiments
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule
from promptls.security.files import current_scope, is_file
from promptls.text.errors import UsageError
from promptls.text.suggest import is_close, nearest

if TYPE_CHECKING:
    from promptls.settings.header import NamedMetric
    from promptls.settings.project import Project


def unknown_model(file: File) -> Iterator[Finding]:
    """Yield the unknown names of models, at their places."""
    yield from dict.fromkeys(_unknown(file))


def _unknown(file: File) -> Iterator[Finding]:
    for experiment in declared_experiments(file):
        for index, name in enumerate(experiment.declared.models):
            span = experiment.span(file, "models", index)
            problem = model_problem(name, file.project, Path(file.path).parent)
            if span is not None and problem is not None:
                yield problem.finding(file, span)
    for name, metric in (file.template.declarations.settings.metrics or {}).items():
        for key, problem in metric_models(metric, file.project):
            span = file.template.declarations.value_span("metrics", name, key)
            if span is not None:
                yield problem.finding(file, span)


def metric_models(metric: NamedMetric, project: Project) -> Iterator[tuple[str, NameProblem]]:
    """Yield the options of a metric that name an unknown model, each with the problem."""
    judge = model_problem(metric.model, project) if metric.model else None
    if judge is not None:
        yield "model", judge
    embeddings = metric.options.get("embeddings")
    maker = _embeddings_problem(embeddings, project) if isinstance(embeddings, str) else None
    if maker is not None:
        yield "embeddings", maker


def _embeddings_problem(name: str, project: Project) -> NameProblem | None:
    """Return the problem of the name of an embedding model, or None."""
    from promptls.models.model_names import LOCAL_EMBEDDINGS, find_embeddings
    from promptls.models.providers import TABLE

    try:
        reference = find_embeddings(name, project.models)
    except UsageError as refused:
        return NameProblem.near(refused.message, name, [*project.models, LOCAL_EMBEDDINGS])
    makes_some = reference.name == LOCAL_EMBEDDINGS or TABLE[reference.provider].route == "chat"
    return None if makes_some else NameProblem(f"`{name}` makes no embeddings", LOCAL_EMBEDDINGS)


def model_problem(name: str, project: Project, folder: Path | None = None) -> NameProblem | None:
    """Return the problem of a model's name; None if a provider or the project's `models` knows the model.

    Recorded answers must exist; they are relative to `folder`.
    """
    from promptls.models.model_names import find_model
    from promptls.models.weights import LOCAL_MODELS

    try:
        find_model(name, project.models)
    except UsageError as refused:
        known = [*project.models, *(f"local:{model}" for model in LOCAL_MODELS), "echo"]
        found = NameProblem.near(refused.message, name, known)
        is_resolved = name in project.models or found.meant is not None
        return found if is_resolved else _foreign_notation(name) or found
    provider, _, model = name.partition(":")
    if provider == "replay" and folder is not None and current_scope().allows(folder / model):
        return None if is_file(folder / model) else NameProblem(f"there is no file `{model}` to replay")
    if name not in project.models and model != model.strip():
        return NameProblem(f"the name of the model in `{name}` begins or ends with a space", _joined(name))
    return None


def _foreign_notation(name: str) -> NameProblem | None:
    """Return the problem of a model's name in the notation of another tool; None if it is not one."""
    from promptls.models.model_names import PROVIDERS

    if name in PROVIDERS:
        return NameProblem(
            f"`{name}` is a provider: a model is named `{name}:` and the provider's name for it"
        )
    provider, mark, model = next(
        (found for sign in ":/" if (found := name.partition(sign))[1]), (name, "", "")
    )
    if not mark:
        return NameProblem(
            f"there is no model `{name}`: it is one of the project's `models`, or `provider:model`"
        )
    known = nearest(provider.replace("_", ""), PROVIDERS)
    meant = f"{known}:{model.strip()}"
    if not model.strip() or meant == name or known is None or not is_close(provider.replace("_", ""), known):
        return None
    return NameProblem(f"there is no model `{name}`", meant)


def _joined(name: str) -> str:
    return ":".join(each.strip() for each in name.split(":", 1))


UNKNOWN_MODEL = Rule(unknown_model, severity="error", kinds=DECLARING_KINDS)


def retired_model(file: File) -> Iterator[Finding]:
    """Yield the retired models, at their names."""
    yield from dict.fromkeys(_retired(file))


def _retired(file: File) -> Iterator[Finding]:
    declarations = file.template.declarations
    named = [
        (experiment.span(file, "models", index), name)
        for experiment in declared_experiments(file)
        for index, name in enumerate(experiment.declared.models)
    ]
    named += [
        (declarations.value_span("metrics", name, "model"), metric.model)
        for name, metric in (declarations.settings.metrics or {}).items()
        if metric.model is not None
    ]
    for span, name in named:
        message = retirement(name, file.project)
        if span is not None and message is not None:
            yield Finding(span, message)


def retirement(name: str, project: Project) -> str | None:
    """Return the message about a retired model; None for any other name."""
    from promptls.models.model_names import find_model, retirement_of

    try:
        reference = find_model(name, project.models)
    except UsageError:
        return None
    found = retirement_of(reference)
    return None if found is None else f"{found.provider} retired `{reference.model}` on {found.date}"


RETIRED_MODEL = Rule(retired_model, "warning", DECLARING_KINDS)
