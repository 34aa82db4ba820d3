"""What the rules about parts say, case by case."""

from __future__ import annotations

import pytest

from support.cases import cases
from support.fixture import check_findings, check_fix

FOUND = cases("part_rules_found")

SILENT = cases("part_rules_silent")
RULES = (
    "stripped-whitespace",
    "swallowed-text",
    "special-token",
    "newest-truncated-first",
    "unknown-role",
    "preset-tokens",
    "no-truncatable-part",
    "duplicate-part-key",
    "literal-line-break",
    "html-escape",
    "dict-method",
    "blank-line-from-tag",
    "glued-part",
    "conflicting-expected-keys",
)


@pytest.mark.parametrize("fixture", FOUND.values(), ids=FOUND)
def test_a_mistake_in_a_part_is_found(fixture: str) -> None:
    check_findings(fixture)


@pytest.mark.parametrize("fixture", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_what_is_right(fixture: str) -> None:
    check_findings(fixture)
    for rule in RULES:
        check_findings(fixture, rule)


FIXES = {
    "an anchored value is quoted behind its anchor": (
        "- name: a\n  content: &b yes\n",
        '- name: a\n  content: &b "yes"\n',
        None,
    ),
    "a brace that is missing goes where the other one is": (
        "- name: a\n  content: |\n    {{ b.c }/{{ d.e }}\n",
        "- name: a\n  content: |\n    {{ b.c }}/{{ d.e }}\n",
        None,
    ),
    "a brace becomes the end of a tag": (
        "- name: a\n  content: |\n    {% if b }c{% endif %}\n",
        "- name: a\n  content: |\n    {% if b %}c{% endif %}\n",
        None,
    ),
    "a space behind the colon of the line above": (
        "- name:a\n  content: b\n- name: c\n  role: user\n  content: d\n",
        "- name: a\n  content: b\n- name: c\n  role: user\n  content: d\n",
        None,
    ),
    "a part gets its line break back": (
        "- name: a\n  content: b\n{%- if c -%}\n- name: d\n  content: e\n{%- endif %}\n",
        "- name: a\n  content: b\n{%- if c %}\n- name: d\n  content: e\n{%- endif %}\n",
        None,
    ),
    "an input in braces is quoted and escaped": (
        "- {name: a, content: Hi {{ b.c }} there}\n",
        '- {name: a, content: "Hi {{ escape_special_characters(b.c) }} there"}\n',
        "Quote it, escaped",
    ),
    "spaces stay as markers": (
        "- name: a\n  content: |\n    b  \n",
        "- name: a\n  content: |\n    b<|space|><|space|>\n",
        None,
    ),
    "tokens go": ("- name: a\n  tokens: [1]\n  content: b\n", "- name: a\n  content: b\n", None),
    "tokens at the end go": ("- name: a\n  content: b\n  tokens: [1]\n", "- name: a\n  content: b\n", None),
    "tokens in braces go": (
        "- {name: a, content: b, tokens: [1]}\n",
        "- {name: a, content: b}\n",
        None,
    ),
    "tokens ahead of the name go": (
        "- tokens: [1]\n  name: a\n  content: b\n",
        "- name: a\n  content: b\n",
        None,
    ),
    "the dropped key goes": (
        "- name: a\n  content: |\n    b\n  content: c\n",
        "- name: a\n  content: c\n",
        None,
    ),
    "written line breaks become real ones": (
        "- name: a\n  content: |\n    b\\nc\n",
        "- name: a\n  content: |\n    b\n    c\n",
        None,
    ),
    "HTML goes": (
        "- name: a\n  content: |\n    {{ b | e }}\n",
        "- name: a\n  content: |\n    {{ b }}\n",
        "Remove `e`",
    ),
    "HTML becomes YAML": (
        "- name: a\n  content: |\n    {{ b.c | trim | escape }}\n",
        "- name: a\n  content: |\n    {{ escape_special_characters(b.c | trim) }}\n",
        "Escape for YAML instead",
    ),
    "a key in brackets": (
        "- name: a\n  content: |\n    {{ order.items | join }}\n",
        "- name: a\n  content: |\n    {{ order['items'] | join }}\n",
        None,
    ),
    "lines of tags go": (
        "- name: a\n  content: |\n    b\n    {% if c %}\n    d\n    {% endif %}\n    e\n",
        "- name: a\n  content: |\n    b\n    {%- if c %}\n    d\n    {%- endif %}\n    e\n",
        None,
    ),
    "a blank line that is meant stays": (
        "- name: a\n  content: |\n    b\n\n    {% if c %}\n    d\n    {% endif %}\n    e\n",
        "- name: a\n  content: |\n    b\n\n    {% if c %}\n    d\n    {%- endif %}\n    e\n",
        None,
    ),
    "an expected key is spelt right": (
        "- name: a\n  expected_template_data_keys: [usr]\n  content: '{{ user }}'\n",
        "- name: a\n  expected_template_data_keys: [user]\n  content: '{{ user }}'\n",
        None,
    ),
    "a read variable is expected": (
        "- name: a\n  expected_template_data_keys: [b]\n  content: '{{ b }}{{ c }}'\n",
        "- name: a\n  expected_template_data_keys: [b, c]\n  content: '{{ b }}{{ c }}'\n",
        "Add `c`",
    ),
    "a printed priority loses its quotes": (
        "- name: a\n  truncation_priority: '{{ b }}'\n  content: c\n",
        "- name: a\n  truncation_priority: {{ b }}\n  content: c\n",
        "Remove the quotes",
    ),
    "a printed content is quoted": (
        "- name: a\n  content: {{ 5 if b else 'c' }}\n",
        "- name: a\n  content: \"{{ 5 if b else 'c' }}\"\n",
        "Quote it",
    ),
    "a role is written where not even a colon stands": (
        "- {name: a, content: b, role}\n",
        "- {name: a, content: b, role: user}\n",
        "Write `user`",
    ),
}


@pytest.mark.parametrize(("before", "after", "title"), FIXES.values(), ids=FIXES)
def test_a_fix_makes_a_part_right(before: str, after: str, title: str | None) -> None:
    check_fix(before, after, title)
