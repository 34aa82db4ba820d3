"""Every marked place, and no other one, is an occurrence of a name that prompts share with programs, data and
settings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.navigation import declaration_steps, definition_steps
from promptls.text.steps import finish
from support.fixture import opened
from support.marked_occurrences import check_occurrences

CASES = {
    "a metric": """\
{#---
experiments:
  e: {dataset: d.csv, metrics: ["sub/../m.py:right", far], thresholds: {right: 1, far: 1}}
                                             ^^^^^ read
                                                                        ^^^^^ read
metrics:
  far: {use: "m.py:right"}
                   ^^^^^ read
---#}
- name: a
  content: right
-- m.py --
from promptls import discrete_metric
@discrete_metric()
def right(response): return right
    ^^^^^ declaration
                            ^^^^^ read
-- promptls.toml --
[experiments.all.thresholds]
right = 1
^^^^^ read
[experiments.all]
dataset = "right"
metrics = ["m.py:right"]
                 ^^^^^ read
-- tests.py --
import m as metrics
from m import right as mine
              ^^^^^ read
assert metrics.ri<CURSOR>ght == mine != other.right
               ^^^^^ read
""",
    "a metric whose decorator names it": """\
{#---
experiments:
  e: {dataset: d.csv, metrics: ["m.py:right"], thresholds: {right: 1}}
                                      ^^^^^ read
---#}
- name: a
  content: right
-- m.py --
from promptls import discrete_metric
@discrete_metric(name="right")
def ri<CURSOR>ght(response): return 1
    ^^^^^ declaration
""",
    "a column with what takes it": """\
{#---
experiments:
  e: {dataset: rows.jsonl, metrics: ["m.py:right", "m.py:wrong", near]}
metrics:
  near: {use: levenshtein, columns: {expected: label}}
                                               ^^^^^ read
---#}
- name: a
  content: label
-- m.py --
def right(response, row): return row["label"], row.get("label"), label
                                      ^^^^^ read
                                                        ^^^^^ read
def wrong(label=1): return {"label": 2}
-- rows.jsonl --
{"id": 1, "label": 2, "more": {"label": 3}}
           ^^^^^ write
{"la<CURSOR>bel": "label"}
  ^^^^^ write
""",
    "a model": """\
{#---
experiments:
  e: {dataset: rows.csv, models: [office, "x:office"]}
                                  ^^^^^^ read
---#}
- name: a
  content: office
-- promptls.toml --
default_model = "office"
                 ^^^^^^ read
[models.of<CURSOR>fice]
        ^^^^^^ declaration
model = "office"
""",
    "a metric with options of a header hides that of the settings": """\
{#---
metrics: {near: {use: exact_match}}
          ^^^^ declaration
experiments: {e: {dataset: rows.csv, metrics: [ne<CURSOR>ar]}}
                                               ^^^^ read
---#}
- name: a
  content: near
-- promptls.toml --
[metrics.near]
use = "levenshtein"
-- second.yml.j2 --
{#---
experiments: {e: {dataset: rows.csv, metrics: [near]}}
---#}
- name: a
  content: x
""",
}


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES.keys())
def test_the_marked_places_are_all_occurrences(fixture: str, tmp_path: Path) -> None:
    check_occurrences(fixture, tmp_path)


LOADED = """\
{#---
experiments: {e: {dataset: rows.csv, metrics: [near]}}
metrics: {near: {use: "m.py:right"}}
---#}
- name: a
  content: "{{ text }}"
-- rows.csv --
text
-- m.py --
def right(response): return 1
-- evals.py --
from promptls import Dataset, experiment, load
@experiment()
async def triage(row, prompt_file): return load("main.yml.j2").render(text=row["text"])
rows = Dataset.load(name="rows", backend="local/csv", root_dir=".")
"""


@pytest.mark.parametrize(
    ("words", "definition", "declaration"),
    [
        ('name="ro|ws"', "rows.csv:0", "rows.csv:0"),
        ('load("ma|in.yml.j2")', "main.yml.j2:0", "main.yml.j2:0"),
        ("render(te|xt=", "evals.py:2", "evals.py:2"),
        ("async def tri|age", "evals.py:2", "evals.py:2"),
        ("metrics: [ne|ar]", "m.py:0", "main.yml.j2:2"),
    ],
)
def test_a_name_leads_to_what_it_is(words: str, definition: str, declaration: str, tmp_path: Path) -> None:
    snapshot, files = opened(LOADED, tmp_path)
    before, _, behind = words.partition("|")
    (name,) = (name for name, marked in files.items() if before + behind in marked.text)
    offset = files[name].text.index(before + behind) + len(before)

    found = []
    for steps in (definition_steps, declaration_steps):
        (target, *_) = finish(steps(snapshot, str(tmp_path / name), offset))
        template = snapshot.template(target.path)
        assert template is not None
        found.append(f"{Path(target.path).name}:{template.source.line_column(target.span.start).line}")

    assert found == [definition, declaration]
