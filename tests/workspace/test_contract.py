from __future__ import annotations

from pathlib import Path

import pytest

from promptls.semantic.types.assignability import mismatch
from promptls.semantic.types.schemas import shape_of_value
from promptls.workspace.contract import inputs_of, needed_shapes, needs_of
from support.fixture import MAIN, opened

ENTRY = f"/project/{MAIN}"


def needs(fixture: str) -> dict[str, set[str]]:
    """Return the names that the entry takes, each with the files that read it."""
    snapshot, _ = opened(fixture)
    found = needs_of(snapshot, ENTRY).by_name
    return {name: {Path(need.path).name for need in each} for name, each in found.items()}


@pytest.mark.parametrize(
    ("fixture", "expected"),
    [
        ("{% include 's.j2' %}{{ a }}\n-- s.j2 --\n{{ a }}{{ b }}\n",
         {"a": {MAIN, "s.j2"}, "b": {"s.j2"}}),
        ("{% set b = 1 %}{% include 's.j2' %}\n-- s.j2 --\n{{ b }}\n", {}),
        ("{% include 's.j2' %}{% set b = 1 %}\n-- s.j2 --\n{{ b }}\n", {"b": {"s.j2"}}),
        ("{% if c %}{% set b = 1 %}{% endif %}{% include 's.j2' %}\n-- s.j2 --\n{{ b }}\n",
         {"b": {"s.j2"}, "c": {MAIN}}),
        ("{% for b in c %}{% include 's.j2' %}{% endfor %}\n-- s.j2 --\n{{ b }}{{ loop.index }}\n",
         {"c": {MAIN}}),
        ("{% for b in c %}{{ b }}{% endfor %}{% include 's.j2' %}\n-- s.j2 --\n{{ b }}\n",
         {"b": {"s.j2"}, "c": {MAIN}}),
        ("{% include 's.j2' without context %}\n-- s.j2 --\n{{ b }}\n", {}),
        ("{% from 's.j2' import m %}{{ m() }}\n-- s.j2 --\n{% macro m() %}{{ b }}{% endmacro %}\n", {}),
        ("{% from 's.j2' import m with context %}\n-- s.j2 --\n{% macro m() %}{{ b }}{% endmacro %}\n",
         {"b": {"s.j2"}}),
        ("{% include 's.j2' %}\n-- s.j2 --\n{% include 't.j2' %}\n-- t.j2 --\n{{ b }}\n",
         {"b": {"t.j2"}}),
        (("{% set b = 1 %}{% include 's.j2' %}\n-- s.j2 --\n{% include 't.j2' %}\n"
         "-- t.j2 --\n{{ b }}\n"), {}),
        ("{% include 's.j2' %}\n-- s.j2 --\n{{ b }}{% include 'main.yml.j2' %}\n", {"b": {"s.j2"}}),
        ("{% extends 's.j2' %}{% set b = 1 %}\n-- s.j2 --\n{{ b }}{{ c }}\n", {"c": {"s.j2"}}),
    ],
)  # fmt: skip
def test_an_entry_needs_what_its_includes_read_and_it_does_not_bind(
    fixture: str, expected: dict[str, set[str]]
) -> None:
    assert needs(fixture) == expected


@pytest.mark.parametrize(
    ("fixture", "is_whole"),
    [
        ("{{ a }}\n", True),
        ("{% include name %}\n", False),
        ("{% include 'gone.j2' %}\n", False),
        ("{% include 'gone.j2' ignore missing %}\n", True),
        ("{% include 's.j2' %}\n-- s.j2 --\n{% include name %}\n", False),
    ],
)
def test_needs_are_whole_where_every_include_can_be_followed(fixture: str, *, is_whole: bool) -> None:
    assert needs_of(opened(fixture)[0], ENTRY).is_whole is is_whole


