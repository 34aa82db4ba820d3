"""Names that cannot be renamed are rejected with a reason, wherever the rename starts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from promptls.ide.rename import rename_steps
from promptls.text.errors import UserError
from promptls.text.steps import finish
from support.fixture import opened
from support.renaming import cursor_of

REFUSED = {
    "jinja's own": (
        "{% for a in b %}\n- name: a\n  content: '{{ lo<CURSOR>op.index }}'\n{% endfor %}\n",
        "x",
        "Jinja's own",
    ),
    "a global": ("- name: a\n  content: '{{ ra<CURSOR>nge(3) }}'\n", "x", "Jinja's own"),
    "a method": (
        "- name: a\n  content: '{{ a.it<CURSOR>ems() }}'\n",
        "x",
        "`items` cannot be renamed: it is a method of every mapping",
    ),
    "an attribute of a namespace that is handed on": (
        "{% set n = namespace(count=1) %}\n- name: a\n  content: '{{ n.co<CURSOR>unt }}{{ f(n) }}'\n",
        "x",
        "`n` is passed on as a whole",
    ),
    "an attribute of what nobody knows": (
        "{% set n = f(count=1) %}\n- name: a\n  content: '{{ n.co<CURSOR>unt }}'\n",
        "x",
        "`count` cannot be renamed: it is not a known key of an input",
    ),
    "an attribute that a namespace has already": (
        "{% set n = namespace(count=1, x=2) %}\n- name: a\n  content: '{{ n.co<CURSOR>unt }}{{ n.x }}'\n",
        "x",
        "`x` is taken",
    ),
    "a filter": ("- name: a\n  content: '{{ a | tr<CURSOR>im }}'\n", "x", "`trim` cannot be renamed"),
    "a keyword": ("- name: a\n  content: '{% i<CURSOR>f a %}{% endif %}'\n", "x", "`if` cannot be renamed"),
    "prompt poet's": (
        "- name: a\n  content: '{{ escape_special_<CURSOR>characters(a) }}'\n",
        "x",
        "Prompt Poet gives it",
    ),
    "plain text": ("- name: a\n  content: so<CURSOR>me text\n", "x", "nothing to rename"),
    "a file": ("{% include 'ma<CURSOR>in.yml.j2' %}\n- name: a\n  content: x\n", "x", "among the files"),
    "a lost import": (
        "{% from 'gone.yml.j2' import gr<CURSOR>eet %}\n- name: a\n  content: x\n",
        "x",
        "does not exist",
    ),
    "no name": ("- name: a\n  content: '{{ te<CURSOR>xt }}'\n", "my text", "is not a name"),
    "a digit first": ("- name: a\n  content: '{{ te<CURSOR>xt }}'\n", "1st", "is not a name"),
    "a keyword as a name": ("- name: a\n  content: '{{ te<CURSOR>xt }}'\n", "not", "word of Jinja"),
    "a reserved name": ("- name: a\n  content: '{{ te<CURSOR>xt }}'\n", "token_limit", "would hide"),
    "a YAML word": (
        "{#---\ninput_keys: [te<CURSOR>xt]\n---#}\n- name: a\n  content: x\n",
        "yes",
        "not text in YAML",
    ),
    "another input": (
        "- name: a\n  content: '{{ te<CURSOR>xt }}'\n- name: b\n  content: '{{ ticket }}'\n",
        "ticket",
        "`ticket` is taken: main.yml.j2, line 4,",
    ),
    "another input of an include": (
        """\
- name: a
  content: '{{ te<CURSOR>xt }}'
{% include 'b.yml.j2' %}
-- b.yml.j2 --
- name: b
  content: '{{ ticket }}'
