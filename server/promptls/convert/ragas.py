"""Prompt objects of Ragas in all their formats, read as a conversation and written from one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.convert.conversation import Conversation, Converted, Message, MessagePiece, field_pieces
from promptls.convert.parts_template import flow, key_lines
from promptls.dialects.ragas.prompt_object import (
    DEFAULT_RELEASE,
    NEWEST_RELEASE,
    PromptObject,
    PromptObjectError,
    field_names,
    read_prompt_object,
    release,
    release_of,
    to_string,
)
from promptls.dialects.ragas.saved_prompt import (
    SAVING_RELEASE,
    SavedPrompt,
    form_of,
    model_text_above,
    plain_examples,
    read_saved,
)
from promptls.settings.header import HEADER_KEYS
from promptls.text.errors import UserError

_READ: Final = frozenset({*HEADER_KEYS, "instruction", "language", "output_format_instruction"})


def read_object(mapping: Mapping[str, Any]) -> Conversation:
    """Return the message with its inputs; raises PromptObjectError for objects that Ragas rejects."""
    prompt = read_prompt_object(mapping, release_of(mapping, None))
    text = to_string(prompt)
    renamed: dict[str, str] = {}
    pieces = list(field_pieces(text, renamed))
    lost = []
    if prompt.release.quotes_texts:
        pieces = [_quote(piece) for piece in pieces]
        lost.append(f"Ragas {prompt.release.name} puts texts in as JSON, and Jinja escapes more signs in it")
    message = Message("user", tuple(pieces), "prompt")
    lost += [f"`{key}`" for key in mapping if key not in _READ]
    lost += [f"the input `{name}` is called `{new}` now" for name, new in renamed.items() if name != new]
    if mapping.get("language") not in (None, "english"):
        lost.append("`language`: the texts stay as they are")
    keys = (key for key in HEADER_KEYS if key != "ragas_version")
    header = {key: mapping[key] for key in keys if mapping.get(key) is not None}
    return Conversation((message,), header, tuple(lost))


def _quote(piece: MessagePiece) -> MessagePiece:
    """Return an input as JSON, if it would otherwise be inserted unquoted."""
    if piece.kind != "input" or not piece.text.endswith(" | string"):
        return piece
    return MessagePiece("input", f"{piece.text.removesuffix(' | string')} | tojson | string")


_DEFAULT_OUTPUT: Final = "response"
_RELEASES: Final = (DEFAULT_RELEASE, "0.1.5", NEWEST_RELEASE)
"""One release for each layout of prompt objects in Ragas."""
_JINJA: Final = re.compile(r"\{[{%#]")


def prompt_object(conversation: Conversation) -> Converted:
    """Return a prompt object whose instruction is the text of the messages, followed by its inputs.

    A message that consists of one input is dropped, because Ragas prints every input at the end; an input
    inside a text becomes a field of the instruction. Raises UserError if nothing is left.
    """
    lost = list(conversation.lost)
    declared = conversation.header.get("input_keys") or {}
    inputs = dict.fromkeys(
        piece.text for message in conversation.messages for piece in message.pieces if piece.kind == "input"
    )
    texts = [instruction_text(message) for message in conversation.messages if not _is_input(message)]
    instruction = "\n\n".join(text for text in texts if text.strip())
    if not instruction.strip():
        raise UserError("the prompt has no text that could be an instruction")
    instruction, tail_release = _without_tail(conversation.header, instruction)
    roles = sorted({message.role for message in conversation.messages} - {"user"})
    if roles:
        lost.append(f"the roles ({', '.join(roles)}): a prompt object is one message")
    if len(conversation.messages) > 1:
        lost.append("the parts: their texts are one instruction now, and the inputs follow it")
    elif tail_release is None and any(f"{{{name}}}" in instruction for name in inputs):
        lost.append("the place of the inputs: Ragas prints each of them again after the instruction")
    header: dict[str, Any] = {**conversation.header}
    if tail_release is not None and tail_release != DEFAULT_RELEASE:
        header["ragas_version"] = tail_release
    schemas = declared if isinstance(declared, Mapping) else {}
    header["input_keys"] = (
        {**schemas, **{name: {} for name in inputs if name not in schemas}}
        if schemas
        else list(dict.fromkeys([*declared, *inputs]))
    )
    if "output_key" not in header:
        header["output_key"] = _DEFAULT_OUTPUT
        header["output_type"] = "str"
        lost.append(f"`output_key` is `{_DEFAULT_OUTPUT}`, as the template named none")
    return Converted(object_text(header, instruction), tuple(dict.fromkeys(lost)))


def _without_tail(header: Mapping[str, Any], text: str) -> tuple[str, str | None]:
    """Return the text without the examples and inputs that Ragas appends to it, and the release that does so.

    A template converted from a prompt object contains them, and they would be printed twice.
    """
    for name in _RELEASES:
        try:
            added = to_string(read_prompt_object({**header, "instruction": "?"}, release(name)))[1:]
        except PromptObjectError:
            continue
        if text.endswith(added) and len(text) > len(added):
            return text.removesuffix(added), name
    return text, None


def object_text(header: Mapping[str, Any], instruction: str) -> str:
    """Return the file of a prompt object with this instruction and these other keys."""
    return "\n".join([*_lines(header, instruction), ""])


def _is_input(message: Message) -> bool:
    written = [piece for piece in message.pieces if piece.kind == "input" or piece.text.strip()]
    return len(written) == 1 and written[0].kind == "input"


def instruction_text(message: Message) -> str:
    """Return the message's text with literal braces doubled, because Ragas parses braces as fields."""
    return "".join(
        f"{{{piece.text}}}" if piece.kind == "input" else piece.text.replace("{", "{{").replace("}", "}}")
        for piece in message.pieces
    )


