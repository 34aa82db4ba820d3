"""Data that matches the inferred schema renders if nothing depends on the values themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment
from jsonschema import Draft202012Validator

from promptls.ide.contract_formats import contract_schema
from promptls.workspace.workspace import Workspace
from support.example_counts import examples

PATH = "/project/main.yml.j2"
TEMPLATES = (
    "{% for m in history %}{{ m.role }}: {{ m.content | trim }}{% endfor %}",
    (
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}{{ p.image.url if p.type == 'image' else p.text }}{% endfor %}{% endif %}"
        "{% if m.calls %}{% for c in m.calls %}{{ c.function.name }}{% endfor %}{% endif %}{% endfor %}"
    ),
    (
        "{% for t in tools %}{{ t.name }}{% for k, v in t.properties.items() %}{{ k }}: {{ v.type }}"
        "{% if k in t.required %}!{% endif %}{% if v.enum %}{{ v.enum | join }}{% endif %}{% endfor %}"
        "{% endfor %}"
    ),
    (
        "{% macro bullets(items, sign='-') %}{% for i in items %}{{ sign }}{{ i.at.title }}{% endfor %}"
        "{% endmacro %}{{ bullets(goals) }}{{ bullets(risks, sign='*') }}"
    ),
    "{% for x, y in {'a': one, 'b': two}.items() %}{{ x }}{% endfor %}{{ names | map('upper') | join }}",
    (
        "{% for k in config %}{{ config[k].value }}{% endfor %}{% for k in others.keys() %}{{ others[k].v }}"
        "{% endfor %}"
    ),
    "{% for i in range(count) %}{{ i }}{% endfor %}{{ price * 1.5 }}{{ tax - 1 }}{{ user.mail.strip() }}",
    "{% for n in tree recursive %}{{ n.label }}{% if n.below %}{{ loop(n.below) }}{% endif %}{% endfor %}",
    (
        "{{ x if x is string else x.name.first }}{% if y is mapping %}{{ y.a.b }}{% elif y is string %}"
        "{{ y.upper() }}{% else %}{{ y }}{% endif %}"
    ),
    (
        "{% for row in table %}{% for cell in row %}{{ cell.text.value }}{% endfor %}{% endfor %}"
        "{{ user.profile.city if user else 'nowhere' }}{{ (order or {}).id }}"
    ),
)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for values that match a schema of ours."""
    if "anyOf" in schema:
        return st.one_of([values(each) for each in schema["anyOf"]])
    kinds = schema.get("type", ["string", "number", "boolean"])
    found = [_of_kind(kind, schema) for kind in (kinds if isinstance(kinds, list) else [kinds])]
    return st.one_of(found)


def _of_kind(kind: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if kind == "array":
        return st.lists(values(schema.get("items", {})), max_size=2)
    if kind == "object":
        written = {key: values(below) for key, below in schema.get("properties", {}).items()}
        required = {key: written.pop(key) for key in schema.get("required", ())}
        fixed = st.fixed_dictionaries(required, optional=written)
        if "allOf" in schema:
            fixed = fixed.map(lambda value: _completed(value, schema)).filter(
                Draft202012Validator(schema).is_valid
            )
        if "additionalProperties" not in schema:
            return fixed
        others = st.dictionaries(st.sampled_from("vw"), values(schema["additionalProperties"]), max_size=2)
        return st.builds(lambda one, other: {**other, **one}, fixed, others)
    plain = {"string": st.sampled_from(["", "a b"]), "number": st.integers(0, 3), "boolean": st.booleans()}
    return plain.get(kind, st.none())


def _completed(value: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a value with the keys that its conditions require, if texts suffice."""
    for each in schema["allOf"]:
        if Draft202012Validator(each["if"]).is_valid(value):
            value = {**dict.fromkeys(each["then"]["required"], "t"), **value}
    return value


@pytest.mark.parametrize("number", range(len(TEMPLATES)))
@given(data=st.data())
@examples(25)
def test_what_the_schema_accepts_renders(number: int, data: st.DataObject) -> None:
    text = f"- name: a\n  content: |\n    {TEMPLATES[number]}\n"
    workspace = Workspace([Path("/project")])
    workspace.open(PATH, text, 1)
    schema = contract_schema(workspace.snapshot, PATH)

    drawn = data.draw(values(schema))

    Draft202012Validator(schema).validate(drawn)
    Environment(autoescape=False).from_string(text).render(drawn)
