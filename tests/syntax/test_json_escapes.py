"""Characters beyond U+FFFF in JSON, which Python writes as two escapes that YAML rejects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.syntax.yaml.compose import compose, readable_json
from promptls.syntax.yaml.nodes import Mapping, Scalar
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace


@pytest.mark.parametrize("value", ["😀", "a👩\u200d👧z", "\\ud83d", "é\\\\😀", 'q"😀"', "\ue000"])
def test_halves_are_joined_in_place(value: str) -> None:
    text = json.dumps({"a": value, "b": "😀"})
    root = compose(text, Span, lambda _span: False).root
    assert isinstance(root, Mapping)
    scalar = root.value("a")
    assert isinstance(scalar, Scalar)
    assert scalar.text == value
    assert text[scalar.span.start : scalar.span.end] == json.dumps(value)


def test_text_keeps_its_length() -> None:
    text = json.dumps("x😀\\ud83d")
    assert len(readable_json(text)) == len(text)


def test_in_yaml_they_stay_an_error() -> None:
    assert compose('a: "\\ud83d\\ude00"', Span, lambda _span: False).error is not None


def test_a_saved_prompt_with_such_a_character_is_one() -> None:
    saved = {"format_version": "1.0", "type": "Prompt", "instruction": "Grade {a} 😀", "examples": []}
    workspace = Workspace([Path("/project")])
    workspace.open("/project/saved.json", json.dumps(saved), 1)
    template = workspace.snapshot.template("/project/saved.json")
    assert template is not None
    assert template.declarations.data["instruction"] == "Grade {a} 😀"
