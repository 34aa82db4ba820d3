"""A prompt object: its validation, its text, and its text for given inputs.

Source: `ragas.llms.prompt.Prompt` of Ragas 0.1; what its releases do differently is in `release.py`.
Read from a file, two things are wider here: `name` may be missing in every release, and `input_keys`
may be a mapping from name to schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptls.systems.ragas.fields import filled
from promptls.systems.ragas.release import FIRST_RELEASE, Release
from promptls.systems.ragas.vocabulary import DEFAULT_LANGUAGE, DEFAULT_OUTPUT_TYPE, OUTPUT_TYPES


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
    output_format_instruction: str = ""
    release: Release = FIRST_RELEASE

    @property
    def is_json(self) -> bool:
        """Whether outputs are JSON."""
        return self.output_type.lower() == "json"


def read_prompt_object(mapping: Any, of: Release = FIRST_RELEASE) -> PromptObject:
    """The prompt object that the loaded YAML `mapping` describes, as the release `of` takes it.

    Keys that the release does not know are left out. Raises PromptObjectError.
    """
    if not isinstance(mapping, Mapping):
        raise PromptObjectError(
            "A prompt object is a mapping with `instruction`, `input_keys` and `output_key`.", "instruction"
        )
    instruction = _text(mapping, "instruction", "say in plain language what the model is to do")
    known = ["name", "output_type", "language", *["output_format_instruction"] * of.has_format_instruction]
    if empty := [key for key in known if mapping.get(key, "") is None]:
        raise PromptObjectError(f"`{empty[0]}` has no value: give it one, or leave the key out.", empty[0])
    prompt = PromptObject(
        name=str(mapping.get("name") or ""),
        instruction=instruction,
        examples=_examples(mapping.get("examples", [])),
        input_keys=_input_keys(mapping, of),
        output_key=_text(mapping, "output_key", "name the output as the examples do"),
        output_type=str(mapping.get("output_type", DEFAULT_OUTPUT_TYPE)),
        language=str(mapping.get("language", DEFAULT_LANGUAGE)),
        output_format_instruction=(
            str(mapping.get("output_format_instruction") or "") if of.has_format_instruction else ""
        ),
        release=of,
    )
    check(prompt)
    return prompt


def check(prompt: PromptObject) -> None:
    """Raises PromptObjectError for what Ragas refuses in the object as a whole."""
    if not prompt.instruction:
        raise PromptObjectError("`instruction` cannot be empty.", "instruction")
    if not prompt.output_key:
        raise PromptObjectError("`output_key` cannot be empty.", "output_key")
    kind = prompt.output_type
    if prompt.release.has_format_instruction and kind not in OUTPUT_TYPES:
        raise PromptObjectError(
            f"`output_type` is `{kind}`, and Ragas {prompt.release.name} takes `json` or `str`.",
            "output_type",
        )
    for index in range(len(prompt.examples)):
        _check_example(prompt, index)


def to_string(prompt: PromptObject) -> str:
    """The prompt's text, with `{name}` where an input goes and braces of JSON examples doubled."""
    text = prompt.instruction
    if prompt.release.asks_for_json and prompt.is_json:
        text += "\nOutput in only valid JSON format."
    if prompt.output_format_instruction:
        text += f"\n\n{_doubled(prompt.output_format_instruction)}"
    text += "\n"
    if prompt.examples:
        text += examples_text(prompt)
    if prompt.release.has_format_instruction:
        text += "\nYour actual task:\n"
    text += "".join(f"\n{key}: {{{key}}}" for key in prompt.input_keys)
    return f"{text}\n{prompt.output_key}: \n"


def examples_text(prompt: PromptObject) -> str:
    """The examples as they stand in the prompt's text, each behind a line break and ending with one."""
    heading = "\nExamples:\n" if prompt.release.has_format_instruction and prompt.examples else ""
    fenced = prompt.release.has_format_instruction
    return heading + "".join(_lines(prompt, example, fenced=fenced) + "\n" for example in prompt.examples)


def example_text(prompt: PromptObject, example: Mapping[str, Any]) -> str:
    """One example alone, as Ragas gives it when it is asked for one."""
    text = _lines(prompt, example, fenced=False)
    return f"```{text}```" if prompt.release.has_format_instruction else text


