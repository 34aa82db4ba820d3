from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from pydantic import BaseModel, TypeAdapter

from promptls.ide.contract_formats import (
    FORMATS,
    contract_actions,
    contract_schema,
    contract_text,
    given_data,
)
from promptls.rendering.samples import samples_of
from promptls.workspace.workspace import Workspace
from support.example_counts import examples
from support.fixture import MAIN, opened

ENTRY = f"/project/{MAIN}"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yml.j2"))
HISTORY = """\
{#---
description: Answers with what was said before.
input_keys:
  question: {type: string, description: What is asked.}
  tone: {type: string, enum: [dry, warm], default: dry}
---#}
- name: history
  content: |
    {% for m in history %}{{ m.author }}: {{ m.text }}
    {% if m.files %}{% for f in m.files %}{{ f.path }}{% endfor %}{% endif %}
    {% endfor %}
- name: question
  content: {{ question }} {{ tone }} {{ shorten(question, 3) }} {{ user['first-name'] }} {{ user.class }}
"""


def executed(source: str, name: str) -> dict[str, Any]:
    """Execute a module with this source; return its names."""
    module = ModuleType(name)
    exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def text_of(fixture: str, form: str) -> str:
    return contract_text(opened(fixture)[0], ENTRY, form)


def test_the_schema_says_what_is_declared_and_what_is_inferred() -> None:
    schema = contract_schema(opened(HISTORY)[0], ENTRY)

    assert schema["description"] == "Answers with what was said before."
    assert schema["required"] == ["history", "question", "user"]
    assert schema["properties"] == {
        "history": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "author": {"type": ["string", "number", "boolean"]},
                    "files": {
                        "type": ["array", "null"],
                        "items": {
                            "type": "object",
                            "properties": {"path": {"type": ["string", "number", "boolean"]}},
                            "required": ["path"],
                        },
                    },
                    "text": {"type": ["string", "number", "boolean"]},
                },
                "required": ["author", "text"],
            },
        },
        "question": {"type": "string", "description": "What is asked."},
        "tone": {"type": "string", "enum": ["dry", "warm"], "default": "dry"},
        "user": {
            "type": "object",
            "properties": {
                "class": {"type": ["string", "number", "boolean"]},
                "first-name": {"type": ["string", "number", "boolean"]},
            },
            "required": ["class", "first-name"],
        },
    }


def test_the_pydantic_model_can_be_imported_and_validates() -> None:
    names = executed(text_of(HISTORY, "pydantic"), "history_inputs")
    model = names["MainInputs"]

    made = model.model_validate(
        {
            "question": "Why?",
            "history": [{"author": "a", "text": "b", "files": [{"path": "c"}]}, {"author": "d", "text": 1}],
            "user": {"first-name": "Ada", "class": "x"},
            "shorten": len,
        }
    )

    assert made.tone == "dry"
    assert made.history[0].files[0].path == "c"
    assert made.user.first_name == "Ada"
    with pytest.raises(ValueError, match=r"history\.0\.text"):
        model.model_validate({"question": "", "history": [{"author": "a"}], "user": {}, "shorten": len})


def test_the_typed_dict_can_be_imported_and_validates() -> None:
    source = text_of(HISTORY, "typeddict")
    assert executed(source, "history_inputs")["MainInputs"].__optional_keys__ == {"tone"}
    adapter = TypeAdapter(executed(source, "history_inputs")["MainInputs"])

    adapter.validate_python(
        {
            "question": "Why?",
            "history": [{"author": "a", "text": "b"}],
            "user": {"first-name": "Ada", "class": "x"},
            "shorten": len,
        }
    )
    with pytest.raises(ValueError, match="user"):
        adapter.validate_python({"question": "Why?", "history": [], "shorten": len})


@pytest.mark.parametrize("form", ["pydantic", "typeddict"])
def test_a_prompt_without_inputs_gives_an_empty_class(form: str) -> None:
    source = text_of("- name: a\n  content: b\n", form)

    assert "class MainInputs(" in source
    executed(source, "no_inputs")


@pytest.mark.parametrize(
    "key", ["class", "json", "model_config", "_private", "2nd", "a-b", "naïve", "self", "schema", 'x\\"y']
)
def test_any_key_becomes_an_attribute(key: str) -> None:
    names = executed(
        text_of(f"- name: a\n  content: {{{{ x[{json.dumps(key)}] }}}}\n", "pydantic"), "any_key"
    )

    names["MainInputs"].model_validate({"x": {key: "value"}})
    with pytest.raises(ValueError, match="missing"):
        names["MainInputs"].model_validate({"x": {}})


