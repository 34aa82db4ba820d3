"""An experiment with a metric that is not there.

## What it does

Reports the names under `metrics` of an experiment in the file's header that are neither a ready metric,
nor `file.py:name` with a file beside the prompt that has this name. The file is read, and never run;
where it makes names in a way that reading cannot follow, nothing is said of them.

The metrics of experiments in the project's settings are looked at too: `promptls check`, `promptls doctor` and
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

from collections.abc import Iterable, Iterator
from pathlib import Path

from promptls.rules.declared_experiments import Objection, declared_experiments
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule
from promptls.text.nearest import nearest
from promptls.workspace.module_names import names_of_module
from promptls.workspace.python_names import functions_in


def check(context: FileContext) -> Iterator[Finding]:
    """The names of metrics that lead to none."""
    for experiment in declared_experiments(context):
        for index, name in enumerate(experiment.declared.metrics):
            span = experiment.span(context, "metrics", index)
            objection = metric_objection(name, Path(context.path).parent, "this prompt")
            if span is not None and objection is not None:
                yield objection.finding(context, span)


def metric_objection(name: str, folder: Path, beside: str) -> Objection | None:
    """What is wrong with a metric's name, whose file counts from `folder`; None where it leads to one.

    `beside` says in words what the folder is.
    """
    file, colon, attribute = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        from promptls.metrics.registry import READY_METRICS

        if name in READY_METRICS:
            return None
        if name.endswith(".py"):
            return Objection(f"`{name}` names no function: a metric of one's own is `file.py:function`")
        return _near(f"there is no metric `{name}`", name, READY_METRICS)
    path = folder / file
    if not path.is_file():
        others = sorted(path.parent.glob("*.py")) if path.parent.is_dir() else []
        names = [f"{(Path(file).parent / other.name).as_posix()}:{attribute}" for other in others]
        return _near(f"there is no file `{file}` beside {beside}", name, names)
    known = names_of_module(str(path))
    if known is None or attribute in known:
        return None
    functions = [f"{file}:{function.name}" for function in functions_in(str(path)) or ()]
    return _near(f"`{file}` has no `{attribute}`", name, functions)


def _near(message: str, name: str, candidates: Iterable[str]) -> Objection:
    meant = nearest(name, candidates)
    return Objection(message, None if meant == name else meant)


RULE = Rule(
    name="unknown-metric",
    summary="an experiment with a metric that is not there",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
)
