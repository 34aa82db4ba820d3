from __future__ import annotations

from pathlib import Path

import pytest

from promptls.features.rename import prepare_steps, rename_steps
from promptls.text.failure import Failure
from promptls.text.steps import finished
from support.fixture import MAIN, opened, parse
from support.renaming import applied, cursor_of, workspace_of


def check_rename(before: str, new: str, after: str, root: Path) -> None:
    """Assert that the rename turns the files of one fixture into the other's, and another one back."""
    snapshot, files = opened(before, root)
    place = path, offset = cursor_of(root, files)
    old = finished(prepare_steps(snapshot, path, offset))
    assert old is not None
    renamed = applied(snapshot, files, place, new)
    assert renamed == {name: marked.text for name, marked in parse(after).items()}
    first = min(
        edit.span.start for edit in finished(rename_steps(snapshot, path, offset, new)) if edit.path == path
    )
    back = applied(workspace_of(root, renamed), files, (path, first + 1), old.name)
    assert back == {name: marked.text for name, marked in files.items()}


CASES = {
    "an input everywhere it stands": (
        """\
{#---
samples: samples.yml
input_keys: {text: {type: string}, other: {}}
examples:
  - {text: "text", other: text}
experiments:
  first: {dataset: rows.csv}
---#}
- name: text
  content: "{{ te<CURSOR>xt | trim }} text"
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: "{{ text }}{{ a.text }}"
-- app.py --
import promptls
prompt = Prompt(template_path="main.yml.j2", template_data={"text": "text", "other": text})
promptls.load("main.yml.j2").render(text=text, other="text")
-- rows.csv --
text,id
text,1
-- samples.yml --
text: text
""",
        "ticket",
        """\
{#---
samples: samples.yml
input_keys: {ticket: {type: string}, other: {}}
examples:
  - {ticket: "text", other: text}
experiments:
  first: {dataset: rows.csv}
---#}
- name: text
  content: "{{ ticket | trim }} text"
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: "{{ ticket }}{{ a.text }}"
-- app.py --
import promptls
prompt = Prompt(template_path="main.yml.j2", template_data={"ticket": "text", "other": text})
promptls.load("main.yml.j2").render(ticket=text, other="text")
-- rows.csv --
ticket,id
text,1
-- samples.yml --
ticket: text
""",
    ),
    "a column that an experiment in Python reads too": (
        """\
{#---
experiments:
  first: {dataset: rows.csv}
---#}
- name: a
  content: "{{ te<CURSOR>xt }}"
-- rows.csv --
text,id
text,1
-- evals.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"text": row["text"], "other": row.get("text"), "id": row["id"]}
rows = Dataset.load(name="rows", backend="local/csv", root_dir=".")
-- other.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"text": row["text"]}
rows = Dataset.load(name="others", backend="local/csv", root_dir=".")
""",
        "ticket",
        """\
{#---
experiments:
  first: {dataset: rows.csv}
---#}
- name: a
  content: "{{ ticket }}"
-- rows.csv --
ticket,id
text,1
-- evals.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"text": row["ticket"], "other": row.get("ticket"), "id": row["id"]}
rows = Dataset.load(name="rows", backend="local/csv", root_dir=".")
-- other.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"text": row["text"]}
rows = Dataset.load(name="others", backend="local/csv", root_dir=".")
""",
    ),
    "a loop variable and nothing beside its loop": (
        """\
{% for turn in turns %}
- name: a
  content: "{{ t<CURSOR>urn.said }}"
{% endfor %}
- name: b
  content: "{{ turn }}"
""",
        "message",
        """\
{% for message in turns %}
- name: a
  content: "{{ message.said }}"
{% endfor %}
- name: b
  content: "{{ turn }}"
""",
    ),
    "a macro in its importers, but not where it has another name": (
        """\
{% macro gre<CURSOR>et(name) %}{{ name }}{% endmacro %}
-- first.yml.j2 --
{% from 'main.yml.j2' import greet %}
- name: a
  content: "{{ greet(1) }}"
-- second.yml.j2 --
{% from 'main.yml.j2' import greet as hello %}
- name: a
  content: "{{ hello(greet) }}"
-- third.yml.j2 --
{% import 'main.yml.j2' as tools %}
- name: a
  content: "{{ tools.greet(1) }}"
""",
        "welcome",
        """\
{% macro welcome(name) %}{{ name }}{% endmacro %}
-- first.yml.j2 --
{% from 'main.yml.j2' import welcome %}
- name: a
  content: "{{ welcome(1) }}"
-- second.yml.j2 --
{% from 'main.yml.j2' import welcome as hello %}
- name: a
  content: "{{ hello(greet) }}"
-- third.yml.j2 --
{% import 'main.yml.j2' as tools %}
- name: a
  content: "{{ tools.welcome(1) }}"
""",
    ),
    "a block where it is overridden": (
        """\
{% block rules %}{% endblock ru<CURSOR>les %}
- name: a
  content: x
-- child.yml.j2 --
{% extends 'main.yml.j2' %}
{% block rules %}{{ rules }}{% endblock %}
""",
        "manners",
        """\
{% block manners %}{% endblock manners %}
- name: a
  content: x
-- child.yml.j2 --
{% extends 'main.yml.j2' %}
{% block manners %}{{ rules }}{% endblock %}
""",
    ),
    "a part": (
        "- name: gre<CURSOR>eting\n  content: greeting\n",
        "my part",
        "- name: my part\n  content: greeting\n",
    ),
    "a part in quotes": (
        "- name: 'gre<CURSOR>eting'\n  content: x\n",
        "it's",
        "- name: 'it''s'\n  content: x\n",
    ),
    "a parameter": (
        """\
{% macro greet(name, ma<CURSOR>rk='!') %}{{ name ~ mark }}{% endmacro %}
- name: a
  content: "{{ greet(mark, mark='?') }}"
""",
        "sign",
        """\
{% macro greet(name, sign='!') %}{{ name ~ sign }}{% endmacro %}
- name: a
  content: "{{ greet(mark, sign='?') }}"
""",
    ),
    "a key that is read in a macro": (
        """\
{#---
input_keys: {who: {type: object, properties: {name: {type: string}}}}
---#}
{% macro m(p) %}{{ p.na<CURSOR>me }}{% endmacro %}
- name: a
  content: '{{ m(who) }}{{ who.name }}'
""",
        "title",
        """\
{#---
input_keys: {who: {type: object, properties: {title: {type: string}}}}
---#}
{% macro m(p) %}{{ p.title }}{% endmacro %}
- name: a
  content: '{{ m(who) }}{{ who.title }}'
""",
    ),
    "a key of an input in templates, schema, data and calls": (
        """\
{#---
samples: samples.yml
input_keys: {customer: {type: object, properties: {name: {type: string}}, required: [name]}}
examples:
  - customer: {"name": Ada}
---#}
{% for name in names %}
- name: a
  content: "{{ customer.na<CURSOR>me | trim }}{{ customer['name'] }}{{ name }}"
{% endfor %}
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: "{{ customer.name }}{{ other.name }}"
-- app.py --
import promptls
who = {"name": "Ada"}
promptls.load("main.yml.j2").render(customer=who, names=[])
-- samples.yml --
customer:
  name: Ada
""",
        "title",
        """\
{#---
samples: samples.yml
input_keys: {customer: {type: object, properties: {title: {type: string}}, required: [title]}}
examples:
  - customer: {"title": Ada}
---#}
{% for name in names %}
- name: a
  content: "{{ customer.title | trim }}{{ customer['title'] }}{{ name }}"
{% endfor %}
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: "{{ customer.title }}{{ other.name }}"
-- app.py --
import promptls
who = {"title": "Ada"}
promptls.load("main.yml.j2").render(customer=who, names=[])
-- samples.yml --
customer:
  title: Ada
""",
    ),
    "an attribute of a namespace": (
        """\
{% set ns = namespace(count=0) %}
{% set ns.count = ns.co<CURSOR>unt + 1 %}
- name: a
  content: "{{ ns.count }}{{ other.count }}"
""",
        "turns",
        """\
{% set ns = namespace(turns=0) %}
{% set ns.turns = ns.turns + 1 %}
- name: a
  content: "{{ ns.turns }}{{ other.count }}"
""",
    ),
}


