"""Prompt objects of Ragas 0.1: keys, releases, validation, and the text for specific inputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from string import Formatter
from typing import Any, Final, Literal, NamedTuple

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment, SandboxedFormatter

from promptls.dialects import KeyFact, optional, required_key, table
from promptls.text.errors import parse_json
from promptls.text.format import in_code

PROMPT_KEYS: Mapping[str, KeyFact] = table(
    optional("name", "text", "Name of the prompt, and of the file that Ragas saves."),
    required_key(
        "instruction",
        "text",
        "The task in plain language, at the start of the prompt. It must not be empty, and braces are "
        "read as inputs.",
    ),
    optional("output_format_instruction", "text", "Format of the answer. It follows the instruction."),
    optional(
        "examples",
        "list of mappings",
        "Demonstrations. Each has all input keys and the output key, and is shown to the model as "
        "`key: value` lines with JSON values.",
    ),
    required_key(
        "input_keys", "list of names", "Names of the inputs. The prompt must be formatted with exactly these."
    ),
    required_key(
        "output_key", "text", "Name of the output. The prompt ends with it, and every example has it."
    ),
    optional(
        "output_type",
        "`json` or `str`",
        "Whether outputs are JSON or plain text. With `json`, an example's output given as "
        "text must parse as JSON. Default: `json`.",
    ),
    optional("language", "text", "Language of the examples. Default: `english`."),
)
"""The keys of a prompt object, in the order in which Ragas saves them."""

NEWER_FILE_KEYS: frozenset[str] = frozenset(
    {"original_hash", "format_version", "response_model_info", "metric_type"}
)
"""Keys of files saved by later releases of Ragas, without `input_keys` and `output_key`."""

OUTPUT_TYPES: Mapping[str, str] = {
    "json": "The output is JSON; an example's output given as text must parse.",
    "str": "The output is plain text.",
}
"""The values of `output_type`, with their meanings."""

DEFAULT_OUTPUT_TYPE = "json"
DEFAULT_LANGUAGE = "english"


DEFAULT_RELEASE: Final = "0.1.0"
"""The release described by the documentation of prompt objects."""
NEWEST_RELEASE: Final = "0.1.21"
"""The release whose behavior all later ones of 0.1 share."""

_LAST_RELEASE: Final = 22
"""The last release of 0.1."""
_NO_FIELD: Final = re.compile(r"[.\[\]{}!:]|^\d*$")
"""Characters in names of inputs that have a special meaning in `str.format`."""
_RELEASE: Final = re.compile(r"0\.1\.(\d{1,3})")


class Release(NamedTuple):
    """How one release validates and renders prompt objects."""

    name: str
    asks_for_json: bool
    """Whether a line below the instruction requests valid JSON: 0.1.1 to 0.1.5."""
    has_format_instruction: bool
    """Whether there is `output_format_instruction`, with headings above the examples and the inputs, lists
    and mappings in fences, and only the output types `json` and `str`: from 0.1.6 on."""
    has_defaults: bool
    """Whether `name`, `input_keys` and `output_key` may be missing: from 0.1.9 on."""
    quotes_texts: bool
    """Whether string inputs are inserted as JSON, in quotes: from 0.1.14 on."""
    keeps_adapted: bool
    """Whether `adapt` saves its result, and reuses one that was saved before: from 0.1.13 on."""


@lru_cache(maxsize=32)
def release(name: str) -> Release:
    """Return the release called `name`, such as `0.1.21`.

    Raises ValueError for one without prompt objects.
    """
    match = _RELEASE.fullmatch(name)
    if match is None:
        raise ValueError(f"Ragas {name} has no prompt objects: name a release from 0.1.0 to 0.1.21.")
    number = int(match[1])

    def is_since(first: int) -> bool:
        return number >= first

    return Release(
        name,
        asks_for_json=is_since(1) and not is_since(6),
        has_format_instruction=is_since(6),
        has_defaults=is_since(9),
        quotes_texts=is_since(14),
        keeps_adapted=is_since(13),
    )


FIRST_RELEASE: Final = release(DEFAULT_RELEASE)
"""The release that is assumed if none is specified."""


def is_known_release(name: Any) -> bool:
    """Return whether `name` is a release that has prompt objects."""
    return isinstance(name, str) and _RELEASE.fullmatch(name) is not None


def release_of(mapping: Any, declared: str | None) -> Release:
    """Return the release of a prompt object in a file.

    It is the `ragas_version` in the file, or else the release `declared` for the project. Without either, it
    is the latest release for a file with `output_format_instruction`, which the default release does not
    support, or else the default one.
    """
    own = mapping.get("ragas_version") if isinstance(mapping, dict) else None
    for name in (own, declared):
        if isinstance(name, str) and is_known_release(name):
            return release(name)
    is_newer = isinstance(mapping, dict) and mapping.get("output_format_instruction")
    return release(NEWEST_RELEASE if is_newer else DEFAULT_RELEASE)


def fill_fields(text: str, inputs: Mapping[str, Any]) -> str:
    """Return the text with its fields replaced by the inputs.

    Raises ValueError for a field that is not an input.
    """
    # Jinja's formatter prevents fields such as `{text.__class__}` from accessing Python internals.
    formatter = SandboxedFormatter(SandboxedEnvironment(undefined=StrictUndefined))
    try:
        return formatter.vformat(text, (), inputs)
    except (LookupError, ValueError, AttributeError, TypeError, TemplateError) as error:
        raise ValueError(
            f"The text cannot be filled in, as its braces do not denote inputs ({_said(error)}): "
            "double a brace that is text, `{{` or `}}`."
        ) from error


def field_names(text: str) -> tuple[str, ...]:
    """Return the unique names of the text's fields, in order.

    Raises ValueError for unbalanced braces.

    A field without a name counts as the empty name.
    """
    found: dict[str, None] = {}
    for _, field, form, _ in Formatter().parse(text):
        if field is not None:
            found[field.split(".")[0].split("[")[0]] = None
            if form and "{" in form:
                found.update(dict.fromkeys(field_names(form)))
    return tuple(found)


_SCHEMA: Final = re.compile(r"Here is the output JSON schema:\n```\n(\{.*?)\n```", re.DOTALL)


def schema_in_instruction(instruction: Any) -> Any:
    """Return the JSON Schema that Ragas writes into `output_format_instruction`; None if there is none."""
    match = _SCHEMA.search(instruction) if isinstance(instruction, str) else None
    try:
        return json.loads(match[1]) if match else None
    except (ValueError, RecursionError):
        return None


def _said(error: Exception) -> str:
    return f"there is no `{error.args[0]}`" if isinstance(error, KeyError) and error.args else str(error)


class ObjectProblem(NamedTuple):
    """A problem in a prompt file of Ragas, and its location.

    `path` is the path of the value, or of the missing key. Ragas rejects the file if the severity is `error`.
    """

    message: str
    path: tuple[str | int, ...]
    severity: Literal["error", "warning", "information", "hint"] = "error"
    known: tuple[str, ...] = ()
    """The values that Ragas supports."""
    at_key: bool = False
    """Whether the problem is the key, not its value."""


class PromptObjectError(ValueError):
    """An error in a prompt object, or in the inputs to format it with."""

    def __init__(self, message: str, key: str, example: int | None = None) -> None:
        """Set the invalid `key`, and the 0-based index of its `example`, if it is in one."""
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


def object_problems(mapping: Mapping[str, Any], of: Release) -> Iterator[ObjectProblem]:
    """Yield the problems of a prompt object when the release `of` loads and formats it.

    Problems of individual examples are not included; `read_prompt_object` raises them.
    """
    instruction = mapping.get("instruction")
    yield from _text_problems(mapping, "instruction", "say in plain language what the model is to do")
    if isinstance(instruction, str) and instruction and not instruction.strip():
        yield ObjectProblem(
            "`instruction` is only white space: the model gets no task.", ("instruction",), "warning"
        )
    format_key = "output_format_instruction"
    for key in ["name", "output_type", "language", *[format_key] * of.has_format_instruction]:
        if mapping.get(key, "") is None:
            yield ObjectProblem(f"`{key}` has no value: give it one, or leave the key out.", (key,))
    if mapping.get(format_key) and not of.has_format_instruction:
        message = f"Ragas {of.name} ignores `{format_key}`: it is known from 0.1.6 on."
        yield ObjectProblem(message, (format_key,), "warning", at_key=True)
    yield from _schema_problems(mapping.get(format_key), format_key)
    if not isinstance(mapping.get("examples", []), list):
        yield ObjectProblem("`examples` must be a list of mappings; leave it out for none.", ("examples",))
    yield from _input_problems(mapping, of)
    yield from _text_problems(mapping, "output_key", "name the output as the examples do")
    yield from _output_type_problems(mapping.get("output_type"), of)
    version = mapping.get("ragas_version")
    if isinstance(version, str):
        match = _RELEASE.fullmatch(version)
        if match is None or int(match[1]) > _LAST_RELEASE:
            message = (
                f"Ragas {version} has no prompt objects: name a release from 0.1.0 to 0.1.{_LAST_RELEASE}."
            )
            yield ObjectProblem(message, ("ragas_version",))


def _schema_problems(instruction: Any, key: str) -> Iterator[ObjectProblem]:
    match = _SCHEMA.search(instruction) if isinstance(instruction, str) else None
    try:
        parse_json(match[1] if match else "{}")
    except ValueError as error:
        yield ObjectProblem(f"The schema in `{key}` is not valid JSON: {_said(error)}.", (key,), "warning")


def _text_problems(mapping: Mapping[str, Any], key: str, what: str) -> Iterator[ObjectProblem]:
    value = mapping.get(key)
    if key not in mapping:
        yield ObjectProblem(f"The prompt object has no `{key}`: {what}.", (key,))
    elif value is None or value == "":
        yield ObjectProblem(f"`{key}` cannot be empty: {what}.", (key,))
    elif isinstance(value, list | Mapping):
        kind = "list" if isinstance(value, list) else "mapping"
        yield ObjectProblem(f"`{key}` must be text, and is a {kind}.", (key,))


def _input_problems(mapping: Mapping[str, Any], of: Release) -> Iterator[ObjectProblem]:
    key = "input_keys"
    value = mapping.get(key)
    if key not in mapping and of.has_defaults and not mapping.get("examples"):
        message = f"Ragas {of.name} loads this prompt object without `{key}`, and cannot fill it in."
        yield ObjectProblem(message, (key,), "warning")
    elif key not in mapping:
        yield ObjectProblem(f"The prompt object has no `{key}`: list the names of the inputs.", (key,))
    elif value is None:
        yield ObjectProblem(f"`{key}` cannot be empty: list the names of the inputs.", (key,))
    elif not isinstance(value, list | Mapping):
        yield ObjectProblem(f"`{key}` must be a list of names.", (key,))
    elif not value:
        yield ObjectProblem("This prompt takes no input.", (key,), "information")
    else:
        for index, name in enumerate(value):
            path = (key, index if isinstance(value, list) else name)
            if name is None or isinstance(name, list | Mapping):
                yield ObjectProblem(f"`{key}` must be a list of names.", path)
            elif name == "self":
                message = "`Prompt.format` takes no input of this name: `self` is the prompt."
                yield ObjectProblem(message, path, "warning", at_key=True)
            elif _NO_FIELD.search(str(name)):
                message = "`str.format` cannot fill in an input of this name."
                yield ObjectProblem(message, path, "warning", at_key=True)


def _output_type_problems(kind: Any, of: Release) -> Iterator[ObjectProblem]:
    if kind is None or (isinstance(kind, str) and kind in OUTPUT_TYPES):
        return
    path, known = ("output_type",), tuple(OUTPUT_TYPES)
    if of.has_format_instruction:
        message = f"`output_type` is `{kind}`, and Ragas {of.name} takes `json` or `str`."
        yield ObjectProblem(message, path, known=known)
    else:
        word = str(kind).lower()
        taken = "JSON" if word == "json" else "plain text"
        message = f"Ragas {of.name} takes `{kind}` for {taken}, and releases from 0.1.6 on refuse it."
        yield ObjectProblem(message, path, "information" if word in OUTPUT_TYPES else "warning", known)


def raise_first(problems: Iterator[ObjectProblem]) -> None:
    """Raise the first problem that makes Ragas reject the file as PromptObjectError."""
    for problem in problems:
        if problem.severity == "error":
            example = problem.path[1] if problem.path[0] == "examples" and len(problem.path) > 1 else None
            raise PromptObjectError(
                problem.message, str(problem.path[0]), example if isinstance(example, int) else None
            )


def read_prompt_object(mapping: Any, of: Release = FIRST_RELEASE) -> PromptObject:
    """Return the prompt object in the loaded YAML `mapping`, as loaded by the release `of`.

    Unknown keys are ignored. Raises PromptObjectError.
    """
    if not isinstance(mapping, Mapping):
        raise PromptObjectError(
            "A prompt object is a mapping with `instruction`, `input_keys` and `output_key`.", "instruction"
        )
    raise_first(object_problems(mapping, of))
    prompt = PromptObject(
        name=str(mapping.get("name") or ""),
        instruction=str(mapping["instruction"]),
        examples=_examples(mapping.get("examples", [])),
        # Releases with defaults accept one input without a name.
        input_keys=tuple(map(str, mapping.get("input_keys", [""]))),
        output_key=str(mapping["output_key"]),
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
    """Raise PromptObjectError if Ragas rejects the object as a whole."""
    written = {
        "instruction": prompt.instruction,
        "input_keys": list(prompt.input_keys),
        "output_key": prompt.output_key,
        "output_type": prompt.output_type,
    }
    raise_first(object_problems(written, prompt.release))
    for index in range(len(prompt.examples)):
        _check_example(prompt, index)


def to_string(prompt: PromptObject) -> str:
    """Return the prompt's text, with `{name}` for each input, and the braces of JSON examples doubled."""
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
    """Return the examples as they appear in the prompt's text, each between line breaks."""
    heading = "\nExamples:\n" if prompt.release.has_format_instruction and prompt.examples else ""
    fenced = prompt.release.has_format_instruction
    return heading + "".join(_lines(prompt, example, fenced=fenced) + "\n" for example in prompt.examples)


