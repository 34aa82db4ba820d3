"""Unknown metric in an experiment.

## What it does

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
from typing import TYPE_CHECKING, Any, Final

from promptls.lint.analysis.declared_experiments import (
    NameProblem,
    declared_experiments,
    named_metrics,
    wrong_options,
    wrong_thresholds,
)
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule
from promptls.security.files import current_scope, is_file, names_in
from promptls.syntax.yaml.nodes import Mapping
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest
from promptls.workspace.python_functions import functions_in, names_of_module, plain_names

if TYPE_CHECKING:
    from promptls.settings.header import NamedMetric


_BACKSLASH: Final = "\\"
_OF_FIELD: Final = "json_field_match"
_OPEN_ENDED: Final = frozenset({"allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if"})
"""Keywords of a schema that may add properties."""
_MODULE_AND_NAME: Final = re.compile(r"([\w./\\-]+?)(?:\.py)?(?:::|[:.])(\w+)(?:\(\))?")
"""A file or module and a function, as other tools write them."""


def check(file: File) -> Iterator[Finding]:
    """Yield the unknown names of metrics, at their places."""
    yield from dict.fromkeys(_unknown(file))


def _unknown(file: File) -> Iterator[Finding]:
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
        for threshold, wrong in wrong_thresholds(experiment.declared, folder, named) if are_there else ():
            span = _key_span(file, ("experiments", experiment.name, "thresholds"), threshold)
            if span is not None:
                yield wrong.finding(file, span)
    for name, metric in (settings.metrics or {}).items():
        yield from _in_named(file, name, metric, folder)
        meant = next((each for each in sorted(used - named.keys()) if is_typo(name, each)), None)
        span = _key_span(file, ("metrics",), name)
        if span is not None and meant is not None and name not in used:
            problem = NameProblem(f"no experiment uses `{name}`", meant, is_sure=False)
            yield replace(problem.finding(file, span), severity="warning")


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
    node: Any = file.template.declarations.tree
    for step in path:
        node = node.value(step) if isinstance(node, Mapping) else None
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
        return NameProblem.near(f"there is no metric `{name}`", name, [*named, *BUILTIN_METRICS])
    if not attribute:
        return NameProblem(f"`{name}` names no function: a custom metric is `file.py:function`")
    path = folder / file
    if not current_scope().allows(path):
        return None
    if not is_file(path) and "\\" in file and is_file(folder / file.replace("\\", "/")):
        slashes = f"{file.replace(_BACKSLASH, '/')}:{attribute}"
        return NameProblem(f"there is no file `{file}` next to {owner}", slashes)
    if not is_file(path):
        others = [other for other in names_in(path.parent) if other.endswith(".py")]
        names = [f"{(Path(file).parent / other).as_posix()}:{attribute}" for other in others]
        return NameProblem.near(f"there is no file `{file}` next to {owner}", name, names)
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
    functions = functions_in(str(folder / file)) or ()
    return f"{file}:{match[2]}" if any(each.name == match[2] for each in functions) else None


RULE = Rule(check, severity="error", kinds=DECLARING_KINDS)