@pytest.mark.parametrize(
    ("fixture", "expected"),
    [
        ("{% for m in history %}{% include 's.j2' %}{% endfor %}\n-- s.j2 --\n{{ m.author }}\n",
         {"history": "list of mappings with author"}),
        ("{{ a.x }}{% include 's.j2' %}\n-- s.j2 --\n{{ a.y }}\n", {"a": "mapping with x, y"}),
        ("{% set u = a.boss %}{% include 's.j2' %}\n-- s.j2 --\n{{ u.name }}{{ a.boss.age }}\n",
         {"a": "mapping with boss"}),
        (("{% include 's.j2' %}\n-- s.j2 --\n{#---\ninput_keys: {a: {type: integer}, b: {}}\n---#}\n"
         "{{ a }}\n"), {"a": "number"}),
        (("{#---\ninput_keys: {a: {type: array}}\n---#}\n{% include 's.j2' %}\n-- s.j2 --\n"
         "{% for x in a %}{{ x.y }}{% endfor %}\n"), {"a": "list of mappings with y"}),
    ],
)  # fmt: skip
def test_shapes_come_through_includes(fixture: str, expected: dict[str, str]) -> None:
    inputs = inputs_of(opened(fixture)[0], ENTRY)

    assert {each.name: each.shape.description for each in inputs} == expected


def test_an_include_under_a_condition_makes_its_inputs_optional() -> None:
    fixture = "{% if a %}{% include 's.j2' %}{% endif %}\n-- s.j2 --\n{{ a.b }}{{ c }}\n"

    inputs = inputs_of(opened(fixture)[0], ENTRY)

    assert {each.name: each.shape.optional for each in inputs} == {"a": True, "c": False}


def test_inputs_know_where_they_are_read_and_declared() -> None:
    fixture = (
        "{#---\ninput_keys: {a: {description: first}, z: {}}\n---#}\n{{ a }}{% include 's.j2' %}\n"
        "-- s.j2 --\n{{ a }}{{ b }}\n"
    )
    snapshot, files = opened(fixture)

    found = {each.name: each for each in inputs_of(snapshot, ENTRY)}

    def text(path: str, start: int, end: int) -> tuple[str, str]:
        name = Path(path).name
        return name, files[name].text[start:end]

    assert [text(path, *span) for path, span in found["a"].places] == [(MAIN, "a"), ("s.j2", "a")]
    assert [text(path, *span) for path, span in found["b"].places] == [("s.j2", "b")]
    assert found["z"].places == ()
    assert found["a"].schema == {"description": "first"}
    assert found["b"].declared is None
    assert found["a"].declared is not None


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("{% for m in x %}{{ m.a }}{% endfor %}", [{"a": 1}, {}], None),
        ("{% for m in x %}{{ m.a }}{% endfor %}", [{"b": 1}], "`x[…]` lacks `a`; it has `b`"),
        ("{% for m in x %}{{ m.author }}{% endfor %}", [{"autor": 1}],
         "`x[…]` lacks `author`; it has `autor`"),
        ("{% for m in x %}{{ m.a }}{% endfor %}", "text",
         "`x` is a text, and is used as list of mappings with a"),
        ("{% for m in x %}{{ m }}{% endfor %}", "text", None),
        ("{% for m in x %}{{ m }}{% endfor %}", 3, "`x` is a number, and is used as list of scalars"),
        ("{{ x.a.b }}", {"a": {"c": 1}}, "`x.a` lacks `b`; it has `c`"),
        ("{{ x.a.b }}", {"a": "c"}, "`x.a` is a text, and is used as mapping with b"),
        ("{% if x.a %}{{ x.a }}{% endif %}", {}, None),
        ("{{ x.items }}", {}, None),
        ("{{ x.strip() }}{{ y + 1 }}", 3, None),
        ("{% if x is string %}{{ x }}{% else %}{{ x.a }}{% endif %}", "c", None),
        ("{% if x is string %}{{ x }}{% else %}{{ x.a }}{% endif %}", {"b": 1}, "`x` lacks `a`; it has `b`"),
        ("{{ x }}{{ x | upper }}{% if x == 3 %}{% endif %}", ["a"], None),
    ],
)  # fmt: skip
def test_a_value_fits_unless_a_use_says_that_it_does_not(
    text: str, value: object, expected: str | None
) -> None:
    shape = needed_shapes(opened(text)[0], ENTRY)["x"]

    found = mismatch("x", shape, shape_of_value(value))
    assert (found.message if found is not None else None) == expected