def test_data_that_the_file_gives_goes_before_what_is_inferred() -> None:
    text = (
        "{#---\nexamples:\n  - {notes: [1, a], user: null, size: big}\n---#}\n"
        "- name: a\n  content: {{ notes.strip() }} {{ user.name }} {{ size + 1 }} {{ other }}\n"
    )

    schema = contract_schema(opened(text)[0], ENTRY)

    assert schema["properties"]["notes"] == {}
    assert schema["properties"]["size"] == {}
    assert schema["properties"]["user"]["type"] == ["object", "null"]
    assert schema["required"] == ["notes", "size", "user"]


def assert_the_formats_accept_the_data(workspace: Workspace, path: str) -> None:
    """Assert that the schema and the model accept every sample and example of a file."""
    snapshot = workspace.snapshot
    schema = contract_schema(snapshot, path)
    Draft202012Validator.check_schema(schema)
    model = last_class(executed(contract_text(snapshot, path, "pydantic"), "generated"), BaseModel)
    executed(contract_text(snapshot, path, "typeddict"), "generated")
    for data in given_data(snapshot, path):
        Draft202012Validator(schema).validate(data)
        model.model_validate({**dict.fromkeys(functions(model), len), **data})


def last_class(names: dict[str, Any], base: type) -> Any:
    return [each for each in names.values() if isinstance(each, type) and issubclass(each, base)][-1]


def functions(model: Any) -> list[str]:
    return [name for name, each in model.model_fields.items() if each.annotation == Callable[..., object]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_formats_accept_the_samples_of_the_examples(path: Path) -> None:
    workspace = Workspace([path.parents[1]])
    workspace.scan()

    assert_the_formats_accept_the_data(workspace, str(path))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "yes"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
    max_leaves=6,
)
USES = (
    "{{ a }}", "{{ a.x }}", "{{ a.x.y }}", "{{ a + 1 }}", "{{ b | join }}", "{% if a %}{{ a.z }}{% endif %}",
    "{% for m in a %}{{ m.x }}{% endfor %}", "{% for m in b.y %}{{ m }}{% endfor %}", "{{ b.strip() }}",
    "{% for k, v in b.items() %}{{ v.x }}{% endfor %}", "{{ escape_special_characters(b) }}", "{{ a[0].x }}",
    "{% for r in b | batch(2) %}{% for m in r %}{{ m.x }}{% endfor %}{% endfor %}",
    "{{ a.go(1) }}{{ a.0.y }}",
    "{% for x, ms in a | groupby('x') %}{{ x.y }}{{ ms[0].z }}{% endfor %}",
    "{% for k in b %}{{ b[k] }}{% endfor %}",
    "{{ (a | map(attribute='x') | first).y }}", "{% macro m(p) %}{{ p.x.y }}{% endmacro %}{{ m(b) }}",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(USES), min_size=1, max_size=5),
    st.lists(st.dictionaries(st.sampled_from("ab"), VALUES), max_size=3),
)
@examples(100)
def test_the_formats_accept_the_examples_of_any_file(uses: list[str], examples: list[dict[str, Any]]) -> None:
    header = "{#---\nexamples: " + json.dumps(examples) + "\n---#}\n"
    workspace = Workspace([Path("/project")])
    workspace.open(ENTRY, header + "".join(f"- name: p\n  content: {use}\n" for use in uses), 1)

    assert len(samples_of(workspace.snapshot, ENTRY)) > len(examples)
    assert_the_formats_accept_the_data(workspace, ENTRY)


def test_data_that_lacks_an_input_is_refused() -> None:
    schema = contract_schema(opened("- name: a\n  content: {{ x }}\n")[0], ENTRY)

    with pytest.raises(ValidationError, match="'x' is a required property"):
        Draft202012Validator(schema).validate({})


@pytest.mark.parametrize(
    ("text", "is_offered"),
    [
        ("{#---\ninput_keys: [a<CURSOR>]\n---#}\n- name: p\n  content: {{ a }}\n", True),
        ("- name: p\n  content: {{ a<CURSOR> }}\n", True),
        ("- name: p<CURSOR>\n  content: {{ a }}\n", False),
        ("{% set a = 1 %}\n- name: p\n  content: {{ a<CURSOR> }}\n", False),
    ],
)
def test_the_formats_are_offered_at_inputs(text: str, *, is_offered: bool) -> None:
    snapshot, files = opened(text)

    offered = contract_actions(snapshot, ENTRY, files[MAIN].cursor or 0)

    assert [action.arguments["format"] for action in offered] == list(FORMATS) * is_offered


def test_a_variable_that_the_file_may_bind_is_not_required() -> None:
    text = (
        "{% if mode is defined %}{% set tone = mode %}{% endif %}\n"
        "- name: a\n  content: {{ text }} {{ tone }}\n"
    )
    workspace = Workspace([])
    workspace.open(ENTRY, text, 1)
    assert contract_schema(workspace.snapshot, ENTRY)["required"] == ["text"]