""",
        "ticket",
        "`ticket` is taken: b.yml.j2, line 2,",
    ),
    "another column": (
        """\
{#---
experiments: {e: {dataset: d.csv}}
---#}
- name: a
  content: '{{ te<CURSOR>xt }}'
-- d.csv --
text,ticket
""",
        "ticket",
        "`ticket` is taken: d.csv, line 1,",
    ),
    "another key of a Python call": (
        """\
- name: a
  content: '{{ te<CURSOR>xt }}'
-- app.py --
Prompt(template_path="main.yml.j2", template_data={"text": 1, "ticket": 2})
""",
        "ticket",
        "`ticket` is taken: app.py, line 1,",
    ),
    "a binding in between": (
        """\
{% set te<CURSOR>xt = 1 %}
{% for turn in turns %}
- name: a
  content: '{{ text }}'
{% endfor %}
""",
        "turn",
        "`turn` is taken: the meaning of main.yml.j2, line 4, would change",
    ),
    "what it would catch": (
        "{% for tu<CURSOR>rn in turns %}\n- name: a\n  content: '{{ text }}'\n{% endfor %}\n",
        "text",
        "`text` is taken: main.yml.j2, line 3,",
    ),
    "another block": (
        "{% block a<CURSOR>a %}{% endblock %}{% block b %}{% endblock %}\n- name: a\n  content: x\n",
        "b",
        "`b` is taken",
    ),
    "a key of an input's value": (
        "- name: a\n  content: '{{ a.na<CURSOR>me }}'\n",
        "x",
        "it is a key of a value that the caller passes",
    ),
    "a metric whose name a program gives to something else": (
        """\
{#---
experiments: {e: {dataset: d.csv, metrics: ["m.py:ri<CURSOR>ght"]}}
---#}
- name: a
  content: x
-- m.py --
def right(response): return 1
def other(right): return right
""",
        "x",
        "m.py gives the name to something else as well, perhaps in line 2",
    ),
    "a metric that would be another function": (
        """\
{#---
experiments: {e: {dataset: d.csv, metrics: ["m.py:right"]}}
---#}
- name: a
  content: x
-- m.py --
def ri<CURSOR>ght(response): return 1
def other(response): return 2
""",
        "other",
        "`other` is taken",
    ),
    "a metric under a word of Python": (
        """\
{#---
experiments: {e: {dataset: d.csv, metrics: ["m.py:right"]}}
---#}
- name: a
  content: x
-- m.py --
def ri<CURSOR>ght(response): return 1
""",
        "class",
        "keyword of Python",
    ),
    "a column that a built-in metric takes by its name": (
        """\
{#---
experiments: {e: {dataset: d.csv, metrics: [exact_match]}}
---#}
- name: a
  content: x
-- d.csv --
id,expe<CURSOR>cted
""",
        "answer",
        "`exact_match` takes the column by its name: give it its column under `metrics: … columns` first",
    ),
    "a column that is what the prompt answers": (
        """\
{#---
output_key: label
experiments: {e: {dataset: d.csv}}
---#}
- name: a
  content: x
-- d.csv --
id,la<CURSOR>bel
""",
        "answer",
        "it is the `output_key` of main.yml.j2",
    ),
    "a column that is there already": (
        """\
{#---
experiments: {e: {dataset: d.csv}}
---#}
- name: a
  content: x
-- d.csv --
i<CURSOR>d,label
""",
        "label",
        "`label` is taken: d.csv, line 1,",
    ),
    "a column whose name would be two cells": (
        """\
{#---
experiments: {e: {dataset: d.csv}}
---#}
- name: a
  content: x
-- d.csv --
i<CURSOR>d,label
""",
        "a,b",
        "is not a column name",
    ),
    "a column that a metric's function takes by its name": (
        """\
{#---
experiments: {e: {dataset: d.csv, metrics: ["m.py:right"]}}
---#}
- name: a
  content: x
-- d.csv --
id,la<CURSOR>bel
-- m.py --
def right(response, expected_label): return 1
""",
        "answer",
        "the metric `m.py:right` takes the column by its name: give it its column under",
    ),
    "a dataset in Python": (
        """\
{#---
experiments: {e: {dataset: rows.csv}}
---#}
- name: a
  content: x
-- rows.csv --
id
-- evals.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file): return {}
rows = Dataset.load(name="ro<CURSOR>ws", backend="local/csv", root_dir=".")
""",
        "x",
        "a file is renamed among the files",
    ),
    "a model under a built-in metric's name": (
        "- name: a\n  content: x\n-- promptls.toml --\n[metrics.ne<CURSOR>ar]\nuse = 'exact_match'\n",
        "exact_match",
        "is a built-in metric",
    ),
    "a model that is there already": (
        (
            "- name: a\n  content: x\n-- promptls.toml --\n"
            "[models.of<CURSOR>fice]\nmodel = 'x'\n[models.home]\nmodel = 'x'\n"
        ),
        "home",
        "`home` is taken: promptls.toml, line 3,",
    ),
}


@pytest.mark.parametrize(("before", "new", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_renamed_is_refused_with_a_reason(
    before: str, new: str, reason: str, tmp_path: Path
) -> None:
    snapshot, files = opened(before, tmp_path)

    with pytest.raises(UserError) as refused:
        finish(rename_steps(snapshot, *cursor_of(tmp_path, files), new))

    assert reason in refused.value.message


PACKED = "{#---\nsamples: samples.json.gz\n---#}\n- name: a\n  content: '{{ te<CURSOR>xt }}'\n"
OUTSIDE = "{#---\nsamples: ../samples.json\n---#}\n- name: a\n  content: '{{ te<CURSOR>xt }}'\n"
IN_ENVIRONMENT = """\
{#---
experiments: {e: {dataset: d.csv, metrics: ["venv/lib/m.py:ri<CURSOR>ght"]}}
---#}
- name: a
  content: x
-- venv/lib/m.py --
def right(response): return 1
-- venv/pyvenv.csv --
"""


def reason(fixture: str, root: Path) -> str:
    snapshot, files = opened(fixture, root)
    with pytest.raises(UserError) as refused:
        finish(rename_steps(snapshot, *cursor_of(root, files), "renamed"))
    return refused.value.message


def test_a_key_in_a_packed_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "samples.json.gz").write_bytes(gzip.compress(json.dumps({"text": 1}).encode()))

    assert "it is in samples.json.gz, which cannot be edited" in reason(PACKED, tmp_path)


def test_a_key_in_a_file_outside_of_the_workspace_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "samples.json").write_text('{"text": 1}')
    root = tmp_path / "project"
    root.mkdir()

    assert "samples.json, where it also occurs, is outside of the workspace" in reason(OUTSIDE, root)


def test_a_function_in_a_virtual_environment_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")

    assert "m.py, where it also occurs, belongs to an installed package" in reason(IN_ENVIRONMENT, tmp_path)


def test_a_key_in_a_file_that_cannot_be_written_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = PACKED.replace("samples.json.gz", "samples.json")
    (tmp_path / "samples.json").write_text('{"text": 1}')
    # Whoever runs the tests may be allowed to write every file.
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path).name != "samples.json")

    assert "samples.json, where it also occurs, is read-only" in reason(fixture, tmp_path)