@pytest.mark.parametrize(("before", "new", "after"), CASES.values(), ids=CASES.keys())
def test_a_rename_and_the_rename_back(before: str, new: str, after: str, tmp_path: Path) -> None:
    check_rename(before, new, after, tmp_path)


def test_a_part_name_that_yaml_would_read_as_something_else_is_quoted(tmp_path: Path) -> None:
    snapshot, files = opened("- name: gre<CURSOR>eting\n  content: x\n", tmp_path)
    place = cursor_of(tmp_path, files)

    assert applied(snapshot, files, place, "a: b")[MAIN] == '- name: "a: b"\n  content: x\n'
    assert applied(snapshot, files, place, "12")[MAIN] == '- name: "12"\n  content: x\n'


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
        "`n` is handed on as a whole",
    ),
    "an attribute of what nobody knows": (
        "{% set n = f(count=1) %}\n- name: a\n  content: '{{ n.co<CURSOR>unt }}'\n",
        "x",
        "`count` cannot be renamed: it is no key of an input",
    ),
    "an attribute that a namespace has already": (
        "{% set n = namespace(count=1, x=2) %}\n- name: a\n  content: '{{ n.co<CURSOR>unt }}{{ n.x }}'\n",
        "x",
        "`x` is taken",
    ),
    "a filter": ("- name: a\n  content: '{{ a | tr<CURSOR>im }}'\n", "x", "`trim` cannot be renamed"),
    "a key of what a macro is given beside other things": (
        """\
{#---
input_keys: {who: {type: object, properties: {name: {type: string}}}}
---#}
{% macro m(p) %}{{ p.name }}{% endmacro %}
- name: a
  content: '{{ m(who) }}{{ m({"name": 1}) }}{{ who.na<CURSOR>me }}'
""",
        "title",
        "cannot be followed",
    ),
    "a key of what a macro prints": (
        """\
{#---
input_keys: {who: {type: object, properties: {name: {type: string}}}}
---#}
{% macro m(p) %}{{ p | tojson }}{% endmacro %}
- name: a
  content: '{{ m(who) }}{{ who.na<CURSOR>me }}'
""",
        "title",
        "uses `p` as a whole",
    ),
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
        "is not there",
    ),
    "no name": ("- name: a\n  content: '{{ te<CURSOR>xt }}'\n", "my text", "is no name"),
    "a digit first": ("- name: a\n  content: '{{ te<CURSOR>xt }}'\n", "1st", "is no name"),
    "a keyword as a name": ("- name: a\n  content: '{{ te<CURSOR>xt }}'\n", "not", "word of Jinja"),
    "a reserved name": ("- name: a\n  content: '{{ te<CURSOR>xt }}'\n", "token_limit", "would hide"),
    "a YAML word": (
        "{#---\ninput_keys: [te<CURSOR>xt]\n---#}\n- name: a\n  content: x\n",
        "yes",
        "no text in YAML",
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
        "`turn` is taken: main.yml.j2, line 4, would be something else",
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
    "a key that nothing gives": (
        "- name: a\n  content: '{{ a.na<CURSOR>me }}'\n",
        "x",
        "nothing declares it",
    ),
    "a key of a value that is printed whole": (
        "{#---\nexamples: [{a: {b: 1}}]\n---#}\n- name: a\n  content: '{{ a.b<CURSOR> }}{{ a }}'\n",
        "x",
        "main.yml.j2, line 5, uses `a` as a whole",
    ),
    "a key of a mapping that a loop goes through": (
        (
            "{#---\nexamples: [{a: {b: 1}}]\n---#}\n"
            "- name: a\n  content: '{{ a.b<CURSOR> }}{% for k in a %}{{ k }}{% endfor %}'\n"
        ),
        "x",
        "uses `a` as a whole",
    ),
    "a key of what may be the same value": (
        (
            "{#---\nexamples: [{a: {b: 1}}]\n---#}\n{% if y %}{% set c = a %}{% endif %}\n"
            "- name: a\n  content: '{{ a.b<CURSOR> }}{{ c.b }}'\n"
        ),
        "x",
        "of what may be the same value",
    ),
    "a key of an object of the program": (
        (
            "{#---\nexamples: [{a: {b: 1}}]\n---#}\n- name: a\n  content: '{{ a.b<CURSOR> }}'\n"
            "-- app.py --\nimport promptls\npromptls.load('main.yml.j2').render(a=make())\n"
        ),
        "x",
        "app.py, line 2, gives a value whose keys are not written there",
    ),
    "a key that is there already": (
        "{#---\nexamples: [{a: {b: 1}}]\n---#}\n- name: a\n  content: '{{ a.b<CURSOR> }}{{ a.x }}'\n",
        "x",
        "`x` is taken",
    ),
    "a method's name for a key": (
        "{#---\nexamples: [{a: {b: 1}}]\n---#}\n- name: a\n  content: '{{ a.b<CURSOR> }}'\n",
        "items",
        "a method of every mapping",
    ),
}


@pytest.mark.parametrize(("before", "new", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_renamed_is_refused_with_a_reason(
    before: str, new: str, reason: str, tmp_path: Path
) -> None:
    snapshot, files = opened(before, tmp_path)

    with pytest.raises(Failure) as refused:
        finished(rename_steps(snapshot, *cursor_of(tmp_path, files), new))

    assert reason in refused.value.message


def test_changes_of_data_are_doubtful(tmp_path: Path) -> None:
    snapshot, files = opened(CASES["an input everywhere it stands"][0], tmp_path)

    edits = finished(rename_steps(snapshot, *cursor_of(tmp_path, files), "ticket"))

    assert {Path(edit.path).name for edit in edits if edit.is_doubtful} == {
        "app.py",
        "rows.csv",
        "samples.yml",
    }
