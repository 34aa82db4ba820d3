"""Prompt objects: validation, and the formatted text."""

from __future__ import annotations

from typing import Any

import pytest

from oracle import recorded
from promptls.dialects.ragas.prompt_object import (
    PromptObjectError,
    example_text,
    format_prompt,
    read_prompt_object,
    release,
    to_string,
)

GOOD: dict[str, Any] = {
    "name": "triage",
    "instruction": "Sort the ticket.",
    "examples": [{"ticket": "It broke", "label": {"kind": "bug"}}],
    "input_keys": ["ticket"],
    "output_key": "label",
}


def test_the_text_shows_instruction_examples_and_inputs() -> None:
    assert to_string(read_prompt_object(GOOD)) == (
        'Sort the ticket.\n\nticket: "It broke"\nlabel: {{"kind": "bug"}}\n\nticket: {ticket}\nlabel: \n'
    )


def test_formatting_puts_the_inputs_in_as_they_are() -> None:
    text = format_prompt(read_prompt_object(GOOD), {"ticket": "No {sound} é"})
    assert text.endswith('label: {"kind": "bug"}\n\nticket: No {sound} é\nlabel: \n')


def test_input_keys_may_be_a_mapping_and_other_keys_are_left_out() -> None:
    prompt = read_prompt_object(
        {**GOOD, "input_keys": {"ticket": {"type": "string"}}, "encoding": "o200k_base"}
    )
    assert prompt.input_keys == ("ticket",)


@pytest.mark.parametrize(
    ("change", "key", "message"),
    [
        ({"instruction": ""}, "instruction", "`instruction` cannot be empty"),
        ({"instruction": None}, "instruction", "`instruction` cannot be empty"),
        ({"input_keys": None}, "input_keys", "`input_keys` cannot be empty"),
        ({"output_key": ""}, "output_key", "`output_key` cannot be empty"),
        ({"examples": {"a": "b"}}, "examples", "must be a list of mappings"),
        ({"examples": None}, "examples", "must be a list of mappings"),
        ({"examples": ["a"]}, "examples", "Example 1 must be a mapping"),
        ({"examples": [{"ticket": "a"}]}, "label", "Example 1 has no `label`"),
        ({"examples": [{"ticket": "a", "label": "no JSON"}]}, "label", "in example 1 is not valid JSON"),
    ],
)
def test_an_invalid_prompt_object_is_refused(change: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(PromptObjectError, match=message) as caught:
        read_prompt_object({**GOOD, **change})
    assert caught.value.key == key


def test_later_releases_load_an_object_without_input_keys_and_cannot_fill_it_in() -> None:
    mapping = {"instruction": "Say.", "output_key": "a"}
    prompt = read_prompt_object(mapping, release("0.1.21"))

    assert to_string(prompt) == "Say.\n\nYour actual task:\n\n: {}\na: \n"
    for inputs in ({}, {"": "x"}, {"q": "x"}):
        with pytest.raises(PromptObjectError, match="an input without a name"):
            format_prompt(prompt, inputs)
    with pytest.raises(PromptObjectError, match="The prompt object has no `input_keys`"):
        read_prompt_object({**mapping, "examples": [{"a": "1"}]}, release("0.1.21"))
    with pytest.raises(PromptObjectError, match="cannot be empty"):
        read_prompt_object({**mapping, "input_keys": None}, release("0.1.21"))
    with pytest.raises(PromptObjectError, match="The prompt object has no `input_keys`"):
        read_prompt_object(mapping, release("0.1.8"))


def test_text_outputs_need_not_be_json() -> None:
    prompt = read_prompt_object({**GOOD, "output_type": "str", "examples": [{"ticket": "a", "label": "b"}]})
    assert example_text(prompt, prompt.examples[0]) == '\nticket: "a"\nlabel: "b"'


@pytest.mark.parametrize(("inputs", "name"), [({}, "ticket"), ({"ticket": "a", "mood": "b"}, "mood")])
def test_inputs_must_be_the_input_keys(inputs: dict[str, Any], name: str) -> None:
    with pytest.raises(PromptObjectError, match=f"The data has .*`{name}`"):
        format_prompt(read_prompt_object(GOOD), inputs)


@pytest.mark.parametrize("instruction", ['Answer {"a": 1}', "Fill {gap}", "Open {", "{ticket.__class__}"])
def test_braces_that_are_no_inputs_cannot_be_filled_in(instruction: str) -> None:
    prompt = read_prompt_object({**GOOD, "instruction": instruction})
    with pytest.raises(PromptObjectError, match="double a brace that is text"):
        format_prompt(prompt, {"ticket": "a"})


@pytest.mark.parametrize("case", recorded.parameters("ragas"))
def test_the_text_of_a_file_is_ragas_own(case: dict[str, Any]) -> None:
    fields, expected = case["prompt"], case["expected"]
    if "error" in expected and "name" in fields:
        with pytest.raises(PromptObjectError):
            read_prompt_object(fields, release(case["release"]))
        return
    prompt = read_prompt_object(fields, release(case["release"]))
    if "error" not in expected:
        assert to_string(prompt) == expected["to_string"]
        if "value" in expected["format"]:
            assert format_prompt(prompt, case["inputs"]) == expected["format"]["value"]
