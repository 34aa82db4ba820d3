"""The worked tasks of `CONTRIBUTING.md`: their code works as shown."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

from promptls.lint.rule import File
from promptls.metrics.metric import MetricResult, discrete_metric
from promptls.settings.project import Project
from support.fixture import MAIN, opened
from support.metric_tables import rows_of, value_of

PAGE = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text("utf-8")


def code_of(task: str, language: str = "python") -> str:
    """Return the first code block of the section in this language."""
    section = PAGE.partition(f"\n### {task}\n")[2].partition("\n### ")[0]
    block = re.search(rf"^ *(```+){language}\n(.*?)^ *\1$", section, re.DOTALL | re.MULTILINE)
    assert block is not None
    return dedent(block[2])


def test_the_rule_finds_what_its_examples_and_cases_mark() -> None:
    rule: dict[str, Any] = {}
    exec(code_of("Add a rule"), rule)
    examples = rule["__doc__"] + code_of("Add a rule", "markdown")
    path = f"/project/{MAIN}"
    found = []
    for example in re.findall(r"```yaml\n(.*?)```", examples, re.DOTALL):
        snapshot, files = opened(example)
        template = snapshot.template(path)
        assert template is not None
        file = File(snapshot, path, template, snapshot.kind(path), Project())
        spans = [each.span for each in rule["late_system_part"].check(file)]
        assert spans == [mark.span for mark in files[MAIN].marks]
        found.append(len(spans))
    assert found == [1, 0, 1, 0]


def test_the_metric_scores_as_its_page_says() -> None:
    names: dict[str, Any] = {"discrete_metric": discrete_metric, "MetricResult": MetricResult}
    exec(code_of("Add a metric"), names)
    metric = names["starts_with"]
    rows = [*rows_of(dedent("    " + metric.function.__doc__))]
    assert rows
    for row in rows:
        arguments = {name: value_of(cell) for name, cell in row.items()}
        score = arguments.pop("score")
        assert metric.score(**arguments).value == score
