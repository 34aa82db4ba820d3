"""The files that Ragas saves since 0.2: prompts with models, simple prompts, and metrics."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from promptls.dialects import KeyFact, optional, required_key, table
from promptls.dialects.ragas.odd_keys import keys_in, odd_keys
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
from promptls.text.suggest import is_typo, nearest

Form: TypeAlias = Literal["pydantic prompt", "simple prompt", "metric"]

SAVING_RELEASE: Final = "0.4.3"
"""The release of Ragas whose files are read and written."""
UNKNOWN_SCHEMA: Final = "(the JSON Schema of the output model, which the file does not hold)"
SIMPLE_TYPES: Final = ("Prompt", "DynamicFewShotPrompt")
METRIC_TYPES: Final = {
    "DiscreteMetric": "a list of values",
    "NumericMetric": "the lowest and the highest value, in a list",
    "RankingMetric": "the length of the ranking, a whole number",
}
"""The metrics that can be loaded, with descriptions of their `allowed_values`."""
_METRIC_MARKS: Final = frozenset({"format_version", "prompt", "config", "response_model_info"})
"""Keys of which the file of a metric has at least two."""
_MAX_HASH: Final = 2**61 - 1
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
    if "instruction" not in mapping:
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


def _is_simple(mapping: Mapping[str, Any]) -> bool:
    """Return whether a mapping with an instruction is a simple prompt whose type is missing or wrong."""
    if "input_keys" in mapping or "output_key" in mapping:
        return False
    written = mapping.get("type")
    if isinstance(written, str) and any(is_typo(written, known) for known in SIMPLE_TYPES):
        return "format_version" in mapping or "examples" in mapping
    return "format_version" in mapping and "response_model_info" in mapping


def saved_problems(mapping: Mapping[str, Any]) -> Iterator[ObjectProblem]:
    """Yield the problems that make loading a saved file, or using its prompt, fail."""
    form = form_of(mapping)
    own, path = _prompt_in(mapping)
    yield from _load_problems(mapping)
    if form != "pydantic prompt" and isinstance(own.get("instruction"), str):
        yield from _brace_problems(own["instruction"], (*path, "instruction"))
        yield from _field_problems(own, path)
    if form == "metric":
        yield from _metric_problems(mapping)
    yield from _key_problems(own.get("examples"), (*path, "examples"), has_models=form == "pydantic prompt")
    if form == "pydantic prompt":
        yield from _unfilled(mapping)
        value = mapping.get("original_hash")
        if value is not None and (not isinstance(value, int) or not 0 <= value < _MAX_HASH):
            message = "Ragas never computes this hash, so that loading the file warns of another prompt."
            yield ObjectProblem(message, ("original_hash",), "information")


def _prompt_in(mapping: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the mapping with the prompt, and its path in the file."""
    if form_of(mapping) != "metric":
        return mapping, ()
    own = mapping.get("prompt")
    return own if isinstance(own, Mapping) else {}, ("prompt",)


def _load_problems(mapping: Mapping[str, Any]) -> Iterator[ObjectProblem]:
    """Yield the problems that make loading the prompt of a file fail."""
    form = form_of(mapping)
    own, path = _prompt_in(mapping)
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


def _brace_problems(instruction: str, path: tuple[str, ...]) -> Iterator[ObjectProblem]:
    try:
        names = field_names(instruction)
    except ValueError as error:
        reason = str(error)
    else:
        # Names with quotes and line breaks come from JSON that is meant as text.
        wrong = [name for name in names if not name or name.isdigit() or set(name) & set("\"'\n{}:,%")]
        if not wrong:
            return
        reason = f"`{{{wrong[0]}}}` is not a field with a name"
    message = (
        f"These braces fail when the prompt is used: {reason}. Write braces in text as `{{{{` and `}}}}`."
    )
    yield ObjectProblem(message, path)


_JINJA_NAME: Final = re.compile(r"(\{\{[ ]*(\w+)[ ]*\}\})")
_BRACED_NAME: Final = re.compile(r"(\{\{?[ ]*(\w+)[ ]*\}?\})")


def _unfilled(mapping: Mapping[str, Any]) -> Iterator[ObjectProblem]:
    """Yield the first input in braces in an instruction, which Ragas does not fill in."""
    instruction, examples = mapping.get("instruction"), mapping.get("examples")
    if not isinstance(instruction, str) or not isinstance(examples, list):
        return
    inputs = [each.get("input") for each in examples if isinstance(each, Mapping)]
    shown = {key for each in inputs if isinstance(each, Mapping) for key in each}
    for written, name in _BRACED_NAME.findall(instruction):
        if name in shown:
            message = (
                f"Ragas does not fill in this instruction: `{written}` reaches the model as it is, "
                "and all inputs follow as JSON."
            )
            yield ObjectProblem(message, ("instruction",), "warning")
            return


