"""Conversion of files of later releases of Ragas to templates and prompt objects, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment

from promptls.convert.formats import convert, guess
from promptls.dialects.prompt_poet.template_rendering import render
from promptls.dialects.ragas.prompt_object import format_prompt, read_prompt_object, release
from promptls.dialects.ragas.saved_prompt import read_saved, saved_text
from promptls.ide.refactor import offers
from promptls.lint.runner import check
from promptls.text.errors import UserError
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace

MAIN = "/project/main.yml.j2"
SIMPLE = {
    "format_version": "1.0",
    "type": "Prompt",
    "instruction": "Grade {response} as {{x}}",
    "examples": [{"input": {"response": "a"}, "output": {"value": "pass"}}],
    "response_model_info": None,
}
WITH_MODELS = {
    "ragas_version": "0.4.3",
    "original_hash": None,
    "language": "english",
    "instruction": "Sort {it}.",
    "examples": [{"input": {"text": "a", "number": 3}, "output": {"labels": ["b"]}}],
}
METRIC: dict[str, Any] = {
    "format_version": "1.0",
    "metric_type": "DiscreteMetric",
    "name": "correctness",
    "prompt": {"type": "Prompt", "instruction": "Is {response} right?", "examples": []},
    "config": {"allowed_values": ["pass", "fail"]},
    "response_model_info": {
        "class_name": "DiscreteResponseModel",
        "module": "ragas.metrics.base",
        "schema": {"properties": {"value": {"enum": ["pass", "fail"]}}},
        "note": "You must provide this model when loading",
    },
}
DATA = {"response": 'a "b"', "text": "What?", "number": 4}


def converted(saved: Any, target: str) -> str:
    text = json.dumps(saved)
    assert guess(text, "saved.json") == "ragas"
    return convert(text, "saved.json", "ragas", target).text


def errors(text: str) -> list[str]:
    workspace = Workspace([Path("/project")])
    workspace.open(MAIN, text, 1)
    found = check(workspace.snapshot, MAIN)
    return [finding.message for finding in found if finding.severity in {"error", "warning"}]


@pytest.mark.parametrize("saved", [SIMPLE, WITH_MODELS, METRIC], ids=["simple", "with models", "metric"])
def test_the_template_of_a_saved_file_renders_to_what_ragas_sends(saved: Any) -> None:
    text = converted(saved, "parts")
    (part,) = render(MAIN, DATA, unsaved={MAIN: text}).parts
    assert part.content == saved_text(read_saved(saved), DATA)
    assert errors(text) == []


@pytest.mark.parametrize("saved", [SIMPLE, WITH_MODELS, METRIC], ids=["simple", "with models", "metric"])
def test_a_saved_file_as_a_prompt_object_keeps_its_pieces(saved: Any) -> None:
    text = converted(saved, "object")
    assert errors(text) == []
    loaded = yaml.safe_load(Environment().from_string(text).render())
    prompt = read_prompt_object(loaded)
    own = read_saved(saved)
    assert prompt.input_keys == own.input_keys
    assert len(prompt.examples) == len(own.examples)
    format_prompt(prompt, {key: DATA[key] for key in prompt.input_keys})


def test_a_prompt_with_models_comes_back_from_a_prompt_object() -> None:
    text = Environment().from_string(converted(WITH_MODELS, "object")).render()
    back = json.loads(convert(text, "a.yml", "object", "pydantic-prompt").text)
    assert back == WITH_MODELS


def test_a_metric_comes_back_from_a_prompt_object_and_from_a_template() -> None:
    text = Environment().from_string(converted(METRIC, "object")).render()
    assert json.loads(convert(text, "a.yml", "object", "metric").text) == METRIC
    from_parts = json.loads(convert(converted(METRIC, "parts"), "a.yml.j2", "parts", "metric").text)
    assert from_parts == METRIC


@pytest.mark.parametrize(
    ("kind", "allowed", "value"),
    [
        ("NumericMetric", [1, 10], {"type": "number"}),
        ("RankingMetric", 3, {"type": "array", "items": {"type": "string"}}),
    ],
)
@pytest.mark.parametrize("form", ["object", "parts"])
def test_the_bounds_of_a_metric_come_back(kind: str, allowed: Any, value: Any, form: str) -> None:
    schema = {"properties": {"value": value, "reason": {"type": "string"}}}
    metric = {
        **METRIC,
        "metric_type": kind,
        "config": {"allowed_values": allowed},
        "response_model_info": {**METRIC["response_model_info"], "schema": schema},
    }
    text = converted(metric, form)
    if form == "object":
        text = Environment().from_string(text).render()
    back = json.loads(convert(text, "a.yml.j2" if form == "parts" else "a.yml", form, "metric").text)
    assert (back["metric_type"], back["config"]) == (kind, {"allowed_values": allowed})


def test_a_template_as_a_simple_prompt_is_filled_in_to_the_same_text() -> None:
    template = converted(SIMPLE, "parts")
    back = json.loads(convert(template, "a.yml.j2", "parts", "simple-prompt").text)
    assert saved_text(read_saved(back), DATA) == saved_text(read_saved(SIMPLE), DATA)


def test_a_metric_without_its_values_is_refused_with_what_to_declare() -> None:
    with pytest.raises(UserError, match="values of the metric") as caught:
        convert("- name: a\n  content: Is {{ b }} right?\n", "a.yml.j2", "parts", "metric")
    assert "output_schema" in str(caught.value.remedy)


def test_a_saved_file_that_is_broken_is_refused() -> None:
    with pytest.raises(UserError, match="write both `input` and `output`"):
        convert(json.dumps({**SIMPLE, "examples": [{}]}), "a.json", "ragas", "parts")


def test_a_value_that_is_no_text_for_ragas_is_reported() -> None:
    examples = [{"input": {"text": "a"}, "output": {"label": "\ud800"}}]
    with pytest.raises(UserError, match="cannot be written as JSON"):
        convert(json.dumps({**WITH_MODELS, "examples": examples}), "a.json", "ragas", "parts")


@pytest.mark.parametrize(
    "key", ["language: {a: 1}", "output_schema: {properties: {value: {type: [string]}}}"]
)
def test_values_of_any_type_are_read(key: str) -> None:
    text = f"instruction: Sort {{text}}.\ninput_keys: [text]\noutput_key: value\n{key}\n"
    assert convert(text, "a.yml.j2", "object", "parts").text
    with pytest.raises(UserError, match="values of the metric"):
        convert(text, "a.yml.j2", "object", "metric")


@pytest.mark.parametrize("version", ["0.1.3", "0.1.10", "0.1.21"])
def test_a_prompt_object_of_a_later_release_renders_to_its_text(version: str) -> None:
    mapping = {
        "ragas_version": version,
        "instruction": "Answer.",
        "output_format_instruction": "As {}.",
        "input_keys": ["question"],
        "output_key": "answer",
        "examples": [{"question": "a", "answer": {"b": []}}],
    }
    text = convert(yaml.safe_dump(mapping, sort_keys=False), "a.yml", "object", "parts").text
    (part,) = render(MAIN, {"question": "Why?"}, unsaved={MAIN: text}).parts
    expected = format_prompt(read_prompt_object(mapping, release(version)), {"question": "Why?"})
    assert part.content == expected


def test_a_saved_file_is_offered_as_a_template_and_nothing_writes_yaml_into_it() -> None:
    path = "/project/judge.json"
    workspace = Workspace([Path("/project")])
    workspace.open(path, json.dumps(METRIC), 1)
    ((name, offer),) = offers(workspace.snapshot, path, Span(0, 0))
    assert (name, offer.title) == ("convert-file", "Convert to a parts template: `judge_parts.yml.j2`")
    assert offer.change is not None
    ((made, text),) = offer.change().new_files.items()
    assert made == "/project/judge_parts.yml.j2"
    assert text.startswith(converted(METRIC, "parts"))
