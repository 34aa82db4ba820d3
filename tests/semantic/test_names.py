from __future__ import annotations

import pytest

from promptls.semantic.template import Template
from promptls.syntax.source import Source


def inputs(text: str) -> set[str]:
    """Return the names that a text may take from its caller."""
    return set(Template(Source.of(text)).names.input_names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ a }}{{ b.c }}{{ d['e'] }}", {"a", "b", "d"}),
        ("{% set a = b %}{{ a }}", {"b"}),
        ("{{ a }}{% set a = 1 %}", {"a"}),
        ("{% for a in b %}{{ a }}{{ loop.index }}{% endfor %}{{ a }}", {"a", "b"}),
        ("{% for a in a %}{{ a }}{% endfor %}", {"a"}),
        ("{% for a, b in c.items() %}{{ a }}{{ b }}{% endfor %}", {"c"}),
        ("{% for (a, b), c in d %}{{ a }}{{ b }}{{ c }}{% endfor %}", {"d"}),
        ("{% for a in b if a.c and d %}{% endfor %}", {"b", "d"}),
        ("{% for a in b %}{% set c = 1 %}{% endfor %}{{ c }}", {"b", "c"}),
        ("{% for a in b %}{% else %}{{ a }}{% endfor %}", {"a", "b"}),
        ("{% if a %}{% set b = 1 %}{% endif %}{{ b }}", {"a", "b"}),
        ("{% if a %}{% set b = 1 %}{{ b }}{% endif %}", {"a"}),
        ("{% set b = 0 %}{% if a %}{% set b = 1 %}{% endif %}{{ b }}", {"a"}),
        (
            "{% macro m(a, b=c) %}{{ a }}{{ b }}{{ varargs }}{{ caller() }}{% endmacro %}{{ m(1) }}",
            {"c"},
        ),
        ("{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(1) }}", set()),
        ("{% macro m() %}{{ a }}{% endmacro %}{% set a = 1 %}{{ m() }}", {"a"}),
        ("{% import 'x' as m %}{{ m.f() }}", set()),
        ("{% from 'x' import f, g as h %}{{ f() }}{{ h }}{{ g }}", {"g"}),
        ("{% with a = b, c = 1 %}{{ a }}{{ c }}{% endwith %}{{ c }}", {"b", "c"}),
        ("{% with a = 1, b = a %}{{ b }}{% endwith %}", {"a"}),
        ("{% call(a) m(b) %}{{ a }}{% endcall %}", {"b", "m"}),
        ("{% set a %}{{ b }}{% endset %}{{ a }}", {"b"}),
        ("{% set n = namespace(a=0) %}{% for x in y %}{% set n.a = x %}{% endfor %}{{ n.a }}", {"y"}),
        ("{% set n.a = 1 %}", {"n"}),
        ("{{ range(3) }}{{ dict(a=1) }}{{ escape_special_characters(a) }}{{ token_limit }}", {"a"}),
        ("{% block a %}{{ self.a() }}{{ super() }}{% endblock %}", set()),
        ("{% filter upper %}{{ a }}{% endfilter %}", {"a"}),
        ("{{ a if b else c }}{{ d is defined }}{{ e | default(f) }}", {"a", "b", "c", "d", "e", "f"}),
        ("{# {{ a }} #}{% raw %}{{ b }}{% endraw %}", set()),
        ("{% include 'x' %}{% include y %}", {"y"}),
        (
            "- name: a\n{% for t in u %}\n- name: {{ t }}\n- name: {{ t }}\n{% endfor %}\n- name: {{ t }}",
            {"t", "u"},
        ),
    ],
)
def test_the_inputs_of_a_text_are_the_names_that_nothing_binds(text: str, names: set[str]) -> None:
    assert inputs(text) == names


def test_a_reference_leads_to_the_nearest_binding() -> None:
    text = "{% set a = 1 %}{% for a in b %}{{ a }}{% endfor %}{{ a }}"
    names = Template(Source.of(text)).names
    kinds = [
        reference.binding.kind
        for reference in names.references
        if reference.name == "a" and reference.binding
    ]

    assert kinds == ["for", "set"]


def test_a_name_set_in_one_branch_is_uncertain_behind_it() -> None:
    names = Template(Source.of("{% if x %}{% set a = 1 %}{% endif %}{{ a }}")).names
    (reference,) = (reference for reference in names.references if reference.name == "a")

    assert reference.binding is not None
    assert not reference.certain


def test_places_of_names_count_from_the_start_of_the_file() -> None:
    text = "- name: a\n- name: {{ b }}\n"
    (reference,) = Template(Source.of(text)).names.references

    assert text[reference.span.start : reference.span.end] == "b"


def test_jinja_gives_every_template_its_own_blocks_as_self() -> None:
    assert inputs("{{ self.title() }}{% block title %}{{ super() }}{% endblock %}") == set()
