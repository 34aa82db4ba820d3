"""Prompt objects in a program, with the interface of Ragas's own document about them."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import GeneratorType
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from promptls.library.prompt_value import PromptValue
from promptls.systems.ragas.prompt_object import (
    PromptObject,
    check,
    example_text,
    examples_text,
    format_prompt,
    to_string,
)
from promptls.systems.ragas.release import DEFAULT_RELEASE, FIRST_RELEASE, Release, release, release_of
from promptls.systems.ragas.vocabulary import DEFAULT_LANGUAGE, DEFAULT_OUTPUT_TYPE
from promptls.text.failure import Failure, FilePlace


def cache_folder() -> str:
    """Where Ragas keeps prompt objects: `$RAGAS_CACHE_HOME`, else `ragas` in the user's cache folder."""
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return str(Path(os.environ.get("RAGAS_CACHE_HOME", f"{caches}/ragas")).expanduser())


def _text(value: Any) -> str:
    """The value as Ragas takes it for a text: numbers and bytes are written out."""
    if isinstance(value, str):
        return str(value.value) if hasattr(value, "value") else str(value)
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return value.decode()
    raise ValueError("this must be text")


def _list(value: Any) -> list[Any]:
    if isinstance(value, list | tuple | set | frozenset | deque | GeneratorType):
        return list(value)
    raise ValueError("this must be a list")


def _mapping(value: Any) -> dict[Any, Any]:
    try:
        return dict(value)
    except (TypeError, ValueError):
        raise ValueError("an example must be a mapping") from None


_DUMP_OPTIONS: Final = ("include", "exclude", "exclude_unset", "exclude_defaults", "exclude_none")
Text = Annotated[str, BeforeValidator(_text)]
Example = Annotated[dict[Text, Any], BeforeValidator(_mapping)]


