"""An input's occurrences in the sources of its values: samples, datasets and Python programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.marked_occurrences import check_occurrences

CASES = {
    "the data that a Python call passes": """\
- name: a
  content: "{{ us<CURSOR>er }}"
               ^^^^ read
-- app.py --
from prompt_poet import Prompt

data = {"other": "ä", 'user': "user"}
                       ^^^^ write
first = Prompt(template_path="main.yml.j2", template_data=data)
second = Prompt(template_path="main.yml.j2", template_data=dict(user=1, name="user"))
                                                                ^^^^ write
third = Prompt(template_path="other.yml.j2", template_data={"user": 1})
""",
    "what a program gives to the library": """\
- name: a
  content: "{{ us<CURSOR>er }}"
               ^^^^ read
-- app.py --
import promptls

prompt = promptls.load("main.yml.j2", token_limit=100)
user = "ä"
first = prompt.render(other="user", user=user)
                                    ^^^^ write
second = promptls.load("main.yml.j2").render({"user": 1}, other=user)
                                               ^^^^ write
third = promptls.load("other.yml.j2").render(user=1)
""",
    "an input of another prompt on the same dataset": """\
{#---
experiments: {e: {dataset: rows.csv}}
---#}
- name: a
  content: "{{ us<CURSOR>er }}"
               ^^^^ read
-- rows.csv --
id,user
   ^^^^ write
-- second.yml.j2 --
{#---
experiments: {e: {dataset: rows.csv}}
input_keys: [user]
             ^^^^ declaration
---#}
- name: a
  content: x
-- third.yml.j2 --
{#---
experiments: {e: {dataset: other.csv}}
---#}
- name: a
  content: "{{ user }} rows.csv"
""",
    "a column of an evaluation prompt": """\
infer_cfg:
  ice_template:
    type: PromptTemplate
    template: "</E>Q: {question}"
                       ^^^^^^^^ read
    ice_token: "</E>"
  prompt_template:
    type: PromptTemplate
    template:
      round:
        - {role: HUMAN, prompt: "</E>{quest<CURSOR>ion} {other}"}
                                      ^^^^^^^^ read
  retriever: {type: FixKRetriever, fix_id_list: [0]}
reader_cfg:
  input_columns: [question, other]
                  ^^^^^^^^ declaration
  output_column: answer
experiments: {e: {dataset: rows.csv}}
-- rows.csv --
question,answer
^^^^^^^^ write
""",
}


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES.keys())
def test_the_marked_places_are_all_occurrences(fixture: str, tmp_path: Path) -> None:
    check_occurrences(fixture, tmp_path)


def test_keys_of_samples_and_columns_of_data_sets_are_occurrences_of_an_input(
    tmp_path: Path,
) -> None:
    rows = [json.dumps({"text": 1, "user": {"user": 2}}), json.dumps({"user": 3})]
    fixture = f"""\
{{#---
samples: samples.yml
experiments:
  first: {{dataset: rows.csv}}
  second: {{dataset: rows.jsonl}}
---#}}
- name: a
  content: "{{{{ us<CURSOR>er }}}}"
               ^^^^ read
-- rows.csv --
id,"user",user_name
    ^^^^ write
1,"user",x
-- rows.jsonl --
{rows[0]}
             ^^^^ write
{rows[1]}
  ^^^^ write
-- samples.yml --
ada:
  user: {{user: 1}}
  ^^^^ write
bob: {{"user": 2}}
       ^^^^ write
"""
    check_occurrences(fixture, tmp_path)
