"""The files that Ragas saves since 0.2: prompts with models, simple prompts, and metrics with a prompt.

Source: `ragas/prompt/pydantic_prompt.py`, `ragas/prompt/simple_prompt.py` and `ragas/metrics/base.py` of
Ragas 0.4.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from promptls.systems.ragas.fields import field_names, filled
from promptls.systems.ragas.prompt_object import PromptObjectError
from promptls.systems.ragas.release import is_known_release
from promptls.text.nearest import is_slip

Form: TypeAlias = Literal["pydantic prompt", "simple prompt", "metric"]

SAVING_RELEASE: Final = "0.4.3"
"""The release of Ragas whose files are read and written."""
UNKNOWN_SCHEMA: Final = "(the JSON Schema of the output model, which the file does not hold)"
SIMPLE_TYPES: Final = ("Prompt", "DynamicFewShotPrompt")
METRIC_TYPES: Final = ("DiscreteMetric", "NumericMetric", "RankingMetric")
_MOST_SIMILAR: Final = 3


@dataclass(frozen=True, slots=True)
class SavedPrompt:
    """What one such file holds."""

    form: Form
    name: str
    instruction: str
    examples: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]
    """The inputs and the outputs of each."""
    input_keys: tuple[str, ...]
    """Of a prompt with models those that its examples have; else the fields of the instruction."""
    language: str = "english"
    output_schema: Mapping[str, Any] | None = None
    """The JSON Schema of the answer: that of a metric's file, or one that was added to the file."""
    metric_type: str | None = None
    allowed_values: Any = None


def form_of(mapping: Any) -> Form | None:
    """Which of the three a mapping is; None for prompt objects of 0.1 and for everything else."""
    if not isinstance(mapping, Mapping):
        return None
    if "metric_type" in mapping and isinstance(mapping.get("prompt"), Mapping):
        return "metric"
    if "instruction" not in mapping:
        return None
    if mapping.get("type") in SIMPLE_TYPES and ("format_version" in mapping or "examples" in mapping):
        return "simple prompt"
    version = mapping.get("ragas_version")
    if "original_hash" in mapping or (version is not None and not is_known_release(version)):
        return "pydantic prompt"
    return "simple prompt" if _is_simple(mapping) else None


def _is_simple(mapping: Mapping[str, Any]) -> bool:
    """Whether a mapping with an instruction is a simple prompt whose type is missing or wrong."""
    if "input_keys" in mapping or "output_key" in mapping:
        return False
    written = mapping.get("type")
    if isinstance(written, str) and any(is_slip(written, known) for known in SIMPLE_TYPES):
        return "format_version" in mapping or "examples" in mapping
    return "format_version" in mapping and "response_model_info" in mapping


def read_saved(mapping: Mapping[str, Any]) -> SavedPrompt:
    """What the file holds; raises PromptObjectError for what Ragas cannot load."""
    form = form_of(mapping)
    assert form is not None
    own = mapping["prompt"] if form == "metric" else mapping
    instruction = own.get("instruction")
    if not isinstance(instruction, str):
        raise PromptObjectError("`instruction` must be text.", "instruction")
    if form == "simple prompt" and own.get("type") not in SIMPLE_TYPES:
        raise PromptObjectError(f"`type` must be one of {', '.join(SIMPLE_TYPES)}.", "type")
    examples = _examples(own.get("examples", []))
    if form == "pydantic prompt":
        keys = tuple(dict.fromkeys(key for inputs, _ in examples for key in inputs))
    else:
        try:
            keys = field_names(instruction)
        except ValueError as error:
            raise PromptObjectError(
                f"The braces of `instruction` are no fields: {error}.", "instruction"
            ) from None
    if own.get("type") == "DynamicFewShotPrompt":
        # Without a model of similarity, Ragas takes the last ones.
        most = own.get("max_similar_examples", _MOST_SIMILAR)
        examples = examples[-most:] if isinstance(most, int) else ()
    model = mapping.get("response_model_info")
    schema = model.get("schema") if isinstance(model, Mapping) else mapping.get("output_schema")
    config = mapping.get("config")
    return SavedPrompt(
        form=form,
        name=str(mapping.get("name") or ""),
        instruction=instruction,
        examples=examples,
        input_keys=keys,
        language=str(mapping.get("language") or "english"),
        output_schema=schema if isinstance(schema, Mapping) else None,
        metric_type=str(mapping["metric_type"]) if form == "metric" else None,
        allowed_values=config.get("allowed_values") if isinstance(config, Mapping) else None,
    )


