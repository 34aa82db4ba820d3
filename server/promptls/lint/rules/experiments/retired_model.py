"""Retired model in an experiment.

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
from typing import TYPE_CHECKING

from promptls.lint.analysis.declared_experiments import declared_experiments
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule
from promptls.text.errors import UsageError

if TYPE_CHECKING:
    from promptls.settings.project import Project


def check(file: File) -> Iterator[Finding]:
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


RULE = Rule(check, "warning", DECLARING_KINDS)
