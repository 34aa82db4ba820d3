"""The formats that a prompt can be converted from and to, and the detection of a text's format."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import yaml

from promptls.convert.conversation import (
    Conversation,
    Converted,
    read_chat_json,
    read_f_string,
    read_jinja,
    read_prompty,
)
from promptls.dialects.ragas.prompt_object import PromptObjectError
from promptls.syntax.chunk import cut
from promptls.text.errors import FilePlace, UsageError, UserError, parse_json
from promptls.text.positions import Span
from promptls.workspace.disk import ENDINGS

if TYPE_CHECKING:
    from promptls.convert.python_interpreter import Files

Source = Literal["chat", "opencompass", "f-string", "jinja", "prompty", "ragas", "object", "parts"]
Target = Literal["parts", "object", "evaluation", "pydantic-prompt", "simple-prompt", "metric"]
SOURCES: Final[tuple[str, ...]] = get_args(Source)
TARGETS: Final[tuple[str, ...]] = get_args(Target)
JSON_TARGETS: Final = frozenset({"pydantic-prompt", "simple-prompt", "metric"})
"""JSON formats: files that Ragas loads."""
_MAX_NAMED: Final = 6
_TAG: Final = re.compile(r"\{[{%]")


def convert(
    text: str,
    path: str,
    source: str,
    target: str,
    *,
    dataset: str | None = None,
    files: Files | None = None,
) -> Converted:
    """Convert a text from the format `source` to the format `target`.

    For a configuration in Python, `dataset` names the dataset, by default the first one, and `files` provides
    the files that it imports or opens.

    Raises UserError for a text that is not in its format or cannot be converted, and UsageError for an
    unsupported pair of formats.
    """
    if target == source:
        other = "object" if target == "parts" else "parts"
        raise UsageError(
            f"the file is of the form `{target}` already", FilePlace(path), f"choose `--to {other}`"
        )
    try:
        if source == "opencompass" and path.endswith(".py"):
            chosen, lost = _configured(text, dataset, files)
            if target == "evaluation":
                from promptls.convert.opencompass import evaluation_prompt

                return evaluation_prompt(chosen, lost)
            from promptls.convert.opencompass import read_opencompass

            conversation = read_opencompass(chosen)
        elif (made := _from_mapping(text, path, source, target)) is not None:
            return made
        else:
            conversation = _read(text, path, source)
    except UserError as failure:
        failure.place = failure.place or FilePlace(path)
        raise
    except PromptObjectError as error:
        remedy = "correct it and convert it again"
        raise UserError(str(error).rstrip("."), FilePlace(path), remedy) from error
    if target in JSON_TARGETS and source == "parts":
        from promptls.convert.ragas import saved_conversation

        return saved_conversation(conversation, target)
    if target == "parts":
        from promptls.convert.parts_template import parts_template

        return parts_template(conversation)
    from promptls.convert.ragas import prompt_object

    if source != "parts":
        raise UsageError(
            f"there is no way from `{source}` to `{target}`", FilePlace(path), "convert it to `parts` first"
        )
    return prompt_object(conversation)


def _configured(
    text: str, dataset: str | None, files: Files | None
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return a dataset of a configuration in Python, and what of it could not be converted.

    Raises UserError.
    """
    from promptls.convert.opencompass import read_configuration

    configuration = read_configuration(text, files)
    chosen = configuration.chosen(dataset)
    if configuration.models:
        chosen = {**chosen, "models": list(configuration.models)}
    lost = [
        *(f"`{each}`: its value is known only when the configuration runs" for each in configuration.unread),
        *(f"what is imported from `{module}`, which is not found" for module in configuration.missing),
    ]
    others = len(configuration.datasets) - 1
    if others and dataset is None:
        noun = "the other dataset" if others == 1 else f"the other {others} datasets"
        names = ", ".join(configuration.names()[1:_MAX_NAMED]) + (", …" if others >= _MAX_NAMED else "")
        lost.append(f"{noun} of the file, which `--dataset` chooses: {names}")
    return chosen, tuple(lost)


def _from_mapping(text: str, path: str, source: str, target: str) -> Converted | None:
    """Return the direct conversion between formats, without messages; None for other pairs of formats."""
    if source == "ragas" and target == "object":
        from promptls.convert.ragas import object_of_saved

        return object_of_saved(_mapping(text, path))
    if source == "object" and target in JSON_TARGETS:
        from promptls.convert.ragas import saved_object

        return saved_object(_mapping(text, path), target)
    return None