def _lines(prompt: PromptObject, example: Mapping[str, Any], *, fenced: bool) -> str:
    """An example as `key: value` lines, each behind a line break, with the values in JSON."""
    text = ""
    for key, value in example.items():
        shown = json.dumps(value, ensure_ascii=False)
        try:
            shown.encode()
        except UnicodeEncodeError as error:
            raise PromptObjectError(
                f"`{key}` in an example holds half of a character, which cannot be written: {error}.", key
            ) from error
        if prompt.is_json:
            shown = _doubled(shown)
        is_fenced = fenced and isinstance(value, list | dict)
        text += f"\n{key}: ```{shown}```" if is_fenced else f"\n{key}: {shown}"
    return text


def format_prompt(prompt: PromptObject, inputs: Mapping[str, Any], text: str | None = None) -> str:
    """The text that the model gets for `inputs`; raises PromptObjectError.

    `text` is filled in, by default the prompt's own.

    `inputs` must have the input keys and no other. Braces in the instruction, and in examples of
    plain text, are taken for inputs, as Ragas takes them.
    """
    if "" in prompt.input_keys:
        raise PromptObjectError(
            "The prompt has an input without a name, which nothing can fill in: "
            "list the names in `input_keys`.",
            "input_keys",
        )
    if missing := [key for key in prompt.input_keys if key not in inputs]:
        names = ", ".join(f"`{key}`" for key in missing)
        raise PromptObjectError(f"The data has no {names}: every input key needs a value.", missing[0])
    if extra := [key for key in inputs if key not in prompt.input_keys]:
        names = ", ".join(f"`{key}`" for key in extra)
        raise PromptObjectError(f"The data has {names}, which `input_keys` does not name.", extra[0])
    if "self" in inputs:
        raise PromptObjectError(
            "An input called `self` cannot be given: it is the prompt itself in `Prompt.format`. Rename it.",
            "input_keys",
        )
    if prompt.release.quotes_texts:
        inputs = {
            key: json.dumps(value) if isinstance(value, str) else value for key, value in inputs.items()
        }
    try:
        return filled(to_string(prompt) if text is None else text, inputs)
    except ValueError as error:
        raise PromptObjectError(str(error), "instruction") from error


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _text(mapping: Mapping[str, Any], key: str, what: str) -> str:
    """The text under `key`; raises PromptObjectError where it is missing or empty."""
    value = mapping.get(key)
    if value is None or value == "":
        raise PromptObjectError(f"`{key}` cannot be empty: {what}.", key)
    if isinstance(value, list | Mapping):
        raise PromptObjectError(f"`{key}` must be text.", key)
    return str(value)


def _input_keys(mapping: Mapping[str, Any], of: Release) -> tuple[str, ...]:
    """The names of the inputs; raises PromptObjectError where there is no list or mapping of them.

    Releases that have defaults take one input without a name where there is no such key.
    """
    value = mapping.get("input_keys", [""] if of.has_defaults else None)
    if value is None:
        raise PromptObjectError("`input_keys` cannot be empty: list the names of the inputs.", "input_keys")
    if not isinstance(value, list | Mapping):
        raise PromptObjectError("`input_keys` must be a list of names.", "input_keys")
    for key in value:
        if key is None or isinstance(key, list | Mapping):
            raise PromptObjectError("`input_keys` must be a list of names.", "input_keys")
    return tuple(map(str, value))


def _examples(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The examples; raises PromptObjectError where they are no list of mappings."""
    if not isinstance(value, list):
        raise PromptObjectError("`examples` must be a list of mappings; leave it out for none.", "examples")
    for index, example in enumerate(value):
        if not isinstance(example, Mapping):
            raise PromptObjectError(f"Example {index + 1} must be a mapping.", "examples", index)
    try:
        # YAML has dates, and JSON has none.
        return tuple(json.loads(json.dumps(_with_text_keys(example), default=str)) for example in value)
    except (ValueError, RecursionError):
        raise PromptObjectError("`examples` cannot be written as JSON.", "examples") from None


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else str(key): _with_text_keys(each) for key, each in value.items()
        }
    return [_with_text_keys(each) for each in value] if isinstance(value, list) else value


def _check_example(prompt: PromptObject, index: int) -> None:
    """Raises PromptObjectError where the example lacks a key, or its output is not the JSON it is to be."""
    example = prompt.examples[index]
    for key in (*prompt.input_keys, prompt.output_key):
        if key not in example:
            if not key:
                raise PromptObjectError("`input_keys` names no input: list the names.", "input_keys")
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
