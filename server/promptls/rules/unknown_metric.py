"""An experiment with a metric that is not there.

## What it does

Reports the names under `metrics` of an experiment in the file's header that are neither a ready metric,
nor `file.py:name` with a file beside the prompt that has this name. The file is read, and never run;
where it makes names in a way that reading cannot follow, nothing is said of them.

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
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from promptls.rules.declared_experiments import changed_to, declared_experiments
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule
from promptls.text.nearest import nearest
from promptls.workspace.module_names import names_of_module
from promptls.workspace.python_names import functions_in


class _Objection(NamedTuple):
    """What is wrong with a metric's name, and what it could have been."""

    message: str
    candidates: Iterable[str] = ()


def check(context: FileContext) -> Iterator[Finding]:
    """The names of metrics that lead to none."""
    for experiment in declared_experiments(context):
        for index, name in enumerate(experiment.declared.metrics):
            span = experiment.span(context, "metrics", index)
            objection = None if span is None else _objection(Path(context.path).parent, name)
            if span is None or objection is None:
                continue
            finding = Finding(span, objection.message)
            meant = nearest(name, objection.candidates)
            if meant is not None and meant != name:
                message = f"{objection.message}; did you mean `{meant}`?"
                finding = replace(finding, message=message, fixes=(changed_to(context, span, meant),))
            yield finding


def _objection(folder: Path, name: str) -> _Objection | None:
    file, colon, attribute = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        from promptls.metrics.ready import READY_METRICS

        if name in READY_METRICS:
            return None
        if name.endswith(".py"):
            return _Objection(f"`{name}` names no function: a metric of one's own is `file.py:function`")
        return _Objection(f"there is no metric `{name}`", READY_METRICS)
    path = folder / file
    if not path.is_file():
        others = sorted(path.parent.glob("*.py")) if path.parent.is_dir() else []
        names = [f"{(Path(file).parent / other.name).as_posix()}:{attribute}" for other in others]
        return _Objection(f"there is no file `{file}` beside this prompt", names)
    known = names_of_module(str(path))
    if known is None or attribute in known:
        return None
    functions = [f"{file}:{function.name}" for function in functions_in(str(path)) or ()]
    return _Objection(f"`{file}` has no `{attribute}`", functions)


RULE = Rule(
    name="unknown-metric",
    summary="an experiment with a metric that is not there",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
)