def _lines(header: Mapping[str, Any], instruction: str) -> Iterator[str]:
    for key in ("name", "description"):
        if key in header:
            yield from key_lines(key, header[key])
    yield from _instruction_lines(instruction)
    for key in HEADER_KEYS:
        if key in header and key not in {"name", "description"}:
            yield from key_lines(key, header[key])


def _instruction_lines(instruction: str) -> Iterator[str]:
    """Yield the instruction as a block scalar, or in quotes if a block would change it."""
    written = _JINJA.sub(lambda match: f"{{{{ '{match.group()}' }}}}", instruction)
    lines = written.split("\n")
    if not written.isprintable() and not all(line.isprintable() for line in lines):
        yield f"instruction: {flow(instruction)}"
        return
    if written != written.strip("\n") or written[:1].isspace():
        yield f"instruction: {flow(instruction)}"
        return
    yield "instruction: |-"
    yield from (f"  {line}" if line else "" for line in lines)


_OUTPUT_NAMES: Final = ("output", "answer", "result", "response")
_ENDS: Final = 2
_LOST_SCHEMA: Final = "the JSON Schema of the output model, which the file lacks: it is described in words"
_LOST_JSON: Final = "inputs are written as JSON by Jinja, which escapes signs like `<` and letters like `é`"


def read_saved_file(mapping: Mapping[str, Any]) -> SavedPrompt:
    """Return the contents of the file; raises UserError and PromptObjectError if Ragas cannot load it."""
    if form_of(mapping) is None:
        raise UserError(
            "the file is not one that Ragas saves",
            remedy="it has `original_hash`, `type: Prompt`, or `metric_type` and `prompt`",
        )
    return read_saved(mapping)