def _field_problems(own: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[ObjectProblem]:
    """Yield the fields and the inputs of examples that are typos of each other.

    The examples of a simple prompt may have other inputs than the prompt.
    """
    examples = own.get("examples")
    inputs = {
        index: each["input"]
        for index, each in enumerate(examples if isinstance(examples, list) else ())
        if isinstance(each, Mapping) and isinstance(each.get("input"), Mapping)
    }
    try:
        fields = field_names(own["instruction"])
    except ValueError:
        return
    shown = {str(key) for each in inputs.values() for key in each}
    for written, name in _JINJA_NAME.findall(own["instruction"]):
        if name in shown - set(fields) or not (fields or shown):
            message = f"`{written}` is text, and no input: braces are written once around an input."
            yield ObjectProblem(message, (*path, "instruction"), "warning")
    for field in fields:
        meant = next((name for name in sorted(shown - set(fields)) if is_typo(field, name)), None)
        if meant is not None and field not in shown:
            message = f"No example has the field `{{{field}}}`; did you mean `{{{meant}}}`?"
            yield ObjectProblem(message, (*path, "instruction"), "warning")
    for index, each in inputs.items():
        for name in sorted(str(key) for key in each if key not in fields):
            missing = (field for field in fields if field in shown and field not in each)
            meant = next((field for field in missing if is_typo(name, field)), None)
            if meant is not None:
                message = f"The instruction has no field `{{{name}}}`."
                place: tuple[str | int, ...] = (*path, "examples", index, "input", name)
                yield ObjectProblem(message, place, "warning", known=(meant,), at_key=True)


def _key_problems(examples: Any, path: tuple[str, ...], *, has_models: bool) -> Iterator[ObjectProblem]:
    """Yield the keys of one example that differ from those of all others.

    Of a prompt with models, all inputs are of one model, and so are all outputs; when Ragas saves them, each
    has every field.
    """
    for side in ("input", "output"):
        shown = {
            index: each[side]
            for index, each in enumerate(examples if isinstance(examples, list) else ())
            if isinstance(each, Mapping) and isinstance(each.get(side), Mapping)
        }
        others = len(shown) - 1
        if not others:
            continue
        counts = Counter(key for each in shown.values() for key in each)
        usual = [key for key, count in counts.items() if count == others]
        inner = [(index, keys) for index, own in shown.items() for keys in keys_in(own) if keys.path]
        for index, keys, name, meant in odd_keys(inner):
            place = (*path, index, side, *keys.path, name)
            message = f"No other {side} has `{name}` here."
            yield ObjectProblem(message, place, "warning", known=(meant,), at_key=True)
        yield from _kind_problems(shown, side) if has_models else ()
        for index, own in shown.items():
            missing = [key for key in usual if key not in own]
            for field in missing:
                strange = [key for key in own if counts[key] == 1]
                typo = next((key for key in strange if is_typo(str(key), str(field))), None)
                if len(missing) == len(strange) == 1:
                    typo = strange[0]
                if typo is None and others > 1 and has_models:
                    message = (
                        f"Example {index + 1} has no `{field}`, which the {side} of all others has: "
                        "Ragas fails to load the file if the model requires it."
                    )
                    yield ObjectProblem(message, ("examples", index, side, field), "information")
                elif typo is not None and others + has_models > 1 and (others > 1 or index):
                    # Of two, the second is reported.
                    is_similar = is_typo(str(typo), str(field))
                    instead = "" if is_similar else f", and this one has no `{field}`"
                    message = f"No other example has `{typo}`{instead}."
                    place = (*path, index, side, str(typo))
                    yield ObjectProblem(message, place, "warning", known=(str(field),), at_key=True)


def _kind_problems(shown: Mapping[int, Mapping[str, Any]], side: str) -> Iterator[ObjectProblem]:
    """Yield the only value of a field that its model cannot read, if it can read those of all others."""
    for field in dict.fromkeys(key for own in shown.values() for key in own):
        numbers = [isinstance(own.get(field), int | float) for own in shown.values()]
        quoted = [
            index
            for index, own in shown.items()
            if isinstance(own.get(field), str) and _NUMBER.fullmatch(own[field].strip())
        ]
        if len(quoted) == 1 and len(numbers) > _MIN_AGREEING and sum(numbers) == len(numbers) - 1:
            message = f"`{field}` is a text here, and a number in all other examples."
            yield ObjectProblem(message, ("examples", quoted[0], side, field), "hint")
        kinds = {index: kind for index, own in shown.items() if (kind := _kind(own.get(field))) is not None}
        times = Counter(kinds.values())
        if len(times) != _MIN_AGREEING or len(kinds) <= _MIN_AGREEING or min(times.values()) > 1:
            continue
        usual = times.most_common(1)[0][0]
        index = next(index for index, kind in kinds.items() if kind != usual)
        message = f"`{field}` is {kinds[index]} here, and {usual} in all other examples."
        yield ObjectProblem(message, ("examples", index, side, field), "warning")


_MIN_AGREEING: Final = 2
"""The minimum number of examples that show a value to be wrong."""
_BOOLEAN_TEXTS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "t", "f", "y", "n"})
"""Texts that Pydantic reads as a boolean."""


