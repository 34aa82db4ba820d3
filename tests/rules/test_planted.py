"""One mistake of each rule about parts and names, planted in a realistic template, is found at its place."""

from __future__ import annotations

import pytest

from promptls.rules.checking.check import check
from support.fixture import MAIN, opened

TEMPLATE = """\
{#---
name: support
description: Answers a ticket with the help of earlier ones.
input_keys:
  ticket: {type: string}
  earlier:
    type: array
    items: {type: object, properties: {question: {type: string}, answer: {type: string}}}
  tone: {enum: [kind, brief]}
output_key: answer
token_limit: 2000
truncation_step: 200
---#}
{% import "macros.yml.j2" as macros %}
{% set greeting = "Dear customer" %}
- name: rules
  role: system
  content: |
    You answer tickets of a shop in a {{ tone }} voice.
    Begin with "{{ greeting }}".
    {%- if tone == "brief" %}
    Write no more than three sentences.
    {%- endif %}

{% for ticket_before in earlier %}
- name: earlier question {{ loop.index }}
  role: user
  truncation_priority: 1
  content: "{{ escape_special_characters(ticket_before.question) }}"
- name: earlier answer {{ loop.index }}
  role: assistant
  truncation_priority: 1
  content: |
    {{ escape_special_characters(ticket_before.answer | default("") | trim) }}
{% endfor %}

- name: ticket
  role: user
  expected_template_data_keys: [ticket]
  content: |
    {{ macros.framed(escape_special_characters(ticket), title="Ticket") }}
    Answer:<|space|>
"""
MACROS = '{% macro framed(text, title="") %}{{ title }}: {{ text }}{% endmacro %}\n'
PLANTED = {
    "blank-line-from-tag": ('    {%- if tone == "brief" %}', '    {% if tone == "brief" %}', "if"),
    "conflicting-expected-keys": ("data_keys: [ticket]", "data_keys: [ticket, order]", "order"),
    "content-and-sections": (
        "Answer:<|space|>\n",
        "Answer:\n  sections:\n    - name: end\n      content: Goodbye.\n",
        "sections",
    ),
    "dict-method": ("ticket_before.answer |", "ticket_before.values |", "values"),
    "duplicate-part-key": ("role: system\n", "role: system\n  role: user\n", "role"),
    "duplicate-part-name": ("- name: ticket\n", "- name: rules\n", "rules"),
    "empty-content": ("Answer:<|space|>\n", "Answer:\n- name: end\n  content:\n", "content"),
    "glued-part": (
        "{% for ticket_before in earlier %}",
        "{%- for ticket_before in earlier -%}",
        "{%- for ticket_before in earlier -%}",
    ),
    "html-escape": ("| trim)", "| escape)", "escape"),
    "jinja-syntax": ("{{ tone }} voice.", "{{ tone |}} voice.", "}}"),
    "literal-line-break": ("three sentences.", "three\\nsentences.", "\\n"),
    "missing-part-key": ("- name: ticket\n  role: user", "- role: user", "role"),
    "no-truncatable-part": ("truncation_priority: 1\n", "truncation_priority: 0\n", "token_limit"),
    "preset-tokens": ("role: system\n", "role: system\n  tokens: [1, 2]\n", "tokens"),
    "reserved-input": ("  tone: {enum", "  token_limit: {}\n  tone: {enum", "token_limit"),
    "shadowed-variable": ("{% for ticket_before in", "{% for greeting in", "greeting"),
    "stripped-whitespace": ("Answer:<|space|>", "Answer: ", " "),
    "undeclared-input": ("a {{ tone }} voice", "a {{ tone }} voice for {{ region | tojson }}", "region"),
    "undefined-variable": ("{{ greeting }}", "{{ greting }}", "greting"),
    "unescaped-multiline-input": ("    Answer:<", "    {{ ticket }}\n    Answer:<", "ticket"),
    "swallowed-text": (
        "content: |\n    You answer",
        "content: Rule #1 holds\n- name: more\n  content: |\n    You answer",
        "#1 holds",
    ),
    "special-token": ("Answer:<|space|>", "Answer:<|endoftext|>", "<|endoftext|>"),
    "newest-truncated-first": (
        "truncation_priority: 1\n",
        "truncation_priority: {{ loop.index }}\n",
        "{{ loop.index }}",
    ),
    "duplicate-key": ("output_key: answer\n", "output_key: answer\noutput_key: reply\n", "output_key"),
    "input-type-mismatch": ('tone == "brief"', 'tone == "breif"', '"breif"'),
    "unknown-filter": ("| trim)", "| trimmed)", "trimmed"),
    "unknown-function": ("{{ tone }} voice", "{{ voice_of(tone) }} voice", "voice_of"),
    "unknown-part-key": ("truncation_priority: 1", "truncation_prority: 1", "truncation_prority"),
    "unknown-role": ("role: assistant", "role: asistant", "asistant"),
    "unknown-test": ('tone == "brief"', "tone is briefly", "briefly"),
    "unquoted-input": (
        "content: |\n    You answer",
        "content: Hello {{ ticket }}\n- name: more\n  content: |\n    You answer",
        "ticket",
    ),
    "unused-import": (
        '{% import "macros.yml.j2" as macros',
        '{% import "macros.yml.j2" as other %}{% import "macros.yml.j2" as macros',
        "other",
    ),
    "unused-input": ("  tone: {enum", "  mood: {}\n  tone: {enum", "mood"),
    "unused-macro": (
        "{% set greeting",
        "{% macro bold(text) %}**{{ text }}**{% endmacro %}\n{% set greeting",
        "bold",
    ),
    "unused-variable": ("{% set greeting", "{% set farewell = 'Bye' %}\n{% set greeting", "farewell"),
    "wrong-arguments": ('title="Ticket"', 'titel="Ticket"', "titel"),
    "wrong-part-type": ("truncation_priority: 1", "truncation_priority: high", "high"),
    "yaml-syntax": ("role: assistant", "role assistant", "role assistant"),
}


def found_in(text: str) -> list[tuple[str, str, int]]:
    """The findings in the template with this text: the rule, the marked text, and where it stands."""
    snapshot, files = opened(f"-- {MAIN} --\n{text}-- macros.yml.j2 --\n{MACROS}")
    marked = files[MAIN].text
    return [
        (finding.rule, marked[finding.span.start : finding.span.end], finding.span.start)
        for finding in check(snapshot, f"/project/{MAIN}")
    ]


def test_the_template_is_right_as_it_stands() -> None:
    assert found_in(TEMPLATE) == []


@pytest.mark.parametrize("rule", PLANTED)
def test_a_planted_mistake_is_found_at_its_place(rule: str) -> None:
    old, new, marked = PLANTED[rule]
    assert old in TEMPLATE
    text = TEMPLATE.replace(old, new, 2 if rule == "no-truncatable-part" else 1)

    found = [(word, start) for name, word, start in found_in(text) if name == rule]

    assert [word for word, _ in found] == [marked]
    line = text[text.rfind("\n", 0, found[0][1]) + 1 :].split("\n", 1)[0]
    planted = new if marked in new else "token_limit: 2000"
    assert any(part in line and marked in line for part in planted.split("\n") if part.strip())