def saved_text(prompt: SavedPrompt, inputs: Mapping[str, Any]) -> str:
    """The text that Ragas sends for `inputs`; raises PromptObjectError where it sends none.

    Inputs that the prompt does not know are left out. The schema in the text of a prompt with models
    is that of its output model; the file has none, so that words stand for it unless one was added.
    """
    if prompt.form == "pydantic prompt":
        known = {key: inputs[key] for key in prompt.input_keys or inputs if key in inputs}
        return model_text(prompt, known)
    if "" in prompt.input_keys:
        raise PromptObjectError(
            "The instruction has braces without a name, `{}`: name the input in them, or write them twice.",
            "instruction",
        )
    if missing := [key for key in prompt.input_keys if key not in inputs]:
        names = ", ".join(f"`{key}`" for key in missing)
        raise PromptObjectError(
            f"The data has no {names}: every field of the instruction needs a value.", missing[0]
        )
    try:
        text = filled(prompt.instruction, inputs)
    except ValueError as error:
        raise PromptObjectError(str(error), "instruction") from error
    return f"{text}\n\n{plain_examples(prompt)}" if prompt.examples else text


def plain_examples(prompt: SavedPrompt) -> str:
    """The examples of a simple prompt, as they stand behind its instruction."""
    shown = [
        f"Example {number}:\nInput:\n{_lines(inputs)}\nOutput:\n{_lines(output)}"
        for number, (inputs, output) in enumerate(prompt.examples, start=1)
    ]
    return "\n\n".join(["Examples:", *shown])


def model_text(prompt: SavedPrompt, inputs: Mapping[str, Any]) -> str:
    """The text of a prompt with models for these inputs; for none, the text says so."""
    return f"{model_text_above(prompt)}{_input(inputs)}Output: "


def model_text_above(prompt: SavedPrompt) -> str:
    """What stands above the input in a prompt with models: instruction, schema and examples."""
    schema = UNKNOWN_SCHEMA if prompt.output_schema is None else json.dumps(prompt.output_schema)
    examples = "\n\n".join(
        f"Example {number}\nInput: {_json(inputs)}\nOutput: {_json(output)}"
        for number, (inputs, output) in enumerate(prompt.examples, start=1)
    )
    shown = f"\n--------EXAMPLES-----------\n{examples}" if examples else ""
    return (
        f"{prompt.instruction}\n"
        "Please return the output in a JSON format that complies with the following schema as specified "
        f"in JSON Schema:\n{schema}Do not use single quotes in your response but double quotes,properly "
        f"escaped with a backslash.\n{shown}\n-----------------------------\n"
        "\nNow perform the same with the following input\n"
    )


def _input(inputs: Mapping[str, Any]) -> str:
    return f"input: {_json(_without_nulls(inputs))}\n" if inputs else "Input: (None)\n"


def _json(value: Any) -> str:
    """The value as pydantic writes the models that hold it, which has numbers of its own such as `1e-9`."""
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value, indent=4, inf_nan_mode="null", fallback=str).decode()
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise PromptObjectError(f"A value cannot be written as JSON: {error}.", "examples") from error


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _lines(values: Mapping[str, Any]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in values.items())


def _examples(value: Any) -> tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]:
    if not isinstance(value, list):
        raise PromptObjectError("`examples` must be a list.", "examples")
    found = []
    for index, example in enumerate(value):
        if not isinstance(example, Mapping) or not all(
            isinstance(example.get(key), Mapping) for key in ("input", "output")
        ):
            raise PromptObjectError(
                f"Example {index + 1} must have `input` and `output`, and both must be mappings.",
                "examples",
                index,
            )
        found.append((example["input"], example["output"]))
    return tuple(found)
