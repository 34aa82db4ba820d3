"""The files that later releases of Ragas save: what they hold, and the text that is sent."""

from __future__ import annotations

from typing import Any

import pytest

from promptls.systems.ragas.prompt_object import PromptObjectError
from promptls.systems.ragas.saved_prompt import UNKNOWN_SCHEMA, form_of, read_saved, saved_text

WITH_MODELS: dict[str, Any] = {
    "ragas_version": "0.4.3",
    "original_hash": 1,
    "language": "english",
    "instruction": "Sort {it}.",
    "examples": [{"input": {"text": "é"}, "output": {"labels": []}}],
}
SIMPLE: dict[str, Any] = {
    "format_version": "1.0",
    "type": "Prompt",
    "instruction": "Grade {response} as {{x}}",
    "examples": [{"input": {"response": "a"}, "output": {"value": "pass"}}],
    "response_model_info": None,
}
METRIC: dict[str, Any] = {
    "format_version": "1.0",
    "metric_type": "DiscreteMetric",
    "name": "correctness",
    "prompt": {"type": "Prompt", "instruction": "Is {response} right?", "examples": []},
    "config": {"allowed_values": ["pass", "fail"]},
    "response_model_info": {"schema": {"type": "object"}},
}


@pytest.mark.parametrize(
    ("mapping", "form"),
    [
        (WITH_MODELS, "pydantic prompt"),
        (SIMPLE, "simple prompt"),
        (METRIC, "metric"),
        ({"instruction": "a", "input_keys": ["b"], "output_key": "c"}, None),
        ({"instruction": "a", "ragas_version": "0.1.21"}, None),
        ([], None),
    ],
)
def test_a_file_tells_its_form(mapping: Any, form: str | None) -> None:
    assert form_of(mapping) == form


def test_a_prompt_with_models_is_sent_with_its_examples_and_its_schema() -> None:
    text = saved_text(read_saved({**WITH_MODELS, "output_schema": {"type": "object"}}), {"text": "ü", "b": 1})
    assert text == (
        "Sort {it}.\nPlease return the output in a JSON format that complies with the following schema as "
        'specified in JSON Schema:\n{"type": "object"}Do not use single quotes in your response but double '
        "quotes,properly escaped with a backslash.\n\n--------EXAMPLES-----------\nExample 1\nInput: {\n"
        '    "text": "é"\n}\nOutput: {\n    "labels": []\n}\n-----------------------------\n\n'
        'Now perform the same with the following input\ninput: {\n    "text": "ü"\n}\nOutput: '
    )


def test_words_stand_for_a_schema_that_the_file_does_not_hold() -> None:
    assert UNKNOWN_SCHEMA in saved_text(read_saved(WITH_MODELS), {"text": "a"})


def test_a_simple_prompt_is_filled_in_with_its_examples_behind() -> None:
    assert saved_text(read_saved(SIMPLE), {"response": "{b}", "more": 1}) == (
        "Grade {b} as {x}\n\nExamples:\n\nExample 1:\nInput:\nresponse: a\nOutput:\nvalue: pass"
    )


def test_a_metric_is_sent_as_its_prompt() -> None:
    metric = read_saved(METRIC)
    assert (metric.name, metric.input_keys, metric.allowed_values) == (
        "correctness",
        ("response",),
        ["pass", "fail"],
    )
    assert saved_text(metric, {"response": "this"}) == "Is this right?"


@pytest.mark.parametrize(
    ("mapping", "data", "said"),
    [
        (SIMPLE, {}, "no `response`"),
        ({**SIMPLE, "instruction": 'Give {"a": 1}'}, {"response": 1}, 'no `"a"`'),
        ({**SIMPLE, "instruction": "Give {"}, {}, "no fields"),
        ({**WITH_MODELS, "examples": [{"input": {}}]}, {}, "must have `input` and `output`"),
    ],
)
def test_what_ragas_cannot_load_or_fill_in_is_refused(mapping: Any, data: Any, said: str) -> None:
    with pytest.raises(PromptObjectError, match=said):
        saved_text(read_saved(mapping), data)
