"""Files saved by later releases of Ragas: their content, and the text that is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from promptls.dialects.ragas.prompt_object import PromptObjectError
from promptls.dialects.ragas.saved_prompt import UNKNOWN_SCHEMA, form_of, read_saved, saved_text
from support.installed import is_installed

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
def test_the_format_of_a_file_is_detected(mapping: Any, form: str | None) -> None:
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


def test_a_missing_schema_is_described_in_words() -> None:
    assert UNKNOWN_SCHEMA in saved_text(read_saved(WITH_MODELS), {"text": "a"})


def test_numbers_are_written_as_pydantic_writes_them() -> None:
    example = {"input": {"score": 1e-9}, "output": {"score": 1e-5}}
    text = saved_text(read_saved({**WITH_MODELS, "examples": [example]}), {"score": 2e-7})
    assert [line for line in text.split("\n") if "score" in line] == [
        '    "score": 1e-9',
        '    "score": 0.00001',
        '    "score": 2e-7',
    ]


@pytest.mark.parametrize(("most", "shown"), [(0, 3), (1, 1), (2, 2), (9, 3), ("all", 0)])
def test_without_a_model_of_similarity_the_last_examples_are_shown(most: Any, shown: int) -> None:
    examples = [{"input": {"response": index}, "output": {"value": index}} for index in range(3)]
    dynamic = {**SIMPLE, "type": "DynamicFewShotPrompt", "examples": examples, "max_similar_examples": most}
    found = read_saved(dynamic).examples
    assert [inputs["response"] for inputs, _ in found] == list(range(3))[3 - shown :]


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
        ({**SIMPLE, "instruction": "Grade {}"}, {"response": 1}, "braces without a name"),
        ({**SIMPLE, "instruction": 'Give {"a": 1}'}, {"response": 1}, 'no `"a"`'),
        ({**SIMPLE, "instruction": "Give {"}, {}, "not fields"),
        ({**WITH_MODELS, "examples": [{"input": {}}]}, {}, "write both `input` and `output`"),
    ],
)
def test_what_ragas_cannot_load_or_fill_in_is_refused(mapping: Any, data: Any, said: str) -> None:
    with pytest.raises(PromptObjectError, match=said):
        saved_text(read_saved(mapping), data)


@pytest.mark.skipif(not is_installed("ragas"), reason="ragas is not installed")
def test_the_real_ragas_sends_the_same_texts(tmp_path: Path) -> None:
    from pydantic import BaseModel
    from ragas.prompt import PydanticPrompt
    from ragas.prompt.simple_prompt import Prompt

    class Ticket(BaseModel):
        text: str
        note: str | None = None

    class Labels(BaseModel):
        labels: list[str]

    class Triage(PydanticPrompt[Ticket, Labels]):
        input_model = Ticket
        output_model = Labels
        instruction = "Sort {it}: „é“."
        examples: ClassVar = [
            (Ticket(text="a"), Labels(labels=[])),
            (Ticket(text="b", note="c"), Labels(labels=["d"])),
        ]

    Triage().save(str(tmp_path / "triage.json"))
    saved = json.loads((tmp_path / "triage.json").read_text("utf-8"))
    prompt = read_saved({**saved, "output_schema": Labels.model_json_schema()})
    assert saved_text(prompt, {"text": "ü", "note": None}) == Triage().to_string(Ticket(text="ü"))

    simple = Prompt("Grade {a} as {{b}} for {c!r}", [({"a": [1]}, {"x": None})])
    simple.save(str(tmp_path / "simple.json"))
    saved = json.loads((tmp_path / "simple.json").read_text("utf-8"))
    data = {"a": "é {}", "c": "d"}
    assert saved_text(read_saved(saved), data) == simple.format(**data)
