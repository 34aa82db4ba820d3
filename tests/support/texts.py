"""Texts for robustness tests: together they contain every construct that promptls reads."""

from __future__ import annotations

import re
from pathlib import Path

from promptls.lint.registry import RULES
from support.fixture import parse

ROOT = Path(__file__).resolve().parents[2]
_CODE = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
_MAX_CHARACTERS = 20_000
"""Pages about size limits are too long for tests that go through a text character by character."""

PARTS = """\
{#---
name: all_forms
input_keys:
  text: {type: string, description: What the customer wrote.}
  turns: {type: array}
output_key: response
output_type: json
examples:
  - text: "It's \\"late\\""
    response: {labels: [Billing, Account]}
  - {text: 'two', response: "{}"}
---#}
{% import 'macros.yml.j2' as macros %}
{% from "macros.yml.j2" import greet, part as piece with context %}
{%- set limit = 3 -%}
{% set note %}Read {{ text | trim }} first.{% endset %}
- name: system instructions
  role: system
  content: |
    You are {{ persona.name or 'a helper' }}.   # not a comment
    {% if limit > 2 and not turns %}Be brief.{% elif turns | length is divisibleby 2 %}Be even.
    {% else %}Be odd.{% endif %}
    {{ note }} {{ greet("you", mark='!') }} {% raw %}{{ literal }}{% endraw %}
{# promptls: ignore[unknown-role] a reason #}
- name: "quoted {{ text }} name"
  role: {{ role }}
  truncation_priority: 5
  content: >-
    Folded {{ text[1:-1] ~ turns[0]['said'] }} — naïve 😀 text
{% for turn in turns if turn.said %}
- name: turn_{{ loop.index }}
  role: {{ 'user' if loop.index is odd else 'assistant' }}
  content: '{{ turn.said | replace("a", "b") }}'
  {% if turn.sections %}
  sections:
    - {name: a, content: b}
  {% endif %}
{% else %}
- name: nothing said
  content: ""
{% endfor %}
{% macro shout(word, times=2) %}{{ word | upper * times }}{% endmacro %}
{% call(item) macros.each(turns) %}{{ item }}{% endcall %}
{% filter upper %}loud{% endfilter %}
{% with a = 1, b = {'c': [1, 2.5, none]} %}
- name: anchors
  content: &anchor "{{ a }}{{ b.c }}"
- {name: flow, content: *anchor, role: user}
{% endwith %}
{% include 'sections/tail.yml.j2' ignore missing %}
"""

OBJECT = """\
name: answer
instruction: |
  Answer the question about {{ topic }}.
input_keys: [question, topic]
output_key: answer
output_type: json
examples:
  - question: Who?
    topic: people
    answer: {text: me}
"""

EVALUATION = """\
infer_cfg:
  ice_template: {type: PromptTemplate, template: "</E>Q: {question}\\nA: {answer}", ice_token: "</E>"}
  retriever: {type: ZeroRetriever}
reader_cfg:
  input_columns: [question]
  output_column: answer
"""

BROKEN = """\
- name: a
  content: |
    {{ text | }} {{ other
  {% if x %}
- name: 'b
  content: "{{ c }"
{% endfor %} {% raw %} {# never closed
- name: [1, {a: b
"""

STRANGE = (
    "\ufeff- name: a\r\n  content: \u2028x\u0085y\x0cz\r- name: b\n\tcontent: {{ \U0001f600 }}\n"
    "- \n-\n- - -\n---\n...\n? a\n: b\n%YAML 1.1\n- *nowhere\n- !!python/none x\n- name: <|space|>\n"
)

OWN = {"parts": PARTS, "object": OBJECT, "evaluation": EVALUATION, "broken": BROKEN, "strange": STRANGE}


def page_texts() -> dict[str, str]:
    """Return the examples of the rules' pages, without their marks."""
    return {
        f"{rule.name} {number}": marked.text
        for rule in RULES
        for number, code in enumerate(_CODE.findall(rule.page), start=1)
        for marked in parse(code).values()
        if len(marked.text) <= _MAX_CHARACTERS
    }


def example_texts() -> dict[str, str]:
    """Return the prompts of the example project."""
    folder = ROOT / "examples"
    return {
        str(path.relative_to(folder)): path.read_bytes().decode("utf-8")
        for path in sorted(folder.rglob("*.yml.j2"))
    }
