"""While a block is typed, no finding elsewhere appears or disappears temporarily."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace
from support.example_counts import THOROUGH

pytestmark = pytest.mark.thorough

PATH = "/project/main.yml.j2"
PARTS = """\
{#---
name: support
input_keys:
  ticket: {type: string}
  earlier: {type: array, items: {type: object, properties: {question: {type: string}}}}
  tone: {enum: [kind, brief]}
  spare: {}
token_limit: 2000
HEADER
output_key: answer
examples:
  - {ticket: a, earlier: [], tone: kind, spare: 1, answer: b}
  - {ticket: c, earlier: [], tone: rude, spare: 2, answer: d, more: e}
---#}
{% import "macros.yml.j2" as macros %}
{% from "macros.yml.j2" import framed, shouted %}
{% set greeting = "Dear customer" %}
{% set unread = 1 %}
{% macro own(text) %}{{ text }}{% endmacro %}
TOP
- name: rules
  role: sytem
  content: |
    You answer in a {{ tone }} voice. Begin with "{{ greeting }}". {{ misstyped }}
    CONTENT
    {%- if tone == "breif" %}
    Be brief.
    {%- endif %}
  PART
{% for before in earlier %}
- name: question {{ loop.index }}
  role: usr
  truncation_priority: 1
  content: "{{ escape_special_characters(before.question) }} "
{% endfor %}
BETWEEN
- name: ticket
  role: user
  content: |
    {{ framed(escape_special_characters(ticket)) }} {{ ticket | uper }}
    Answer:<|spce|>
"""
MACROS = '{% macro framed(text, title="") %}{{ title }}: {{ text }}{% endmacro %}\n'
OBJECT = """\
instruction: Answer {question} in {tone}. {missing}
input_keys: [question, tone]
KEY
output_key: answer
output_type: jsn
examples:
- {question: a, tone: b, answer: c}
- {question: a, tone: b, answer: c, more: d}
"""
EVALUATION = """\
ice_template:
  type: PromptTemplate
  template: "</E>Q: {question} A: {answer}"
  ice_token: </E>
KEY
retriever: {type: ZeroRetrievr}
reader_cfg: {input_columns: [question], output_column: answer}
"""
DIALOGUE = """\
infer_cfg:
  prompt_template:
    type: PromptTemplate
    template:
      round:
        KEY
        - {role: BOT, promt: "{answer}"}
  retriever: {type: ZeroRetriever}
  inferencer: {type: GenInferencer, max_out_ln: 10}
reader_cfg: {input_columns: [question], output_colum: answer}
"""
BLOCKS = {
    "if": "{% if tone == 'kind' and greeting %}Be kind.{% endif %}",
    "if with else": "{% if tone %}x{% elif ticket %}y{% else %}z{% endif %}",
    "for": "{% for each in earlier %}{{ each.question | tojson }}{% endfor %}",
    "macro": "{% macro bold(words, mark='*') %}{{ mark }}{{ words }}{% endmacro %}{{ bold('a') }}",
    "import": "{% import 'macros.yml.j2' as more %}{{ more.framed('a') }}",
    "from": "{% from 'macros.yml.j2' import framed as boxed %}{{ boxed('a') }}",
    "include": "{% include 'macros.yml.j2' %}",
    "set": "{% set total = [1, 2] | length %}{{ total }}",
    "set with text": '{% set mood = "it\'s " ~ tone %}{{ mood }}',
    "output": "{{ escape_special_characters(earlier[0].question) }}",
    "dict": "{{ {'a': {'b': tone}}['a'] }}",
    "comment": "{# nothing here: {{ x }} #}",
    "with": "{% with a = tone %}{{ a }}{% endwith %}",
    "call": "{% call framed('a') %}b{% endcall %}",
    "filter": "{% filter upper %}a{% endfilter %}",
}
AROUND_PARTS = {
    "if": "{% if tone == 'kind' and greeting %}{% endif %}",
    "for": "{% for each in earlier %}{% set question = each.question %}{% endfor %}",
    "macro": "{% macro bold(words, mark='*') %}{{ mark }}{{ words }}{% endmacro %}",
    "import": "{% import 'macros.yml.j2' as more %}",
    "from": "{% from 'macros.yml.j2' import framed as boxed %}",
    "include": "{% include 'macros.yml.j2' %}",
    "set": "{% set mood = \"it's \" ~ tone ~ {'a': 1}.a %}",
    "comment": "{# nothing here: {{ x }} #}",
    "yaml comment": "# nothing {{ here }}",
}
ABOUT_KEYS = (
    "input",
    "example-key",
    "undefined-variable",
    "unescaped-brace",
    "yaml-syntax",
    "invalid-header",
)
"""Parts of the names of rules about declarations."""
HEADER_KEYS = (
    "description: \"It's a 'prompt'\"",
    "samples: {first: {ticket: a, tone: kind}}",
    "truncation_step: 200",
    "functions: helpers.py",
    "experiments: {triage: {dataset: data.csv, models: [echo]}}",
    "output_schema: {type: string}",
    "functions: [helpers.py]",
)


def opened(text: str) -> Workspace:
    workspace = Workspace([Path("/project")])
    workspace.open(f"{Path(PATH).parent}/macros.yml.j2", MACROS, 1)
    workspace.open(PATH, text, 1)
    return workspace


def findings(workspace: Workspace, typed_line: int) -> Counter[tuple[str, str, str]]:
    """Return the findings on all lines but one, each with its line's text instead of its number."""
    source = workspace.snapshot.open_files[PATH].template.source
    return Counter(
        (finding.rule, finding.message.split(", and ")[0], source.line(line))
        for finding in check(workspace.snapshot, PATH)
        if (line := source.line_column(finding.span.start).line) != typed_line
    )


def is_inside_a_word(typed: str, end: int) -> bool:
    """Return whether there are at least two letters of a word before `end`, and more after it."""
    return typed[max(end - 2, 0) : end + 1].isalnum() and 1 < end < len(typed)


def flickers(template: str, place: str, typed: str) -> list[str]:
    """Return the findings elsewhere that change temporarily while `typed` replaces a mark key by key.

    `make test-thorough` checks after every key; otherwise, keys inside of words are skipped.
    """
    others = {"HEADER", "TOP", "CONTENT", "PART", "BETWEEN", "KEY"} - {place}
    lines = [line for line in template.splitlines(keepends=True) if line.strip() not in others]
    text = "".join(lines)
    start = text.index(place)
    line = text[:start].count("\n")
    workspace = opened(text.replace(place, ""))
    before = findings(workspace, line)
    stages = []
    for version, (offset, letter) in enumerate(enumerate(typed, start), 2):
        workspace.edit(PATH, version, [(Span(offset, offset), letter)])
        end = offset - start + 1
        if THOROUGH or end == len(typed) or not is_inside_a_word(typed, end):
            stages.append((end, findings(workspace, line)))
    _, after = stages.pop()
    found = []
    for end, now in stages:
        lost = (before & after) - now
        new = now - (before | after)
        found += [f"{typed[:end]}⌷ loses {each}" for each in lost]
        found += [f"{typed[:end]}⌷ gets {each}" for each in new]
    return found


@pytest.mark.parametrize("block", BLOCKS)
def test_typing_a_block_into_a_text_changes_no_finding_elsewhere_for_a_while(block: str) -> None:
    assert flickers(PARTS, "CONTENT", BLOCKS[block]) == []


@pytest.mark.parametrize("place", ["TOP", "BETWEEN"])
@pytest.mark.parametrize("block", AROUND_PARTS)
def test_typing_a_block_between_parts_changes_no_finding_elsewhere_for_a_while(
    block: str, place: str
) -> None:
    assert flickers(PARTS, place, AROUND_PARTS[block]) == []


@pytest.mark.parametrize("typed", HEADER_KEYS)
def test_typing_a_key_of_the_header_changes_no_finding_elsewhere_for_a_while(typed: str) -> None:
    assert flickers(PARTS, "HEADER", typed) == []


@pytest.mark.parametrize(
    "typed", ["truncation_priority: 3", "expected_template_data_keys: [tone]", "tokens: [1]", "# a note"]
)
def test_typing_a_key_of_a_part_changes_no_finding_elsewhere_for_a_while(typed: str) -> None:
    assert flickers(PARTS, "PART", typed) == []


@pytest.mark.parametrize("typed", [*HEADER_KEYS, "name: 'a b'", "language: english"])
def test_typing_a_key_of_a_prompt_object_changes_no_finding_elsewhere_for_a_while(typed: str) -> None:
    assert flickers(OBJECT, "KEY", typed) == []


@pytest.mark.parametrize(
    "typed", ["inferencer: {type: GenInferencer}", "name: 'a b'", 'prompt_template: "Q: {question}"']
)
def test_typing_a_key_of_an_evaluation_prompt_changes_no_finding_elsewhere_for_a_while(typed: str) -> None:
    assert flickers(EVALUATION, "KEY", typed) == []


@pytest.mark.parametrize(
    ("template", "line"),
    [
        (PARTS, "  tone: {enum: [kind, brief]}"),
        (PARTS, "  ticket: {type: string}"),
        (PARTS, "output_key: answer"),
        (OBJECT, "input_keys: [question, tone]"),
        (OBJECT, "output_key: answer"),
        (OBJECT, "instruction: Answer {question} in {tone}. {missing}"),
        (EVALUATION, "reader_cfg: {input_columns: [question], output_column: answer}"),
    ],
)
def test_typing_a_key_on_which_others_depend_changes_no_finding_about_other_things(
    template: str, line: str
) -> None:
    """Findings about inputs and outputs may change with their declarations only."""
    found = [each for each in flickers(template, line, line) if not any(rule in each for rule in ABOUT_KEYS)]

    assert found == []


@pytest.mark.parametrize(
    "typed", ["- {role: HUMAN, prompt: Why}", "- role: HUMAN", "- {role: HUMAN, prompt: [a, b]}"]
)
def test_typing_a_turn_of_a_dialogue_changes_no_finding_elsewhere_for_a_while(typed: str) -> None:
    assert flickers(DIALOGUE, "KEY", typed) == []
