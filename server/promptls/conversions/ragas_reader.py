"""A file that Ragas since 0.2 saves, read as the one message that it is sent as, or as a prompt object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.conversions.conversation import Conversation, Converted, Message, Piece
from promptls.conversions.f_string import field_pieces
from promptls.conversions.object_writer import object_text
from promptls.systems.ragas.prompt_object import PromptObjectError
from promptls.systems.ragas.saved_prompt import (
    SavedPrompt,
    form_of,
    model_text_above,
    plain_examples,
    read_saved,
)
from promptls.text.failure import Failure

_OUTPUT_NAMES: Final = ("output", "answer", "result", "response")
_ENDS: Final = 2
_LOST_SCHEMA: Final = "the JSON Schema of the output model, which the file does not hold: words stand for it"
_LOST_JSON: Final = "inputs are written as JSON by Jinja, which escapes signs like `<` and letters like `é`"


def read_saved_file(mapping: Mapping[str, Any]) -> SavedPrompt:
    """What the file holds; raises Failure for what Ragas cannot load."""
    if form_of(mapping) is None:
        raise Failure(
            "the file is none that Ragas saves",
            remedy="it has `original_hash`, `type: Prompt`, or `metric_type` and `prompt`",
        )
    try:
        return read_saved(mapping)
    except PromptObjectError as error:
        raise Failure(str(error).rstrip("."), remedy="mend the file, and convert again") from error


def read_ragas_file(mapping: Mapping[str, Any]) -> Conversation:
    """The message that Ragas sends, with its inputs."""
    prompt = read_saved_file(mapping)
    lost: list[str] = []
    renamed: dict[str, str] = {}
    if prompt.form == "pydantic prompt":
        pieces = tuple(_model_pieces(prompt, renamed, lost))
    else:
        examples = (Piece("text", f"\n\n{plain_examples(prompt)}"),) if prompt.examples else ()
        pieces = (*field_pieces(prompt.instruction, renamed), *examples)
    lost += [f"the input `{name}` is called `{new}` now" for name, new in renamed.items() if name != new]
    header: dict[str, Any] = {"name": prompt.name} if prompt.name else {}
    if renamed:
        header["input_keys"] = {new: {} for new in renamed.values()}
    if prompt.output_schema is not None:
        header |= {"output_type": "json", "output_schema": _bounded_schema(prompt)}
    return Conversation((Message("user", pieces, "prompt"),), header, (*lost, *_not_carried(prompt)))


def _model_pieces(prompt: SavedPrompt, renamed: dict[str, str], lost: list[str]) -> Iterator[Piece]:
    yield Piece("text", model_text_above(prompt))
    lost.append(_LOST_JSON)
    if prompt.output_schema is None:
        lost.append(_LOST_SCHEMA)
    if not prompt.input_keys:
        renamed["input"] = "input"
        yield Piece("text", "input: ")
        yield Piece("input", "input | tojson(indent=4) | string")
        yield Piece("text", "\nOutput: ")
        return
    between = "input: {\n    "
    for key in prompt.input_keys:
        (field,) = field_pieces(f"{{{key}}}", renamed)
        yield Piece("text", f"{between}{json.dumps(key, ensure_ascii=False)}: ")
        yield Piece("input", field.text.removesuffix(" | string") + " | tojson | string")
        between = ",\n    "
    yield Piece("text", "\n}\nOutput: ")


def object_of_saved(mapping: Mapping[str, Any]) -> Converted:
    """The file as a prompt object: the same instruction, inputs and examples, in the text of 0.1."""
    prompt = read_saved_file(mapping)
    lost = ["the text: a prompt object has the same pieces in another layout", *_not_carried(prompt)]
    is_model = prompt.form == "pydantic prompt"
    single = {key for _, output in prompt.examples for key in output}
    key = next(iter(single)) if len(single) == 1 and not is_model else None
    if key is None or key in prompt.input_keys:
        key = next(name for name in _OUTPUT_NAMES if name not in prompt.input_keys)
        single = set()
    examples = [
        {**{name: inputs[name] for name in prompt.input_keys}, key: output[key] if single else dict(output)}
        for inputs, output in prompt.examples
        if not set(prompt.input_keys) - set(inputs)
    ]
    if len(examples) < len(prompt.examples):
        lost.append("examples that do not have every input")
    instruction = prompt.instruction
    if is_model:
        instruction = instruction.replace("{", "{{").replace("}", "}}")
    header: dict[str, Any] = {"name": prompt.name} if prompt.name else {}
    is_text = any(isinstance(example[key], str) for example in examples)
    kind = "str" if is_text else "json"
    header |= {"input_keys": list(prompt.input_keys), "output_key": key, "output_type": kind}
    if prompt.output_schema is not None:
        header["output_schema"] = _bounded_schema(prompt)
    if examples:
        header["examples"] = examples
    return Converted(object_text(header, instruction), tuple(lost))


def _bounded_schema(prompt: SavedPrompt) -> Any:
    """The schema of the answer, whose `value` has the bounds that only the metric's settings hold."""
    schema, allowed = prompt.output_schema, prompt.allowed_values
    properties = schema.get("properties") if schema is not None else None
    value = properties.get("value") if isinstance(properties, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(properties, Mapping):
        return schema
    bounds: dict[str, Any] = {}
    if prompt.metric_type == "NumericMetric" and isinstance(allowed, list) and len(allowed) == _ENDS:
        bounds = {"minimum": allowed[0], "maximum": allowed[1]}
    elif prompt.metric_type == "RankingMetric" and isinstance(allowed, int):
        bounds = {"maxItems": allowed}
    return {**(schema or {}), "properties": {**properties, "value": {**value, **bounds}}}


def _not_carried(prompt: SavedPrompt) -> Iterator[str]:
    if prompt.language != "english":
        yield "`language`: the texts stay as they are"
    if prompt.allowed_values is not None and prompt.output_schema is None:
        yield "`allowed_values`: the file has no JSON Schema with them"
