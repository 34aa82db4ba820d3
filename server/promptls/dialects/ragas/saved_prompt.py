"""The files that Ragas saves since 0.2: prompts with models, simple prompts, and metrics."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from promptls.dialects.ragas.prompt_object import (
    ObjectProblem,
    PromptObject,
    PromptObjectError,
    field_names,
    fill_fields,
    format_prompt,
    is_known_release,
    raise_first,
    read_prompt_object,
    release_of,
)
from promptls.text.format import in_code
from promptls.text.suggest import is_typo

Form: TypeAlias = Literal["pydantic prompt", "simple prompt", "metric"]

SAVING_RELEASE: Final = "0.4.3"
"""The release of Ragas whose files are read and written."""
UNKNOWN_SCHEMA: Final = "(the JSON Schema of the output model, which the file does not contain)"
SIMPLE_TYPES: Final = ("Prompt", "DynamicFewShotPrompt")
_HASHED: Final = frozenset({"ragas_version", "original_hash"})
"""Keys that only prompts with models have together."""
_METRIC_MARKS: Final = frozenset({"format_version", "prompt", "config", "response_model_info"})
"""Keys; the file of a metric has at least two of them."""
_MAX_SIMILAR: Final = 3


@dataclass(frozen=True, slots=True)
class SavedPrompt:
    """The content of one saved file."""

    form: Form
    name: str
    instruction: str
    examples: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]
    """The inputs and the outputs of each example."""
    input_keys: tuple[str, ...]
    """The inputs in the examples of a prompt with models; otherwise, the fields of the instruction."""
    language: str = "english"
    output_schema: Mapping[str, Any] | None = None
    """The JSON Schema of the answer: from a metric's file, or one that was added to the file."""
    metric_type: str | None = None
    allowed_values: Any = None


def form_of(mapping: Any) -> Form | None:
    """Return which of the three formats a mapping has; None for prompt objects of 0.1 and anything else."""
    if not isinstance(mapping, Mapping):
        return None
    if is_metric_file(mapping):
        return "metric"
    if "instruction" not in mapping and not is_saved_file(mapping):
        return None
    if mapping.get("type") in SIMPLE_TYPES and ("format_version" in mapping or "examples" in mapping):
        return "simple prompt"
    version = mapping.get("ragas_version")
    is_later = version is not None and not is_known_release(version) and "input_keys" not in mapping
    if "original_hash" in mapping or is_later:
        return "pydantic prompt"
    return "simple prompt" if _is_simple(mapping) else None


def is_metric_file(keys: Collection[str]) -> bool:
    """Return whether a file with these top-level keys is a saved metric with a prompt."""
    return "metric_type" in keys and len(_METRIC_MARKS & set(keys)) > 1


def is_saved_file(keys: Collection[str]) -> bool:
    """Return whether a file with these top-level keys was saved by Ragas, whatever else is in it."""
    return is_metric_file(keys) or set(keys) >= _HASHED


def _is_simple(mapping: Mapping[str, Any]) -> bool:
    """Return whether a mapping with an instruction is a simple prompt whose type is missing or wrong."""
    if "input_keys" in mapping or "output_key" in mapping:
        return False
    written = mapping.get("type")
    if isinstance(written, str) and any(is_typo(written, known) for known in SIMPLE_TYPES):
        return "format_version" in mapping or "examples" in mapping
    return "format_version" in mapping and "response_model_info" in mapping


