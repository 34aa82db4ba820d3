"""Metrics with options: names, options and columns are checked where they are declared and used."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.rules.checking.settings_problems import settings_problems
from promptls.workspace.project_settings import find_project
from support.fixture import check_findings

PROMPT = """\
-- rows.csv --
text,label
-- own.py --
from promptls import discrete_metric

@discrete_metric()
def polite(response, judge, tone):
    return "pass"
-- main.yml.j2 --
{#---
input_keys: [text]
METRICS
experiments:
  main:
    dataset: rows.csv
    metrics: [USED]
MARK
---#}
- content: |
    {{ escape_special_characters(text) }}
"""


def declared(metrics: str, used: str = "mine", mark: str = "") -> str:
    text = PROMPT.replace("METRICS", metrics.strip("\n")).replace("USED", used)
    return text.replace("MARK\n", f"{mark}\n" if mark else "")


UNKNOWN = "unknown-metric"


@pytest.mark.parametrize(
    "metrics",
    [
        "metrics: {mine: {use: exact_match, columns: {expected: label}, ignore_case: true}}",
        "metrics: {mine: {use: aspect_critic, definition: Is it polite?, model: echo, repeats: 3}}",
        "metrics: {mine: {use: faithfulness, columns: {user_input: text}}}",
        "metrics: {mine: {use: 'own.py:polite', tone: warm}}",
        "metrics: {mine: {use: answer_relevancy, embeddings: 'openai:text-embedding-3-small'}}",
    ],
)
def test_a_metric_with_options_is_known(metrics: str, tmp_path: Path) -> None:
    check_findings(declared(metrics), UNKNOWN, tmp_path)


THRESHOLDS = """\
-- own.py --
@discrete_metric(name="politeness", allowed_values=["yes", "no"])
def polite(response): ...

made = polite
-- rows.csv --
id,expected
-- main.yml.j2 --
{#---
metrics: {mine: {use: exact_match}}
experiments:
  one:
    dataset: rows.csv
    metrics: USED
    thresholds: {GIVEN: 0.5}
MARK
---#}
- name: a
  content: hi
"""


@pytest.mark.parametrize(
    ("used", "given", "mark"),
    [
        ("[exact_match]", "exact_match", ""),
        ("[mine]", "mine", ""),
        ("['own.py:polite']", "politeness", ""),
        (
            "['own.py:polite']",
            "polite",
            (
                "                 ^^^^^^ unknown-metric: the experiment has no metric `polite`; "
                "did you mean `politeness`?"
            ),
        ),
        (
            "['own.py:polite']",
            "own.py:polite",
            (
                "                 ^^^^^^^^^^^^^ unknown-metric: the experiment has no metric "
                "`own.py:polite`; did you mean `politeness`?"
            ),
        ),
        ("['own.py:made']", "anything", ""),
        (
            "[mine, exact_match]",
            "exact_mach",
            (
                "                 ^^^^^^^^^^ unknown-metric: the experiment has no metric `exact_mach`; "
                "did you mean `exact_match`?"
            ),
        ),
        (
            "['own.py:polite']",
            "rudeness",
            "                 ^^^^^^^^ unknown-metric: the experiment has no metric `rudeness`",
        ),
    ],
)
def test_a_threshold_is_for_a_metric_of_the_experiment(
    used: str, given: str, mark: str, tmp_path: Path
) -> None:
    text = THRESHOLDS.replace("USED", used).replace("GIVEN", given)
    check_findings(text.replace("MARK\n", f"{mark}\n" if mark else ""), UNKNOWN, tmp_path)


@pytest.mark.parametrize(
    ("metrics", "mark"),
    [
        (
            """
metrics:
  mine:
    use: aspect_critik
         ^^^^^^^^^^^^^ unknown-metric: there is no metric `aspect_critik`; did you mean `aspect_critic`?
""",
            "",
        ),
        (
            """
metrics:
  mine:
    use: aspect_critic
    defnition: Is it polite?
    ^^^^^^^^^ unknown-metric: `aspect_critic` takes no `defnition`; did you mean `definition`?
""",
            "",
        ),
        (
            """
metrics:
  mine:
    use: exact_match
    columns: {wanted: label}
              ^^^^^^ unknown-metric
""",
            "",
        ),
        (
            """
metrics:
  mime: {use: exact_match}
""",
            "              ^^^^ unknown-metric: there is no metric `mine`; did you mean `mime`?",
        ),
    ],
)
def test_what_is_wrong_with_it_is_said_where_it_stands(metrics: str, mark: str, tmp_path: Path) -> None:
    check_findings(declared(metrics, mark=mark), UNKNOWN, tmp_path)


@pytest.mark.parametrize(
    ("metrics", "mark"),
    [
        ("metrics: {mine: {use: exact_match, columns: {expected: label}}}", ""),
        ("metrics: {mine: {use: exact_match, expected: P1}}", ""),
        (
            "metrics: {mine: {use: exact_match, columns: {expected: lable}}}",
            (
                "              ^^^^ missing-dataset-column: `rows.csv` has no column `lable`, which is the "
                "`expected` of `mine`; did you mean `label`?"
            ),
        ),
        (
            "metrics: {mine: {use: aspect_critic}}",
            (
                "              ^^^^ missing-dataset-column: `rows.csv` has no column for the parameter "
                "`definition` of `mine`"
            ),
        ),
    ],
)
def test_columns_that_it_needs_are_looked_for(metrics: str, mark: str, tmp_path: Path) -> None:
    check_findings(declared(metrics, mark=mark), "missing-dataset-column", tmp_path)


def test_metrics_of_a_project_are_checked_in_its_settings(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text(
        'judge = "local:smollm9"\n'
        '[metrics.polite]\nuse = "aspect_critic"\ndefinitions = "Is it polite?"\n'
        '[metrics.other]\nuse = "exact_mach"\n'
        '[experiments.main]\ndataset = "rows.csv"\nmetrics = ["polite"]\n',
        "utf-8",
    )
    (tmp_path / "rows.csv").write_text("text\n", "utf-8")
    messages = [problem.message for problem in settings_problems(find_project(tmp_path / "a.yml.j2"))]
    assert messages == [
        "`judge`: there is no model `local:smollm9`; did you mean `local:smollm2`?",
        "metric `polite`: `aspect_critic` takes no `definitions`; did you mean `definition`?",
        "metric `other`: there is no metric `exact_mach`; did you mean `exact_match`?",
    ]