def _kind(value: Any) -> str | None:
    """Return the kind of a value that no field of another kind accepts; None if it may be of several."""
    match value:
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case Mapping():
            return "a mapping"
        case str():
            text = value.strip().lower()
            return None if text in _BOOLEAN_TEXTS or _NUMBER.fullmatch(text) else "a text"
    return None


_NUMBER: Final = re.compile(r"[-+.\d]+(?:e[-+]?\d+)?")


def _metric_problems(mapping: Mapping[str, Any]) -> Iterator[ObjectProblem]:
    kind, config = mapping["metric_type"], mapping.get("config")
    if isinstance(kind, str) and kind not in METRIC_TYPES and nearest(kind, METRIC_TYPES):
        # Other names can be user-defined classes, unless they look like a typo.
        message = f"Ragas cannot load a metric of the type `{kind}`."
        yield ObjectProblem(message, ("metric_type",), known=tuple(METRIC_TYPES))
    if "name" not in mapping:
        yield ObjectProblem("The metric has no `name`.", ("name",))
    if not isinstance(config, Mapping) or "allowed_values" not in config or kind not in tuple(METRIC_TYPES):
        return
    allowed = config["allowed_values"]
    if not _allows(kind, allowed):
        message = f"The allowed values of a {kind} are {METRIC_TYPES[kind]}."
        yield ObjectProblem(message, ("config", "allowed_values"))
    elif kind == "NumericMetric" and allowed[0] >= allowed[1]:
        message = f"No score is between {allowed[0]} and {allowed[1]}: the first is the minimum."
        yield ObjectProblem(message, ("config", "allowed_values"))
    elif kind == "DiscreteMetric" and all(isinstance(each, str) for each in allowed):
        yield from _choice_problems(mapping, allowed)


def _choice_problems(mapping: Mapping[str, Any], allowed: Sequence[str]) -> Iterator[ObjectProblem]:
    """Yield the values of a DiscreteMetric that occur twice, are typos, or are only in an example."""
    saved = _saved_choices(mapping)
    for index, value in enumerate(allowed):
        place = ("config", "allowed_values", index)
        if value in allowed[:index]:
            yield ObjectProblem(f"`{value}` is allowed twice.", place, "warning")
        meant = next((each for each in saved if each not in allowed and is_typo(value, each)), None)
        if meant is not None and value not in saved:
            message = f"The saved schema does not have the value `{value}`."
            yield ObjectProblem(message, place, "warning", known=(meant,))
        elif value not in saved and not {*saved} <= {*allowed}:
            message = f"The saved schema does not have the value `{value}`: one of the two was changed."
            yield ObjectProblem(message, place, "hint")
    own, path = _prompt_in(mapping)
    examples = own.get("examples")
    for index, each in enumerate(examples if isinstance(examples, list) else ()):
        output = each.get("output") if isinstance(each, Mapping) else None
        shown = output.get("value") if isinstance(output, Mapping) else None
        if isinstance(shown, str) and shown not in allowed:
            message = f"The metric does not allow the value `{shown}`."
            yield ObjectProblem(
                message, (*path, "examples", index, "output", "value"), "warning", known=tuple(allowed)
            )