def _read(text: str, path: str, source: str) -> Conversation:
    if source == "chat":
        return read_chat_json(text)
    if source == "f-string":
        return read_f_string(text)
    if source == "jinja":
        return read_jinja(text, path)
    if source == "prompty":
        return read_prompty(text)
    if source == "parts":
        from promptls.convert.parts_template import read_parts
        from promptls.semantic.template import Template
        from promptls.syntax.source import Source as Text

        return read_parts(Template(Text.of(text)), path)
    from promptls.convert.opencompass import read_opencompass

    mapping = _mapping(text, path)
    if source == "ragas":
        from promptls.convert.ragas import read_ragas_file

        return read_ragas_file(mapping)
    if source == "object":
        from promptls.convert.ragas import read_object

        return read_object(mapping)
    return read_opencompass(mapping)


def _mapping(text: str, path: str) -> Mapping[str, Any]:
    """Return the mapping in a YAML or JSON text.

    Raises UserError for other texts, and for templates with Jinja.
    """
    from promptls.syntax.yaml.compose import compose

    (chunk,) = cut(text if path.endswith(".j2") else "", at_items=False)
    if any(tag.kind != "comment" for tag in chunk.tags):
        raise UserError(
            "the file contains Jinja, so its text is unknown",
            remedy="render it, and convert the result",
        )
    for tag in reversed(chunk.tags):
        text = text[: tag.span.start] + text[tag.span.end :]
    # libyaml crashes on deeply nested texts, which are rejected here first.
    composed = compose(text, Span, lambda _span: False)
    if composed.error is not None:
        message = composed.error.message
        raise UserError(f"the file is not valid YAML: {message}", remedy="fix it and convert again")
    try:
        loaded = _data(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        message = (str(error).splitlines() or ["not readable"])[0]
        raise UserError(
            f"the file is not valid YAML: {message}", remedy="fix it and convert again"
        ) from error
    if not isinstance(loaded, dict):
        raise UserError("the file is not a mapping of keys to values")
    return {str(key): value for key, value in loaded.items()}


def _data(text: str) -> Any:
    """Return the data of the text: JSON is parsed as such, because it has escapes that YAML rejects."""
    from promptls.syntax.yaml.compose import is_json

    if is_json(text):
        with suppress(ValueError):
            return parse_json(text)
    return yaml.load(text, Loader=yaml.CSafeLoader)


def guess(text: str, path: str) -> str | None:
    """Return the format of a text, from its file's name and its content; None if it is not recognized."""
    name = Path(path).name.lower()
    if name.endswith(".prompty"):
        return "prompty"
    if name.endswith(".py"):
        return "opencompass"
    if name.endswith((*ENDINGS, ".yml", ".yaml")):
        return _own_form(text)
    start = text.lstrip("\ufeff \t\r\n")
    if start[:1] == "{" and (form := _form_of_json(start)) is not None:
        return form
    if name.endswith(".json") or (start[:1] in {"[", "{"} and '"role"' in text):
        return _own_form(text) or "chat" if '"infer_cfg"' in text else "chat"
    if re.match(r"---[ \t]*\r?\n", start) and re.search(r"^(system|user)\s*:", text, re.MULTILINE):
        return "prompty"
    if "{" in text and not _TAG.search(text):
        return "f-string"
    own = _own_form(text)
    if own is None and _TAG.search(text):
        return "jinja"
    return own or ("f-string" if name.endswith((".txt", ".md", ".prompt")) else None)


def _form_of_json(text: str) -> str | None:
    """Return the format of a JSON prompt of Ragas, 0.1 or later."""
    from promptls.dialects.ragas.saved_prompt import form_of

    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if form_of(loaded) is not None:
        return "ragas"
    return "object" if isinstance(loaded, dict) and {"instruction", "input_keys"} <= set(loaded) else None


def _own_form(text: str) -> str | None:
    from promptls.semantic.kind import Kind
    from promptls.semantic.template import Template
    from promptls.syntax.source import Source as Text

    kind = Template(Text.of(text)).kind
    return {Kind.PARTS: "parts", Kind.OBJECT: "object", Kind.EVALUATION: "opencompass"}.get(kind)
