"""Signs and constants of other languages in Jinja: what is said of them, and what Jinja has instead."""

from __future__ import annotations

import pytest
from jinja2 import Environment

from promptls.rules.checking.check import check
from support.cases import cases
from support.fixture import MAIN, check_findings, check_fix, opened

IN_JINJA = {
    "&&": ("{% if a && b %}c{% endif %}", "{% if a and b %}c{% endif %}"),
    "&& without spaces": ("{% if a&&b %}c{% endif %}", "{% if a and b %}c{% endif %}"),
    "||": ("{{ 'c' if a || b }}", "{{ 'c' if a or b }}"),
    "!": ("{% if !a %}c{% endif %}", "{% if not a %}c{% endif %}"),
    "! ahead of a call and &&": (
        "{% if !a.b(1) && !c %}d{% endif %}",
        "{% if not a.b(1) and not c %}d{% endif %}",
    ),
    "===": ("{% if a === 'b' %}c{% endif %}", "{% if a == 'b' %}c{% endif %}"),
    "!==": ("{% if a !== b %}c{% endif %}", "{% if a != b %}c{% endif %}"),
    "<>": ("{% if a <> b %}c{% endif %}", "{% if a != b %}c{% endif %}"),
    "a single =": ("{% if a = b %}c{% endif %}", "{% if a == b %}c{% endif %}"),
    "a single = beside an argument": (
        "{% if a(b=1) = 2 && c %}d{% endif %}",
        "{% if a(b=1) == 2 and c %}d{% endif %}",
    ),
    "->": ("{{ a->b }}", "{{ a.b }}"),
    "++": ("{% set a = 1 %}{% set a++ %}", "{% set a = 1 %}{% set a = a + 1 %}"),
    "+=": ("{% set a = 1 %}{% set a += 2 %}", "{% set a = 1 %}{% set a = a + 2 %}"),
    ":=": ("{% set a := 1 %}{{ a }}", "{% set a = 1 %}{{ a }}"),
    "no set": ("{% total = 1 %}{{ total }}", "{% set total = 1 %}{{ total }}"),
    "?:": ("{{ a.b ? c[1:2] : d }}", "{{ c[1:2] if a.b else d }}"),
    "?: with other signs": ("{% set a = b && c ? 1 : 2 %}{{ a }}", None),
    "a semicolon": ("{% set a = 1; %}{{ a }}", "{% set a = 1 %}{{ a }}"),
    "a brace": ("{% if a { %}c{% endif %}", "{% if a %}c{% endif %}"),
    "then": ("{% if a then %}c{% endif %}", "{% if a %}c{% endif %}"),
    "else if": ("{% if a %}c{% else if b %}d{% endif %}", "{% if a %}c{% elif b %}d{% endif %}"),
    "of": ("{% for a of b %}c{% endfor %}", "{% for a in b %}c{% endfor %}"),
    "brackets around a loop": ("{% for (a in b) %}c{% endfor %}", "{% for a in b %}c{% endfor %}"),
    "typographic quotes": ("{{ a | default(“b”) }}", '{{ a | default("b") }}'),
    "backticks": ("{{ a | default(`b`) }}", '{{ a | default("b") }}'),
    "assign": ("{% assign a = 1 %}{{ a }}", "{% set a = 1 %}{{ a }}"),
    "whitespace control": ("{%- if a && b -%}c{%- endif -%}", "{%- if a and b -%}c{%- endif -%}"),
    "signs in a text": (
        "{% if a == '&&' && b == '||' %}c{% endif %}",
        "{% if a == '&&' and b == '||' %}c{% endif %}",
    ),
    "! ahead of a comparison denies less than not": ("{% if !a == b %}c{% endif %}", None),
    "what becomes no Jinja either": ("{% if a && %}c{% endif %}", None),
    "a sign behind a value": ("{{ a!.b }}", None),
    "a text with places to fill in": ("{{ `a${b}` }}", None),
    "brackets and calls": ("{{ f(a && b, [!c || d]) }}", "{{ f(a and b, [not c or d]) }}"),
    "a function": ("{{ a.map(b => b.c) }}", None),
}


@pytest.mark.parametrize(("before", "after"), IN_JINJA.values(), ids=IN_JINJA)
def test_what_is_meant_is_offered_as_jinja_writes_it(before: str, after: str | None) -> None:
    part = "- name: a\n  content: |\n    {}\n"
    text = part.format(before)
    snapshot, _ = opened(text)
    found = [each for each in check(snapshot, f"/project/{MAIN}") if each.rule == "jinja-syntax"]
    assert len(found) == 1
    if after is None:
        assert not found[0].fixes
        return
    Environment().from_string(after)
    for edit in sorted(found[0].fixes[0].edits, key=lambda each: each.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert text == part.format(after)


SAID = cases("foreign_jinja")


@pytest.mark.parametrize("fixture", SAID.values(), ids=SAID)
def test_what_is_said_of_other_languages(fixture: str) -> None:
    check_findings(fixture)


def test_a_constant_becomes_that_of_jinja() -> None:
    check_fix(
        "- name: a\n  content: |\n    {% if b == null %}c{% endif %}\n",
        "- name: a\n  content: |\n    {% if b == none %}c{% endif %}\n",
    )
