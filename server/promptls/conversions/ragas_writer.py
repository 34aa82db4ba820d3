"""A prompt object, or a template of one message, written as a file that Ragas since 0.2 loads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from promptls.conversions.conversation import Conversation, Converted
from promptls.conversions.object_writer import instruction_text
from promptls.systems.ragas.fields import field_names
from promptls.systems.ragas.prompt_object import PromptObject, PromptObjectError, read_prompt_object
from promptls.systems.ragas.saved_prompt import SAVING_RELEASE
from promptls.text.failure import Failure


def saved_object(mapping: Mapping[str, Any], target: str) -> Converted:
    """The prompt object as such a file; raises Failure for what Ragas refuses, or cannot keep there."""
    try:
        prompt = read_prompt_object(mapping)
        fields = set(field_names(prompt.instruction))
    except (PromptObjectError, ValueError) as error:
        raise Failure(str(error).rstrip("."), remedy="mend the prompt object, and convert again") from error
    lost = ["the text: the same pieces stand in another layout"]
    if target == "pydantic-prompt":
        return _with_models(prompt, fields, lost)
    below = [f"{key}: {{{key}}}" for key in prompt.input_keys if key not in fields]
    instruction = "\n\n".join(text for text in (prompt.instruction, "\n".join(below)) if text)
    examples = [
        {
            "input": {key: value for key, value in example.items() if key != prompt.output_key},
            "output": {prompt.output_key: example[prompt.output_key]},
        }
        for example in prompt.examples
    ]
    return _simple(instruction, examples, mapping, target, lost)


def saved_conversation(conversation: Conversation, target: str) -> Converted:
    """The messages as the instruction of such a file; raises Failure for a form that needs more."""
    if target == "pydantic-prompt":
        raise Failure(
            "a template says nothing of the examples' inputs and outputs",
            remedy="convert it to `object` first, or to `simple-prompt`",
        )
    lost = list(conversation.lost)
    roles = sorted({message.role for message in conversation.messages} - {"user"})
    if roles:
        lost.append(f"the roles ({', '.join(roles)}): such a prompt is one text")
    instruction = "".join(instruction_text(message) for message in conversation.messages)
    return _simple(instruction, [], conversation.header, target, lost)


def _with_models(prompt: PromptObject, fields: set[str], lost: list[str]) -> Converted:
    lost.append("the models: a class of yours names them, and loads the file")
    instruction = prompt.instruction
    if fields:
        lost.append("the inputs inside the instruction: they stay as text in braces")
    else:
        instruction = instruction.replace("{{", "{").replace("}}", "}")
    if any(not isinstance(example[prompt.output_key], Mapping) for example in prompt.examples):
        lost.append(f"outputs that are no mapping stand under `{prompt.output_key}`")
    examples = [
        {
            "input": {key: example[key] for key in prompt.input_keys},
            "output": output if isinstance(output, Mapping) else {prompt.output_key: output},
        }
        for example in prompt.examples
        for output in (example[prompt.output_key],)
    ]
    saved = {
        "ragas_version": SAVING_RELEASE,
        # Only the class can work the hash out; Ragas compares none where there is none.
        "original_hash": None,
        "language": prompt.language,
        "instruction": instruction,
        "examples": examples,
    }
    return Converted(json.dumps(saved, indent=2, ensure_ascii=False) + "\n", tuple(lost))


def _simple(
    instruction: str, examples: list[Any], header: Mapping[str, Any], target: str, lost: list[str]
) -> Converted:
    prompt: dict[str, Any] = {"type": "Prompt", "instruction": instruction, "examples": examples}
    if target == "simple-prompt":
        saved: dict[str, Any] = {"format_version": "1.0", **prompt, "response_model_info": None}
        return Converted(json.dumps(saved, indent=2) + "\n", tuple(lost))
    schema = header.get("output_schema")
    kind, allowed = _allowed(schema)
    saved = {
        "format_version": "1.0",
        "metric_type": kind,
        "name": header.get("name") or "metric",
        "prompt": prompt,
        "config": {"allowed_values": allowed},
        "response_model_info": {
            "class_name": f"{kind.removesuffix('Metric')}ResponseModel",
            "module": "ragas.metrics.base",
            "schema": schema,
            "note": "You must provide this model when loading",
        },
    }
    return Converted(json.dumps(saved, indent=2) + "\n", tuple(lost))


def _allowed(schema: Any) -> tuple[str, Any]:
    """The type of a metric and its allowed values, by the schema of its `value`; raises Failure."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    value = properties.get("value") if isinstance(properties, Mapping) else None
    if isinstance(value, Mapping):
        if isinstance(value.get("enum"), list):
            return "DiscreteMetric", value["enum"]
        if value.get("type") in {"number", "integer"}:
            return "NumericMetric", [value.get("minimum", 0.0), value.get("maximum", 1.0)]
        if value.get("type") == "array" and isinstance(value.get("maxItems"), int):
            return "RankingMetric", value["maxItems"]
    raise Failure(
        "nothing says what values the metric may give",
        remedy="declare `output_schema: {properties: {value: {enum: [pass, fail]}, reason: {type: string}}}`",
    )