def prompt_in(mapping: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the mapping with the prompt, and its path in the file."""
    if form_of(mapping) != "metric":
        return mapping, ()
    own = mapping.get("prompt")
    return own if isinstance(own, Mapping) else {}, ("prompt",)


def load_problems(mapping: Mapping[str, Any]) -> Iterator[ObjectProblem]:
    """Yield the problems that make loading the prompt of a file fail."""
    form = form_of(mapping)
    own, path = prompt_in(mapping)
    if form == "metric" and not isinstance(mapping.get("prompt"), Mapping):
        yield ObjectProblem("The metric has no `prompt`, a mapping.", ("prompt",))
        return
    if "instruction" not in own:
        yield ObjectProblem("The prompt has no `instruction`.", (*path, "instruction"))
    elif not isinstance(own["instruction"], str):
        yield ObjectProblem("`instruction` must be text.", (*path, "instruction"))
    elif not own["instruction"].strip():
        message = "`instruction` is empty: the model gets no task."
        yield ObjectProblem(message, (*path, "instruction"), "warning")
    if form != "pydantic prompt":
        yield from _type_problems(own, path, ("string", *SIMPLE_TYPES) if form == "metric" else SIMPLE_TYPES)
    elif "examples" not in own:
        yield ObjectProblem("The file has no `examples`: write `[]` for none.", ("examples",))
    yield from _example_problems(own.get("examples", []), (*path, "examples"))


def _type_problems(
    own: Mapping[str, Any], path: tuple[str, ...], known: tuple[str, ...]
) -> Iterator[ObjectProblem]:
    written = own.get("type")
    if "type" not in own:
        yield ObjectProblem("The prompt has no `type`.", (*path, "type"))
    elif not isinstance(written, str):
        yield ObjectProblem("The type of a prompt is a text.", (*path, "type"))
    elif written not in known:
        yield ObjectProblem(f"A prompt cannot have the type `{written}`.", (*path, "type"), known=known)


def _example_problems(examples: Any, path: tuple[str, ...]) -> Iterator[ObjectProblem]:
    if not isinstance(examples, list):
        yield ObjectProblem("`examples` must be a list.", path)
        return
    for index, example in enumerate(examples):
        name = f"example {index + 1}"
        if not isinstance(example, Mapping):
            yield ObjectProblem(
                f"{name.capitalize()} must be a mapping with `input` and `output`.", (*path, index)
            )
            continue
        for key in ("input", "output"):
            if key not in example:
                yield ObjectProblem(
                    f"{name.capitalize()} has no `{key}`: write both `input` and `output`.",
                    (*path, index, key),
                )
            elif not isinstance(example[key], Mapping):
                yield ObjectProblem(f"The `{key}` of {name} must be a mapping.", (*path, index, key))


def read_saved(mapping: Mapping[str, Any]) -> SavedPrompt:
    """Return the content of the file. Raises PromptObjectError if Ragas cannot load it."""
    form = form_of(mapping)
    assert form is not None
    raise_first(load_problems(mapping))
    own, _ = prompt_in(mapping)
    instruction = own["instruction"]
    examples = tuple((each["input"], each["output"]) for each in own.get("examples", []))
    if form == "pydantic prompt":
        keys = tuple(dict.fromkeys(key for inputs, _ in examples for key in inputs))
    else:
        try:
            keys = field_names(instruction)
        except ValueError as error:
            raise PromptObjectError(
                f"The braces of `instruction` are not fields: {error}.", "instruction"
            ) from None
    if own.get("type") == "DynamicFewShotPrompt":
        # Without an embedding model, Ragas uses the last ones.
        limit = own.get("max_similar_examples", _MAX_SIMILAR)
        examples = examples[-limit:] if isinstance(limit, int) else ()
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
    """Return the text that Ragas sends for `inputs`; raises PromptObjectError if it would fail.

    Unknown inputs are ignored. The text of a prompt with models contains the schema of its output model; the
    file has none, so a placeholder is used unless a schema was added.
    """
    if prompt.form == "pydantic prompt":
        known = {key: inputs[key] for key in prompt.input_keys or inputs if key in inputs}
        return f"{model_text_above(prompt)}{_input(known)}Output: "
    if "" in prompt.input_keys:
        raise PromptObjectError(
            "The instruction has braces without a name, `{}`: name the input in them, or write them twice.",
            "instruction",
        )
    if missing := [key for key in prompt.input_keys if key not in inputs]:
        raise PromptObjectError(
            f"The data has no {in_code(missing)}: every field of the instruction needs a value.", missing[0]
        )
    try:
        text = fill_fields(prompt.instruction, inputs)
    except ValueError as error:
        raise PromptObjectError(str(error), "instruction") from error
    return f"{text}\n\n{plain_examples(prompt)}" if prompt.examples else text


def plain_examples(prompt: SavedPrompt) -> str:
    """Return the examples of a simple prompt, as formatted after its instruction."""
    shown = [
        f"Example {number}:\nInput:\n{_lines(inputs)}\nOutput:\n{_lines(output)}"
        for number, (inputs, output) in enumerate(prompt.examples, start=1)
    ]
    return "\n\n".join(["Examples:", *shown])


def model_text_above(prompt: SavedPrompt) -> str:
    """Return the text before the input in a prompt with models: instruction, schema and examples."""
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
    """Return the value as JSON of pydantic, with its number formats (`1e-9`)."""
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


def saved_prompt_in(data: Any) -> SavedPrompt | None:
    """Return the saved prompt in a file's data; None for other and for invalid files."""
    if form_of(data) is None:
        return None
    try:
        return read_saved(data)
    except PromptObjectError:
        return None


def example_inputs(prompt: SavedPrompt) -> list[Mapping[str, Any]]:
    """Return the inputs of the examples that have all of them."""
    return [inputs for inputs, _ in prompt.examples if not set(prompt.input_keys) - set(inputs)]


RagasPrompt: TypeAlias = PromptObject | SavedPrompt


def load_json(text: str) -> Any:
    """Return the data of a JSON text, with or without a byte order mark; raises PromptObjectError."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise PromptObjectError(f"The file is not JSON: {error}.", "instruction") from None


def read_ragas(mapping: Any, declared: str | None) -> RagasPrompt:
    """Return the prompt in the file; `declared` is the release configured for its project.

    Raises PromptObjectError.
    """
    if form_of(mapping) is not None:
        return read_saved(mapping)
    return read_prompt_object(mapping, release_of(mapping, declared))


def ragas_text(prompt: RagasPrompt, data: Mapping[str, Any]) -> str:
    """Return the text for the data that the prompt uses; raises PromptObjectError."""
    if isinstance(prompt, SavedPrompt):
        return saved_text(prompt, data)
    return format_prompt(prompt, {key: data[key] for key in prompt.input_keys if key in data})