def read_ragas_file(mapping: Mapping[str, Any]) -> Conversation:
    """Return the message that Ragas sends, with its inputs."""
    prompt = read_saved_file(mapping)
    lost: list[str] = []
    renamed: dict[str, str] = {}
    if prompt.form == "pydantic prompt":
        pieces = tuple(_model_pieces(prompt, renamed, lost))
    else:
        examples = (MessagePiece("text", f"\n\n{plain_examples(prompt)}"),) if prompt.examples else ()
        pieces = (*field_pieces(prompt.instruction, renamed), *examples)
    lost += [f"the input `{name}` is called `{new}` now" for name, new in renamed.items() if name != new]
    header: dict[str, Any] = {"name": prompt.name} if prompt.name else {}
    if renamed:
        header["input_keys"] = {new: {} for new in renamed.values()}
    if prompt.output_schema is not None:
        header |= {"output_type": "json", "output_schema": _bounded_schema(prompt)}
    return Conversation((Message("user", pieces, "prompt"),), header, (*lost, *_not_converted(prompt)))


def _model_pieces(prompt: SavedPrompt, renamed: dict[str, str], lost: list[str]) -> Iterator[MessagePiece]:
    yield MessagePiece("text", model_text_above(prompt))
    lost.append(_LOST_JSON)
    if prompt.output_schema is None:
        lost.append(_LOST_SCHEMA)
    if not prompt.input_keys:
        renamed["input"] = "input"
        yield MessagePiece("text", "input: ")
        yield MessagePiece("input", "input | tojson(indent=4) | string")
        yield MessagePiece("text", "\nOutput: ")
        return
    between = "input: {\n    "
    for key in prompt.input_keys:
        (field,) = field_pieces(f"{{{key}}}", renamed)
        yield MessagePiece("text", f"{between}{json.dumps(key, ensure_ascii=False)}: ")
        yield MessagePiece("input", field.text.removesuffix(" | string") + " | tojson | string")
        between = ",\n    "
    yield MessagePiece("text", "\n}\nOutput: ")


def object_of_saved(mapping: Mapping[str, Any]) -> Converted:
    """Return the file as a prompt object: the same instruction, inputs and examples, in the text of 0.1."""
    prompt = read_saved_file(mapping)
    lost = ["the exact text: a prompt object has the same pieces in another layout", *_not_converted(prompt)]
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
    """Return the schema of the answer, with the bounds of `value` from the metric's settings."""
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


def _not_converted(prompt: SavedPrompt) -> Iterator[str]:
    if prompt.language != "english":
        yield "`language`: the texts stay as they are"
    if prompt.allowed_values is not None and prompt.output_schema is None:
        yield "`allowed_values`: the file has no JSON Schema with them"


def saved_object(mapping: Mapping[str, Any], target: str) -> Converted:
    """Return the prompt object as a file of this kind.

    Raises UserError for prompts that Ragas rejects, or that the file cannot represent.
    """
    try:
        prompt = read_prompt_object(mapping)
        fields = set(field_names(prompt.instruction))
    except (PromptObjectError, ValueError) as error:
        raise UserError(str(error).rstrip("."), remedy="fix the prompt object and convert again") from error
    lost = ["the exact text: Ragas has the same pieces in another layout"]
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
    """Return the messages as the instruction of such a file; raises UserError if the format needs more."""
    if target == "pydantic-prompt":
        raise UserError(
            "a template does not separate the inputs and outputs of examples",
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
        lost.append(f"outputs that are not a mapping are under `{prompt.output_key}`")
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
        # Only the class can compute the hash; Ragas does not compare hashes if there is none.
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
    """Return the type of a metric and its allowed values, from the schema of `value`; raises UserError."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    value = properties.get("value") if isinstance(properties, Mapping) else None
    if isinstance(value, Mapping):
        if isinstance(value.get("enum"), list):
            return "DiscreteMetric", value["enum"]
        if value.get("type") in ("number", "integer"):
            return "NumericMetric", [value.get("minimum", 0.0), value.get("maximum", 1.0)]
        if value.get("type") == "array" and isinstance(value.get("maxItems"), int):
            return "RankingMetric", value["maxItems"]
    raise UserError(
        "the values of the metric are unknown",
        remedy="declare `output_schema: {properties: {value: {enum: [pass, fail]}, reason: {type: string}}}`",
    )
