"""A rename started in a Python file, in data or in the settings changes the same places as one started in a
prompt.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.rename import prepare_steps, rename_steps
from promptls.text.steps import finish
from support.fixture import opened, parse
from support.renaming import applied, cursor_of, workspace_of

METRIC = """\
{#---
experiments:
  e:
    dataset: rows.csv
    metrics: ["metrics.py:{right}", "metrics.py:other", mine]
    thresholds: {{right}: 0.5, other: 1}
metrics:
  mine: {use: "metrics.py:{right}", columns: {response: text}}
---#}
- name: a
  content: "{{ text }} right"
-- promptls.toml --
[metrics.project]
use = "metrics.py:{right}"
[experiments.all]
dataset = "rows.csv"
metrics = ["metrics.py:{right}"]
thresholds = {{right} = 0.5}
-- rows.csv --
text,id
-- metrics.py --
from promptls import discrete_metric
__all__ = ["{right}"]
@discrete_metric(allowed_values=["pass", "fail"])
def {right}(response): return "right"
def other(response): return {right}(response)
-- evals.py --
from promptls import experiment
import metrics
from metrics import {right} as mine
from metrics import {right}
@experiment()
def run(row): return metrics.{right}(row), {right}(row), mine(row), other.right
-- other.py --
from elsewhere import right
def f(): return right()
"""
METRIC_PLACES = {
    "its def": ("def {right}(", "def ri<CURSOR>ght("),
    "a use in its file": ("return {right}(response)", "return <CURSOR>right(response)"),
    "its import": ("import {right}\n", "import right<CURSOR>\n"),
    "an attribute of its module": ("metrics.{right}(row)", "metrics.ri<CURSOR>ght(row)"),
    "the header": ('metrics: ["metrics.py:{right}"', 'metrics: ["metrics.py:ri<CURSOR>ght"'),
    "a threshold of the header": ("{{right}: 0.5", "{ri<CURSOR>ght: 0.5"),
    "a metric with options": ('mine: {use: "metrics.py:{right}"', 'mine: {use: "metrics.py:r<CURSOR>ight"'),
    "the settings": ('use = "metrics.py:{right}"', 'use = "metrics.py:ri<CURSOR>ght"'),
    "an experiment of the settings": (
        'metrics = ["metrics.py:{right}"]',
        'metrics = ["metrics.py:right<CURSOR>"]',
    ),
}
DATA = """\
{#---
input_keys: [{subject}, other]
samples: samples.yml
examples: [{{subject}: a, label: b}]
output_key: answer
experiments:
  e: {dataset: rows.csv, metrics: ["metrics.py:right", mine]}
metrics:
  mine: {use: "metrics.py:far", columns: {text: {subject}}}
---#}
- name: a
  content: "{{ {subject} }} {{ other }} subject"
-- rows.csv --
id,{subject},label
1,subject,x
-- samples.yml --
one: {{subject}: subject}
-- metrics.py --
from promptls import numeric_metric
def right(response, row): return row['{subject}'] == "subject"
def far(response, text): return text
-- app.py --
import promptls
promptls.load("main.yml.j2").render({"{subject}": subject}, other=1)
promptls.load("main.yml.j2").render({subject}=subject, other="subject")
-- evals.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"subject": row["{subject}"], "x": row.get("{subject}"), "id": row["id"]}
rows = Dataset.load(name="rows", backend="local/csv", root_dir=".")
"""
DATA_PLACES = {
    "the column of a dataset": ("id,{subject},", "id,sub<CURSOR>ject,"),
    "a key of a sample": ("one: {{subject}:", "one: {sub<CURSOR>ject:"),
    "a key of a dict that is rendered": ('{"{subject}"', '{"sub<CURSOR>ject"'),
    "a keyword that is rendered": ("render({subject}=", "render(<CURSOR>subject="),
    "a key of a row": ('row["{subject}"]', 'row["subject<CURSOR>"]'),
    "a key that a row is asked for": ('row.get("{subject}")', 'row.get("<CURSOR>subject")'),
    "the declaration": ("input_keys: [{subject}", "input_keys: [sub<CURSOR>ject"),
    "an example": ("examples: [{{subject}:", "examples: [{<CURSOR>subject:"),
}
COLUMN = """\
{#---
output_key: answer
experiments:
  e: {dataset: rows.jsonl, metrics: ["metrics.py:right", mine]}
metrics:
  mine: {use: "metrics.py:far", columns: {text: {label}}}
---#}
- name: a
  content: "{{ text }} label"
-- rows.jsonl --
{"text": "label", "{label}": "x", "more": {"label": 1}}
{"text": "b", "{label}": "y"}
-- metrics.py --
def right(response, row): return row["{label}"] == label
def far(response, text): return text
-- evals.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"label": row["{label}"]}
rows = Dataset.load(name="rows", backend="local/jsonl", root_dir=".")
"""
COLUMN_PLACES = {
    "the first row": ('"{label}": "x"', '"lab<CURSOR>el": "x"'),
    "another row": ('"{label}": "y"', '"<CURSOR>label": "y"'),
    "a key of a row": ('return {"label": row["{label}"]', 'return {"label": row["la<CURSOR>bel"]'),
}
NAMES = """\
{#---
experiments:
  e: {dataset: rows.csv, models: [{office}, "local:smollm2"], metrics: [{near}], thresholds: {{near}: 0.5}}
---#}
- name: a
  content: "{{ text }} office near"
-- promptls.toml --
default_model = "{office}"
judge = "{office}" # office near
[models.{office}]
provider = "openai"
model = "office"
[models.{office}.parameters]
office = 1
[metrics.{near}]
use = "levenshtein"
model = "{office}"
[experiments.near]
dataset = "office"
models = ["{office}"]
metrics = ["{near}", "exact_match"]
thresholds.{near} = 0.5
-- second.yml.j2 --
{#---
metrics: {near: {use: exact_match, model: {office}}}
experiments: {e: {dataset: rows.csv, metrics: [near]}}
---#}
- name: a
  content: x
-- rows.csv --
text
"""
MODEL_PLACES = {
    "its table": ("[models.{office}]", "[models.off<CURSOR>ice]"),
    "a value of the settings": ('judge = "{office}"', 'judge = "office<CURSOR>"'),
    "a list of the settings": ('models = ["{office}"]', 'models = ["<CURSOR>office"]'),
    "the header": ("models: [{office},", "models: [off<CURSOR>ice,"),
    "a metric of a header": ("model: {office}}", "model: off<CURSOR>ice}"),
}
NAMED_METRIC_PLACES = {
    "its table": ("[metrics.{near}]", "[metrics.ne<CURSOR>ar]"),
    "an experiment of the settings": ('metrics = ["{near}"', 'metrics = ["nea<CURSOR>r"'),
    "a threshold of the settings": ("thresholds.{near}", "thresholds.ne<CURSOR>ar"),
    "the header": ("metrics: [{near}]", "metrics: [<CURSOR>near]"),
    "a threshold of the header": ("{{near}: 0.5", "{near<CURSOR>: 0.5"),
}
EXPERIMENT = """\
- name: a
  content: x
-- evals.py --
from promptls import experiment
@experiment()
async def {triage}(row): return "triage"
async def main(): await {triage}.arun([])
-- start.py --
from evals import {triage}
{triage}.arun([])
"""
EXPERIMENT_PLACES = {
    "its def": ("def {triage}(", "def tri<CURSOR>age("),
    "another file": ("\n{triage}.arun", "\ntria<CURSOR>ge.arun"),
}
PROJECT = """\
- name: a
  content: "{{ {subject} }} {{ escape_special_characters(other) }}"
-- promptls.toml --
[metrics.mine]
use = "metrics.py:far"
columns = {text = "{subject}"}
[experiments.all]
dataset = "rows.csv"
metrics = ["metrics.py:right", "mine"]
-- second.yml.j2 --
- name: a
  content: "{{ {subject} }}"
-- third.yml.j2 --
- name: a
  content: "{{ subject }}{{ no_column }}"
-- rows.csv --
{subject},other
-- metrics.py --
def right(response, row): return row.get("{subject}")
def far(response, text): return 1
"""
PROJECT_PLACES = {
    "the dataset": ("{subject},other", "sub<CURSOR>ject,other"),
    "an option of the settings": ('text = "{subject}"', 'text = "sub<CURSOR>ject"'),
    "another prompt": ('{{ {subject} }}"\n-- third', '{{ sub<CURSOR>ject }}"\n-- third'),
}
CASES = [
    (name, place, fixture, old, new, *cursor)
    for name, fixture, old, new, places in (
        ("a metric", METRIC, "right", "exact", METRIC_PLACES),
        ("an input", DATA, "subject", "topic", DATA_PLACES),
        ("an input of the project's rows", PROJECT, "subject", "topic", PROJECT_PLACES),
        ("a column", COLUMN, "label", "tag", COLUMN_PLACES),
        ("a model", NAMES.replace("{near}", "near"), "office", "home-office", MODEL_PLACES),
        (
            "a metric with options",
            NAMES.replace("{office}", "office"),
            "near",
            "close_to",
            NAMED_METRIC_PLACES,
        ),
        ("an experiment", EXPERIMENT, "triage", "sort", EXPERIMENT_PLACES),
    )
    for place, cursor in places.items()
]


@pytest.mark.parametrize(
    ("fixture", "old", "new", "at", "cursor"),
    [case[2:] for case in CASES],
    ids=[f"{case[0]} from {case[1]}" for case in CASES],
)
def test_every_place_gets_the_name_and_has_it_back(
    fixture: str, old: str, new: str, at: str, cursor: str, tmp_path: Path
) -> None:
    mark = f"{{{old}}}"
    assert fixture.count(at) == 1, at
    before = fixture.replace(at, cursor).replace(mark, old)
    snapshot, files = opened(before, tmp_path)
    place = path, offset = cursor_of(tmp_path, files)
    prepared = finish(prepare_steps(snapshot, *place))
    assert prepared is not None
    assert prepared.name == old

    renamed = applied(snapshot, files, place, new)

    assert renamed == {name: marked.text for name, marked in parse(fixture.replace(mark, new)).items()}
    edits = finish(rename_steps(snapshot, path, offset, new))
    assert edits is not None
    assert not any(edit.needs_review for edit in edits if edit.path == path)
    first = min(edit.span.start for edit in edits if edit.path == path)
    back = applied(workspace_of(tmp_path, renamed), files, (path, first + 1), old)
    assert back == {name: marked.text for name, marked in files.items()}
