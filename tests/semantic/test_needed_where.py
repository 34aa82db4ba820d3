"""Where optional values are needed after all, and where they may be None."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.template import Template
from promptls.semantic.types.assignability import describe_clause
from promptls.semantic.types.shape import Shape
from promptls.syntax.source import Source


def shapes_of(text: str) -> Mapping[str, Shape]:
    return used_shapes(Template(Source.of(f"- name: a\n  content: |\n    {text}\n")))


def needed_where(shape: Shape) -> str:
    """Return where an optional value is needed, clause by clause."""
    return "; ".join(sorted(map(describe_clause, shape.needed)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% if m.role == 'tool' %}{{ m.k }}{% endif %}", "`role` is 'tool'"),
        ("{% if 'tool' == m.role %}{{ m.k.a }}{% endif %}", "`role` is 'tool'"),
        ("{{ m.k if m.role == 'tool' else 1 }}", "`role` is 'tool'"),
        ("{{ m.role == 'tool' and m.k }}", "`role` is 'tool'"),
        ("{{ m.role == 'tool' and m.k | trim }}", "`role` is 'tool'"),
        ("{% if m.role in ['a', 'b'] %}{{ m.k }}{% endif %}", "`role` is 'a' or 'b'"),
        ("{% if m.role == 'a' or m.role == 'b' %}{{ m.k }}{% endif %}", "`role` is 'a' or 'b'"),
        ("{% if m.role is eq('a') %}1{% else %}{{ m.k }}{% endif %}", "`role` is not 'a'"),
        ("{% if not (m.role != 'a') %}{{ m.k }}{% endif %}", "`role` is 'a'"),
        ("{% if m.role == 'a' %}1{% elif m.role == 'b' %}{{ m.k }}{% endif %}", "`role` is 'b'"),
        ("{% if m.role == 'a' %}1{% elif m.x == 2 %}1{% else %}{{ m.k }}{% endif %}",
         "`role` is not 'a' and `x` is not 2"),
        ("{% if m.role == 'a' and m.x == 2 %}{{ m.k }}{% endif %}", "`role` is 'a' and `x` is 2"),
        ("{% if m.of.kind == 'a' %}{{ m.k }}{% endif %}", "`of.kind` is 'a'"),
        ("{% if m is mapping and m.role == 'a' %}{{ m.k }}{% endif %}", "`role` is 'a'"),
        ("{% if m.of and m.of.kind == 'a' %}{{ m.k }}{% endif %}", "`of.kind` is 'a'"),
        ("{% set role = m.role %}{% if role == 'a' %}{{ m.k }}{% endif %}", "`role` is 'a'"),
        ("{% if m.role == 'a' %}{{ m.k }}{% endif %}{% if m.role == 'b' %}{{ m.k }}{% endif %}",
         "`role` is 'a'; `role` is 'b'"),
        ("{% macro show(n) %}{% if n.role == 'a' %}{{ n.k }}{% endif %}{% endmacro %}{{ show(m) }}",
         "`role` is 'a'"),
    ],
)  # fmt: skip
def test_a_key_is_needed_where_another_one_is_a_constant(text: str, expected: str) -> None:
    mapping = shapes_of(text)["m"]
    key = mapping.key("k")
    assert key is not None
    assert key.optional
    assert needed_where(key) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{% if m.role == 'a' %}{{ m.k }}{% else %}{{ m.k }}{% endif %}",
        "{% if m.role == 'a' %}{{ m.k }}{% elif m.role == 'b' %}{{ m.k }}{% else %}{{ m.k }}{% endif %}",
        "{% if m.role == 'a' %}{{ m.k }}{% endif %}{% if m.role != 'a' %}{{ m.k }}{% endif %}",
        "{% if m.role == 'a' %}{{ m.k }}{% endif %}{{ m.k }}",
        "{% if m.role | lower == 'a' %}{{ m.k }}{% endif %}",
        "{% if m.role == other %}{{ m.k }}{% endif %}",
        "{% if m.role in ['a', other] %}{{ m.k }}{% endif %}",
        "{% for n in ns %}{% if n.role == 'a' %}{{ m.k }}{% endif %}{% endfor %}",
        "{% if (m.role or 'a') == 'a' %}{{ m.k }}{% endif %}",
    ],
)
def test_a_key_is_needed_everywhere_where_no_constant_says_otherwise(text: str) -> None:
    key = shapes_of(text)["m"].key("k")
    assert key is not None
    assert not key.optional


def test_a_loop_over_selected_elements_says_what_they_are() -> None:
    text = (
        "{% for m in ms | selectattr('role', 'equalto', 'tool') %}{{ m.k }}{% endfor %}"
        "{% for m in ms if m.role == 'user' and m.name %}{{ m.name }}{{ m.l }}{% endfor %}"
    )
    element = shapes_of(text)["ms"].element
    assert element is not None
    keys = dict(element.keys)
    assert {name: (shape.optional, needed_where(shape)) for name, shape in keys.items()} == {
        "k": (True, "`role` is 'tool'"),
        "l": (True, "`role` is 'user'"),
        "name": (True, ""),
        "role": (False, ""),
    }


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("{{ x | default('a') }}", True),
        ("{{ x | default('a') | trim }}", True),
        ("{% for i in x | default([]) %}{{ i }}{% endfor %}", False),
        ("{% for i in x | default([], true) %}{{ i }}{% endfor %}", True),
        ("{% for i in x | default([], boolean=True) %}{{ i }}{% endfor %}", True),
        ("{% for i in x or [] %}{{ i }}{% endfor %}", True),
        ("{% set y = x | default({}) %}{{ y.a }}", False),
        ("{% set y = x | default([]) %}{% for i in y or [] %}{{ i }}{% endfor %}", True),
        ("{{ (x | default(0)) + 1 }}", False),
        ("{{ (x | default('')).strip() }}", False),
        ("{% if x is defined %}{{ x }}{% endif %}", True),
        ("{% if x is defined %}{{ x | join }}{% endif %}", False),
        ("{% if x is defined and x %}{{ x | join }}{% endif %}", True),
        ("{% if x is defined and x is not none %}{{ x | join }}{% endif %}", True),
        ("{{ x | join if x is defined else 1 }}", False),
        ("{% if x %}{{ x.strip() }}{% endif %}", True),
        ("{{ m.get('x', []) | join }}", False),
        ("{% if 'x' in m %}{{ m.x | join }}{% endif %}", False),
        ("{% if 'x' not in m %}1{% else %}{{ m['x'] | join }}{% endif %}", False),
        ("{% if 'x' in m %}{{ m.x }}{% endif %}", True),
    ],
)
def test_null_is_taken_where_it_renders(text: str, takes: bool) -> None:
    shapes = shapes_of(text)
    shape = shapes["x"] if "x" in shapes else dict(shapes["m"].keys)["x"]
    assert shape.optional
    assert shape.refuses_null is not takes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ x + y + 'a' }}", {"x": "text", "y": "text"}),
        ("{{ 'a' + x + y }}", {"x": "text", "y": "text"}),
        ("{{ x + (y | trim) }}", {"x": "text", "y": "text, number or boolean"}),
        ("{{ x + y | string + 'a' }}", {"x": "text", "y": "text, number or boolean"}),
        ("{{ x + (y + 1) }}", {"x": "number", "y": "number"}),
        ("{{ x + y }}", {"x": "any", "y": "any"}),
    ],
)
def test_a_sum_says_what_its_terms_are(text: str, expected: dict[str, str]) -> None:
    assert {name: shape.description for name, shape in shapes_of(text).items()} == expected