def _saved_choices(mapping: Mapping[str, Any]) -> Sequence[str]:
    """Return the values that the saved JSON Schema of the answer allows; empty if it has no `enum`."""
    found: Any = mapping
    for key in ("response_model_info", "schema", "properties", "value", "enum"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else ()


def _allows(metric: str, allowed: Any) -> bool:
    if metric == "DiscreteMetric":
        return isinstance(allowed, list) and bool(allowed)
    if metric == "RankingMetric":
        return isinstance(allowed, int) and not isinstance(allowed, bool)
    match allowed:
        case [bool(), _] | [_, bool()]:
            return False
        case [int() | float(), int() | float()]:  # minimum and maximum
            return True
        case _:
            return False


def read_saved(mapping: Mapping[str, Any]) -> SavedPrompt:
    """Return the content of the file. Raises PromptObjectError if Ragas cannot load it."""
    form = form_of(mapping)
    assert form is not None
    raise_first(_load_problems(mapping))
    own, _ = _prompt_in(mapping)
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
        names = ", ".join(f"`{key}`" for key in missing)
        raise PromptObjectError(
            f"The data has no {names}: every field of the instruction needs a value.", missing[0]
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


_FORMAT: Final = required_key("format_version", "text", "`1.0`.")
_MODEL: Final = optional(
    "response_model_info",
    "mapping",
    (
        "Model of the answer: class, module and JSON Schema. It is not loaded from here: pass the class "
        "when you load the file."
    ),
)
_EXAMPLE: Final = table(
    required_key("input", "mapping", "The inputs of the example."),
    required_key("output", "mapping", "The answer of the example."),
)
_WITH_MODELS: Final = table(
    required_key(
        "ragas_version", "text", "Ragas version that saved the file. Other versions warn when they load it."
    ),
    optional(
        "original_hash",
        "integer",
        (
            "Hash of the class when the prompt was saved. Ragas warns if it differs from the hash of the "
            "current class. It has up to 19 digits, which JavaScript rounds."
        ),
    ),
    required_key("language", "text", "Language of the examples. The file name ends with it."),
    required_key(
        "instruction",
        "text",
        "The task, followed by the schema of the answer, the examples and the input. Braces are text.",
    ),
    required_key(
        "examples", "list of mappings", "Each has `input` and `output`, shown to the model as JSON."
    ),
)
_SIMPLE: Final = table(
    _FORMAT,
    required_key(
        "type", "text", "`Prompt`, or `DynamicFewShotPrompt`, which shows examples similar to the input."
    ),
    required_key("instruction", "text", "The task. `{name}` is an input; double a brace to use it as text."),
    optional(
        "examples",
        "list of mappings",
        "Each has `input` and `output`. They follow the instruction, line by line.",
    ),
    _MODEL,
    optional(
        "max_similar_examples",
        "integer",
        "Maximum number of examples. Without an embedding model, the last ones are used. Default: 3.",
    ),
    optional(
        "similarity_threshold",
        "number",
        "Minimum similarity of an example to the input. Default: 0.7.",
    ),
    optional(
        "embedding_model_info",
        "mapping",
        "Class of the embedding model. Pass the model when you load the file.",
    ),
    optional("embeddings", "list", "Vectors of the examples, in the same order."),
)
_METRIC: Final = table(
    _FORMAT,
    required_key(
        "metric_type",
        "text",
        "`DiscreteMetric`, `NumericMetric` or `RankingMetric`. Only this class can load the file.",
    ),
    required_key("name", "text", "Name of the metric."),
    required_key(
        "prompt", "mapping", "Prompt for the judge: a simple prompt whose fields are the metric's inputs."
    ),
    required_key("config", "mapping", "Settings of the metric."),
    _MODEL,
)
_CONFIG: Final = table(
    required_key(
        "allowed_values",
        "list or integer",
        (
            "Allowed scores: a list of texts for a discrete metric, minimum and maximum for a numeric "
            "metric, or the length of the ranking for a ranking metric."
        ),
    ),
)
_RESPONSE_MODEL: Final = table(
    required_key("class_name", "text", "Class of the model."),
    required_key("module", "text", "Module of the class."),
    required_key("schema", "mapping", "JSON Schema of the answer."),
    optional("note", "text", "Note for whoever loads the file."),
)
_TABLES: Final[Mapping[Form, Mapping[tuple[str, ...], Mapping[str, KeyFact]]]] = {
    "pydantic prompt": {(): _WITH_MODELS, ("examples", "-"): _EXAMPLE},
    "simple prompt": {(): _SIMPLE, ("examples", "-"): _EXAMPLE, ("response_model_info",): _RESPONSE_MODEL},
    "metric": {
        (): _METRIC,
        ("prompt",): _SIMPLE,
        ("prompt", "examples", "-"): _EXAMPLE,
        ("config",): _CONFIG,
        ("response_model_info",): _RESPONSE_MODEL,
    },
}


def saved_key(form: Form, keys: tuple[str, ...]) -> KeyFact | None:
    """Return the facts about the key at the path `keys`, with `-` for the items of lists."""
    return saved_keys(form, keys[:-1]).get(keys[-1]) if keys else None


def saved_keys(form: Form, path: tuple[str, ...]) -> Mapping[str, KeyFact]:
    """Return the keys of the mapping at `path`; empty if they are user-defined."""
    return _TABLES[form].get(path, {})


@lru_cache
def has_keys_below(form: Form, path: tuple[str, ...]) -> bool:
    """Return whether there are keys, other than user-defined ones, at or below `path`."""
    return any(known[: len(path)] == path for known in _TABLES[form])


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
