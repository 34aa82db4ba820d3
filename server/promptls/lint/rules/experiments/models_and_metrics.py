"""The models and metrics that experiments name.

# unknown-model

Unknown model in an experiment.

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

# unknown-metric

Unknown metric in an experiment.

Reports the names under `metrics` of an experiment in the file's header that are neither a built-in
metric nor `file.py:name`, the name of a metric in a file relative to the prompt. The file is read but
never run; names that it creates dynamically are not reported. A name may also be defined under `metrics`
in the header or the settings: its `use` must be the name of a metric, and its other keys must be options
that the metric accepts, with values that a built-in metric accepts; the `field` of `json_field_match` must be in the `output_schema`. The keys of `thresholds` must be metrics of the experiment; they are not checked
if one of your metrics may have a name other than that of its function.

In tests that use the fixture of the pytest plugin, names of experiments and of metrics are checked in the same way.

Metrics of experiments in the project's settings are checked too: `promptls check`, `promptls doctor` and
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
    metrics: [exact_mach]
              ^^^^^^^^^^ unknown-metric: there is no metric `exact_mach`; did you mean `exact_match`?
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
    metrics: [exact_match]
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.lint.analysis.declared_experiments import (
    DeclaredExperiment,
    NameProblem,
    declared_experiments,
    named_metrics,
    place_in_data,
    wrong_options,
    wrong_thresholds,
)
from promptls.lint.rule import DECLARING_KINDS, File, Finding, rule
from promptls.security.files import current_scope, is_file, names_in
from promptls.syntax.yaml.nodes import Mapping, node_at
from promptls.text.errors import FilePlace, UsageError
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo, nearest
from promptls.workspace.python_functions import (
    function_in,
    functions_in,
    names_of_module,
    plain_names,
    syntax_error_in,
)

if TYPE_CHECKING:
    from promptls.settings.header import NamedMetric
    from promptls.settings.project import Project


@rule(severity="error", kinds=DECLARING_KINDS)
def unknown_model(file: File) -> Iterator[Finding]:
    """Yield the unknown names of models, at their places."""
    for experiment in declared_experiments(file):
        for index, name in enumerate(experiment.declared.models):
            span = experiment.span(file, "models", index)
            problem = model_problem(name, file.project, Path(file.path).parent)
            if span is not None and problem is not None:
                yield problem.finding(file, span)
    for name, metric in file.template.declarations.settings.metrics.items():
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
    from promptls.models.model_names import LOCAL_EMBEDDINGS, find_embeddings
    from promptls.models.providers import TABLE

    try:
        reference = find_embeddings(name, project.models)
    except UsageError as refused:
        return NameProblem.near(refused.message, name, [*project.models, LOCAL_EMBEDDINGS])
    makes_some = reference.name == LOCAL_EMBEDDINGS or TABLE[reference.provider].route == "chat"
    return None if makes_some else NameProblem(f"`{name}` is not an embedding model", LOCAL_EMBEDDINGS)


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


@rule(severity="warning", kinds=DECLARING_KINDS)
def retired_model(file: File) -> Iterator[Finding]:
    """Yield the retired models, at their names."""
    declarations = file.template.declarations
    named = [
        (experiment.span(file, "models", index), name)
        for experiment in declared_experiments(file)
        for index, name in enumerate(experiment.declared.models)
    ]
    named += [
        (declarations.value_span("metrics", name, "model"), metric.model)
        for name, metric in declarations.settings.metrics.items()
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


_BACKSLASH: Final = "\\"
_OF_FIELD: Final = "json_field_match"
_OPEN_ENDED: Final = frozenset({"allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if"})
"""Keywords of a schema that may add properties."""
_MODULE_AND_NAME: Final = re.compile(r"([\w./\\-]+?)(?:\.py)?(?:::|[:.])(\w+)(?:\(\))?")
"""A file or module and a function, as other tools write them."""


@rule(severity="error", kinds=DECLARING_KINDS)
def unknown_metric(file: File) -> Iterator[Finding]:
    """Yield the unknown names of metrics, at their places."""
    settings = file.template.declarations.settings
    if not (settings.experiments or settings.metrics):
        return
    folder = Path(file.path).parent
    named = named_metrics(file)
    used = {name for each in declared_experiments(file) for name in each.declared.metrics}
    for experiment in declared_experiments(file):
        are_there = True
        for index, name in enumerate(experiment.declared.metrics):
            span = experiment.span(file, "metrics", index)
            problem = metric_problem(name, folder, "this prompt", named)
            if span is not None and problem is not None:
                are_there = False
                # If nothing uses the declared name, the typo may be in the declaration.
                is_sure = problem.meant not in named or problem.meant in used
                yield problem._replace(is_sure=is_sure).finding(file, span)
        yield from _same_names(file, experiment, named) if are_there else ()
        for threshold, wrong in wrong_thresholds(experiment.declared, folder, named) if are_there else ():
            span = _key_span(file, ("experiments", experiment.name, "thresholds"), threshold)
            if span is not None:
                yield wrong.finding(file, span)
    for name, metric in settings.metrics.items():
        yield from _in_named(file, name, metric, folder)
        meant = next((each for each in sorted(used - named.keys()) if is_typo(name, each)), None)
        span = _key_span(file, ("metrics",), name)
        if span is not None and meant is not None and name not in used:
            problem = NameProblem(f"no experiment uses `{name}`", meant, is_sure=False)
            yield replace(problem.finding(file, span), severity="warning")


def _same_names(file: File, experiment: DeclaredExperiment, named: Iterable[str]) -> Iterator[Finding]:
    """Yield the metrics whose results have the name of an earlier metric of the experiment."""
    first: dict[str, str] = {}
    for index, metric in enumerate(experiment.declared.metrics):
        name = metric if metric in named else _name_of_results(metric, Path(file.path).parent)
        span = experiment.span(file, "metrics", index)
        if name in first and span is not None:
            message = (
                f"`{first[name]}` and `{metric}` are both named `{name}`: rename one, or one has no scores"
            )
            if first[name] == metric:
                message = f"the experiment has `{metric}` twice: remove one"
            yield Finding(span, message)
        first.setdefault(name, metric)


def _name_of_results(metric: str, folder: Path) -> str:
    """Return the name that a metric's decorator gives, or that of its function."""
    file, _, attribute = metric.rpartition(":")
    function = function_in(folder / file, attribute) if file.endswith(".py") else None
    return (function.metric_name if function is not None else None) or attribute