def example_text(prompt: PromptObject, example: Mapping[str, Any]) -> str:
    """Return a single example, as Ragas formats it on request."""
    text = _lines(prompt, example, fenced=False)
    return f"```{text}```" if prompt.release.has_format_instruction else text


def _lines(prompt: PromptObject, example: Mapping[str, Any], *, fenced: bool) -> str:
    """Return an example as `key: value` lines, each after a line break, with the values in JSON."""
    text = ""
    for key, value in example.items():
        shown = json.dumps(value, ensure_ascii=False)
        try:
            shown.encode()
        except UnicodeEncodeError as error:
            raise PromptObjectError(
                f"`{key}` in an example contains a lone surrogate, which cannot be written: {error}.", key
            ) from error
        if prompt.is_json:
            shown = _doubled(shown)
        is_fenced = fenced and isinstance(value, list | dict)
        text += f"\n{key}: ```{shown}```" if is_fenced else f"\n{key}: {shown}"
    return text


def format_prompt(prompt: PromptObject, inputs: Mapping[str, Any], text: str | None = None) -> str:
    """Return the text sent to the model for `inputs`; raises PromptObjectError.

    `text` is the text to format, by default the prompt's own.

    `inputs` must have exactly the input keys. Braces in the instruction, and in examples of plain text, are
    treated as inputs, as in Ragas.
    """
    if "" in prompt.input_keys:
        raise PromptObjectError(
            "The prompt has an input without a name, which nothing can fill in: "
            "list the names in `input_keys`.",
            "input_keys",
        )
    if missing := [key for key in prompt.input_keys if key not in inputs]:
        names = in_code(missing)
        raise PromptObjectError(f"The data has no {names}: every input key needs a value.", missing[0])
    if extra := [key for key in inputs if key not in prompt.input_keys]:
        raise PromptObjectError(f"The data has {in_code(extra)}, which `input_keys` does not name.", extra[0])
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
        return fill_fields(to_string(prompt) if text is None else text, inputs)
    except ValueError as error:
        raise PromptObjectError(str(error), "instruction") from error


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _examples(value: list[Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the examples. Raises PromptObjectError if they are not mappings."""
    for index, example in enumerate(value):
        if not isinstance(example, Mapping):
            raise PromptObjectError(f"Example {index + 1} must be a mapping.", "examples", index)
    try:
        # YAML supports dates, unlike JSON.
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
    """Raise PromptObjectError if the example lacks a key, or its output is not valid JSON as required."""
    example = prompt.examples[index]
    for key in (*prompt.input_keys, prompt.output_key):
        if key not in example:
            if not key:
                raise PromptObjectError("`input_keys` names no input: list the names.", "input_keys")
            raise PromptObjectError(f"Example {index + 1} has no `{key}`: add it.", key, index)
    output = example[prompt.output_key]
    if prompt.is_json and isinstance(output, str):
        try:
            parse_json(output)
        except ValueError as error:
            raise PromptObjectError(
                f"`{prompt.output_key}` in example {index + 1} is not valid JSON: {error}. "
                "Correct it, or set `output_type: str`.",
                prompt.output_key,
                index,
            ) from error
