"""A prompt object: its validation, its text, and its text for given inputs.

Source: `ragas.llms.prompt.Prompt` of Ragas 0.1.0. Two things are wider here: `name` may be missing,
as in later releases, and `input_keys` may be a mapping from name to schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment, SandboxedFormatter

from promptls.systems.ragas.vocabulary import DEFAULT_LANGUAGE, DEFAULT_OUTPUT_TYPE


class PromptObjectError(ValueError):
    """What is wrong with a prompt object, or with the inputs it is to be formatted with."""

    def __init__(self, message: str, key: str, example: int | None = None) -> None:
        """Keep the `key` at fault, and the 0-based index of the `example` it is in, if it is in one."""
        super().__init__(message)
        self.key = key
        self.example = example


@dataclass(frozen=True, slots=True)
class PromptObject:
    """A valid prompt object."""

    name: str
    instruction: str
    examples: tuple[Mapping[str, Any], ...]
    input_keys: tuple[str, ...]
    output_key: str
    output_type: str = DEFAULT_OUTPUT_TYPE
    language: str = DEFAULT_LANGUAGE

    @property
    def is_json(self) -> bool:
        """Whether outputs are JSON."""
        return self.output_type.lower() == "json"


def read_prompt_object(mapping: Any) -> PromptObject:
    """The prompt object that the loaded YAML `mapping` describes; raises PromptObjectError.

    Keys that Ragas does not know are left out.
    """
    if not isinstance(mapping, Mapping):
        raise PromptObjectError(
            "A prompt object is a mapping with `instruction`, `input_keys` and `output_key`.", "instruction"
        )
    instruction = _text(mapping, "instruction", "say in plain language what the model is to do")
    prompt = PromptObject(
        name=str(mapping.get("name") or ""),
        instruction=instruction,
        examples=_examples(mapping.get("examples", [])),
        input_keys=_input_keys(mapping.get("input_keys")),
        output_key=_text(mapping, "output_key", "name the output as the examples do"),
        output_type=str(mapping.get("output_type", DEFAULT_OUTPUT_TYPE)),
        language=str(mapping.get("language", DEFAULT_LANGUAGE)),
    )
    for index in range(len(prompt.examples)):
        _check_example(prompt, index)
    return prompt


def to_string(prompt: PromptObject) -> str:
    """The prompt's text, with `{name}` where an input goes and braces of JSON examples doubled."""
    lines = [prompt.instruction, "\n"]
    for example in prompt.examples:
        lines.append(example_text(prompt, example))
        lines.append("\n")
    lines.extend(f"\n{key}: {{{key}}}" for key in prompt.input_keys)
    lines.append(f"\n{prompt.output_key}: \n")
    return "".join(lines)


def example_text(prompt: PromptObject, example: Mapping[str, Any]) -> str:
    """One example as `key: value` lines, each behind a line break, with the values in JSON."""
    text = ""
    for key, value in example.items():
        shown = json.dumps(value, ensure_ascii=False, default=str)
        if prompt.is_json:
            shown = shown.replace("{", "{{").replace("}", "}}")
        text += f"\n{key}: {shown}"
    return text


def format_prompt(prompt: PromptObject, inputs: Mapping[str, Any]) -> str:
    """The text that the model gets for `inputs`; raises PromptObjectError.

    `inputs` must have the input keys and no other. Braces in the instruction, and in examples of
    plain text, are taken for inputs, as Ragas takes them.
    """
    if missing := [key for key in prompt.input_keys if key not in inputs]:
        names = ", ".join(f"`{key}`" for key in missing)
        raise PromptObjectError(f"The data has no {names}: every input key needs a value.", missing[0])
    if extra := [key for key in inputs if key not in prompt.input_keys]:
        names = ", ".join(f"`{key}`" for key in extra)
        raise PromptObjectError(f"The data has {names}, which `input_keys` does not name.", extra[0])
    # Jinja's formatter keeps fields such as `{text.__class__}` from reaching into Python.
    formatter = SandboxedFormatter(SandboxedEnvironment(undefined=StrictUndefined))
    try:
        return formatter.vformat(to_string(prompt), (), inputs)
    except (KeyError, IndexError, ValueError, AttributeError, TemplateError) as error:
        raise PromptObjectError(
            f"The text cannot be filled in, as its braces do not stand for input keys ({error}): "
            "write a brace that is meant as text twice, `{{` or `}}`.",
            "instruction",
        ) from error


def _text(mapping: Mapping[str, Any], key: str, what: str) -> str:
    """The text under `key`; raises PromptObjectError where it is missing or empty."""
    value = mapping.get(key)
    if value is None or value == "":
        raise PromptObjectError(f"`{key}` cannot be empty: {what}.", key)
    if isinstance(value, list | Mapping):
        raise PromptObjectError(f"`{key}` must be text.", key)
    return str(value)


def _input_keys(value: Any) -> tuple[str, ...]:
    """The names of the inputs; raises PromptObjectError where there is no list or mapping of them."""
    if value is None:
        raise PromptObjectError("`input_keys` cannot be empty: list the names of the inputs.", "input_keys")
    if not isinstance(value, list | Mapping):
        raise PromptObjectError("`input_keys` must be a list of names.", "input_keys")
    return tuple(str(key) for key in value)


def _examples(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The examples; raises PromptObjectError where they are no list of mappings."""
    if not isinstance(value, list):
        raise PromptObjectError("`examples` must be a list of mappings; leave it out for none.", "examples")
    for index, example in enumerate(value):
        if not isinstance(example, Mapping):
            raise PromptObjectError(f"Example {index + 1} must be a mapping.", "examples", index)
    return tuple(value)


def _check_example(prompt: PromptObject, index: int) -> None:
    """Raises PromptObjectError where the example lacks a key, or its output is not the JSON it is to be."""
    example = prompt.examples[index]
    for key in (*prompt.input_keys, prompt.output_key):
        if key not in example:
            raise PromptObjectError(f"Example {index + 1} has no `{key}`: add it.", key, index)
    output = example[prompt.output_key]
    if prompt.is_json and isinstance(output, str):
        try:
            json.loads(output)
        except ValueError as error:
            raise PromptObjectError(
                f"`{prompt.output_key}` in example {index + 1} is no valid JSON: {error}. "
                "Correct it, or set `output_type: str`.",
                prompt.output_key,
                index,
            ) from error