class Prompt(BaseModel):
    """A prompt object: an instruction, examples, the names of the inputs and of the one output.

    It takes and refuses what `ragas.llms.prompt.Prompt` does, and renders to the same text, to the
    character. Releases of Ragas differ there; `ragas_version`, a keyword of the constructor, names the
    one to follow, 0.1.0 to 0.1.21, and is 0.1.0 where it is not given. Raises pydantic's ValidationError,
    which is a ValueError, for what that release refuses, and ValueError for an unknown release.
    """

    model_config = ConfigDict(extra="ignore")

    name: Text
    """Saved prompts are found again by it."""
    instruction: Text
    """The task, in plain language."""
    output_format_instruction: Text = ""
    """How the answer is to be laid out; empty, and not part of the object, before 0.1.6."""
    examples: Annotated[list[Example], BeforeValidator(_list)] = []
    """Demonstrations: each holds every input key and the output key."""
    input_keys: Annotated[list[Text], BeforeValidator(_list)]
    """The names of the inputs."""
    output_key: Text
    """The name of the output."""
    output_type: Text = DEFAULT_OUTPUT_TYPE
    """`json` or `str`; before 0.1.6 in any case, and any other word counts as `str`."""
    language: Text = DEFAULT_LANGUAGE
    """The language of the demonstrations; saved prompts lie in a folder of its name."""

    _release: Release = PrivateAttr(default=FIRST_RELEASE)

    def __init__(self, *, ragas_version: str = DEFAULT_RELEASE, **values: Any) -> None:
        """A prompt object as the release `ragas_version` of Ragas takes it."""
        of = release(ragas_version)
        if of.has_defaults:
            values = {"name": "", "input_keys": [""], "output_key": "", **values}
        if not of.has_format_instruction:
            values.pop("output_format_instruction", None)
        self.__pydantic_validator__.validate_python(values, self_instance=self, context=of)
        self._release = of

    @property
    def ragas_version(self) -> str:
        """The release of Ragas that the object follows."""
        return self._release.name

    def to_string(self) -> str:
        """The prompt's text, with `{name}` where each input goes."""
        return to_string(self._object(self._release))

    def format(self, **inputs: Any) -> PromptValue:
        """The text for these inputs, which must be the input keys and no others; raises ValueError.

        Braces of the instruction are fields too, as in Ragas: one that is meant as text stands twice.
        """
        text = format_prompt(self._object(self._release), inputs, self.to_string())
        return PromptValue(prompt_str=text)

    def generate_examples(self) -> str:
        """The examples as they stand in the prompt's text, and nothing where there are none."""
        return examples_text(self._object(self._release)) if self.examples else ""

    def get_example_str(self, example_no: int) -> str:
        """The example with this number, from 0, alone; raises ValueError where there is none."""
        if example_no >= len(self.examples):
            raise ValueError(
                f"example number {example_no} is out of range: there are {len(self.examples)}, from 0"
            )
        return example_text(self._object(self._release), self.examples[example_no])

    def adapt(self, language: str, llm: Any, cache_dir: str | os.PathLike[str] | None = None) -> Prompt:
        """The object with its examples in `language`, which `llm` translates; the instruction stays.

        What was saved under `<cache_dir>/<language>/<name>.json` is taken instead, without asking; from
        0.1.13 on the object takes it over. Else the object itself changes and is given back, and from
        0.1.13 on it is saved there. `llm` is the name of a model, such as `local:smollm2`, a model of
        promptls or Ragas, or a function from a text to a text. Raises Failure where there is no model of
        that name or its answers cannot be used; then the object is as it was.
        """
        if language == self.language:
            return self
        if _path(cache_dir, language, self.name).exists():
            saved = self._load(language, self.name, cache_dir, self.ragas_version)
            if self._release.keeps_adapted:
                self.language, self.examples = saved.language, saved.examples
            return saved
        from promptls.library.asked_model import asking
        from promptls.library.translation import translated_examples

        self.examples = translated_examples(self._object(self._release), language, asking(llm))
        self.language = language
        if self._release.keeps_adapted:
            self.save(cache_dir)
        return self

    def save(self, cache_dir: str | os.PathLike[str] | None = None) -> None:
        """Write the object to `<cache_dir>/<language>/<name>.json`, over whatever is there.

        Without `cache_dir` it is `cache_folder()`. Raises Failure where the file cannot be written.
        """
        path = _path(cache_dir, self.language, self.name)
        try:
            (Path(cache_dir or cache_folder()) / self.language).mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.model_dump(), indent=4), encoding="utf-8")
        except OSError as error:
            remedy = "take the slashes out of `name`" if "/" in self.name else "check the folder"
            raise Failure(f"the prompt cannot be saved: {error.strerror}", FilePlace(path), remedy) from error

    @classmethod
    def _load(
        cls,
        language: str,
        name: str,
        cache_dir: str | os.PathLike[str] | None = None,
        ragas_version: str | None = None,
    ) -> Prompt:
        """The object that `save` wrote to `<cache_dir>/<language>/<name>.json`.

        Where no release is named, the file tells: one with `output_format_instruction` is of 0.1.21.
        Raises Failure where there is no such file or it is no JSON object, and what the constructor raises.
        """
        path = _path(cache_dir, language, name)
        try:
            values = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise Failure(
                f"the prompt cannot be loaded: {error.strerror}",
                FilePlace(path),
                "check the language, the name and the cache folder",
            ) from error
        except ValueError as error:
            raise Failure(f"the file is no JSON: {error}", FilePlace(path), "save the prompt anew") from error
        if not isinstance(values, dict):
            raise Failure("the file holds no prompt object", FilePlace(path), "save the prompt anew")
        is_newer = "output_format_instruction" in values
        of = ragas_version or release_of({"output_format_instruction": is_newer}, None).name
        return cls(**{**values, "ragas_version": of})

    @model_validator(mode="after")
    def _checked(self, info: ValidationInfo) -> Prompt:
        if isinstance(info.context, Release):
            check(self._object(info.context))
        return self

    @model_serializer(mode="wrap")
    def _fields(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        known = self._keys()
        return {key: value for key, value in handler(self).items() if key in known}

    def json(self, **options: Any) -> str:
        """The object as JSON; `options` are those of `model_dump`, such as `exclude`, and of `json.dumps`."""
        of_dump = {key: options.pop(key) for key in _DUMP_OPTIONS if key in options}
        return json.dumps(self.model_dump(**of_dump), **options)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]  # as the one of BaseModel
        """The fields that the release has, with their values."""
        return ((key, getattr(self, key)) for key in self._keys())

    def __eq__(self, other: object) -> bool:
        """Whether the other has the same fields, whatever release it follows."""
        return self.model_dump() == (other.model_dump() if isinstance(other, BaseModel) else other)

    __hash__ = None  # type: ignore[assignment]  # its fields can be changed

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        return [(key, getattr(self, key)) for key in self._keys()]

    def _keys(self) -> list[str]:
        """The names of the fields that the release has, in the order in which it saves them."""
        skipped = set() if self._release.has_format_instruction else {"output_format_instruction"}
        return [key for key in type(self).model_fields if key not in skipped]

    def _object(self, of: Release) -> PromptObject:
        return PromptObject(
            name=self.name,
            instruction=self.instruction,
            examples=tuple(self.examples),
            input_keys=tuple(self.input_keys),
            output_key=self.output_key,
            output_type=self.output_type,
            language=self.language,
            output_format_instruction=self.output_format_instruction,
            release=of,
        )


def _path(cache_dir: str | os.PathLike[str] | None, language: str, name: str) -> Path:
    return Path(cache_dir or cache_folder()) / language / f"{name}.json"


def __getattr__(name: str) -> Any:
    if name == "RAGAS_CACHE_HOME":  # Looked up when it is asked for, as the environment may change.
        return cache_folder()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