def _in_named(file: File, name: str, metric: NamedMetric, folder: Path) -> Iterator[Finding]:
    """Yield the problems of a metric with a name and options in the file."""
    span = file.template.declarations.value_span("metrics", name, "use")
    problem = metric_problem(metric.use, folder, "this prompt")
    if span is not None and problem is not None:
        yield problem.finding(file, span)
    field = file.template.declarations.value_span("metrics", name, "field")
    if field is not None and metric.use == _OF_FIELD and (absent := _absent_field(file, metric)) is not None:
        yield absent.finding(file, field)
    for wrong in wrong_options(metric, folder):
        keys = ("metrics", name, "columns") if wrong.below else ("metrics", name)
        option = _key_span(file, keys, wrong.name)
        if option is not None:
            yield NameProblem(wrong.message, wrong.meant).finding(file, option)


def _absent_field(file: File, metric: NamedMetric) -> NameProblem | None:
    """Return the problem of a field that the `output_schema` of the prompt does not have."""
    schema = file.template.declarations.settings.output_schema or {}
    fields = schema.get("properties")
    field = metric.options.get("field")
    if not isinstance(fields, dict) or not isinstance(field, str) or schema.keys() & _OPEN_ENDED:
        return None
    if field.partition(".")[0] in fields:
        return None
    found = NameProblem.near(f"`output_schema` has no property `{field}`", field, fields)
    return found if found.meant or schema.get("additionalProperties") is False else None


def _key_span(file: File, path: tuple[str, ...], key: str) -> Span | None:
    node = node_at(file.template.declarations.tree, path)
    entry = node.entry(key) if isinstance(node, Mapping) else None
    return entry.key.span if entry is not None else None


def metric_problem(name: str, folder: Path, owner: str, named: Iterable[str] = ()) -> NameProblem | None:
    """Return the problem of a metric's name, or None; its file is relative to `folder`.

    `owner` describes the folder for messages; `named` are the names of metrics with options.
    """
    if name in named:
        return None
    file, colon, attribute = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        from promptls.metrics.builtin_metrics import BUILTIN_METRICS

        if name in BUILTIN_METRICS:
            return None
        if name.endswith(".py"):
            return NameProblem(f"`{name}` names no function: a custom metric is `file.py:function`")
        own = _own_metric(name, folder)
        if own is not None:
            return NameProblem(f"a custom metric is `file.py:function`, not `{name}`", own)
        near = NameProblem.near(f"there is no metric `{name}`", name, [*named, *BUILTIN_METRICS])
        if near.meant is None:
            return NameProblem(f"{near.message}: it is built in, under `metrics`, or `file.py:function`")
        return near
    if not attribute:
        return NameProblem(f"`{name}` names no function: a custom metric is `file.py:function`")
    return _problem_in_file(folder, file, attribute, owner) if current_scope().allows(folder / file) else None


def _problem_in_file(folder: Path, file: str, attribute: str, owner: str) -> NameProblem | None:
    """Return the problem of a metric `attribute` in a Python file, or None."""
    path = folder / file
    if not is_file(path) and "\\" in file and is_file(folder / file.replace("\\", "/")):
        slashes = f"{file.replace(_BACKSLASH, '/')}:{attribute}"
        return NameProblem(f"there is no file `{file}` next to {owner}", slashes)
    if not is_file(path):
        others = [other for other in names_in(path.parent) if other.endswith(".py")]
        names = [f"{(Path(file).parent / other).as_posix()}:{attribute}" for other in others]
        return NameProblem.near(f"there is no file `{file}` next to {owner}", f"{file}:{attribute}", names)
    if (error := syntax_error_in(str(path))) is not None:
        message, line = error
        place = place_in_data(path, FilePlace(path, line), "the error")
        return NameProblem(f"`{file}` is not Python in line {line + 1}: {message}", related=(place,))
    functions = {
        function.metric_name or function.name: function.name for function in functions_in(str(path)) or ()
    }
    if attribute in plain_names(str(path)):
        return NameProblem(f"`{attribute}` of `{file}` is not a function")
    known = names_of_module(str(path))
    if known is None or attribute in known:
        return None
    meant = functions.get(attribute) or nearest(attribute, functions.values())
    return NameProblem(f"`{file}` has no `{attribute}`", f"{file}:{meant}" if meant else None)


def _own_metric(name: str, folder: Path) -> str | None:
    """Return the user's metric that is meant if its file and function use another notation."""
    match = _MODULE_AND_NAME.fullmatch(name)
    if match is None:
        return None
    file = f"{match[1].replace('.', '/').replace(_BACKSLASH, '/')}.py"
    return f"{file}:{match[2]}" if function_in(folder / file, match[2]) is not None else None
