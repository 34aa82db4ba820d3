"""Prompt objects: `Prompt` and the translation of its examples by a model.

As in Ragas, texts are translated one at a time: the input keys of an example, then
its output. Unlike in Ragas, only texts are sent to the model; keys, numbers and the structure of JSON must
be preserved.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import GeneratorType
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

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

from promptls.api.model_calls import PromptValue, TextRequest, asking, prompt_value
from promptls.dialects.ragas.prompt_object import (
    DEFAULT_LANGUAGE,
    DEFAULT_OUTPUT_TYPE,
    DEFAULT_RELEASE,
    FIRST_RELEASE,
    PromptObject,
    Release,
    check,
    example_text,
    examples_text,
    format_prompt,
    release,
    release_of,
    to_string,
)
from promptls.text.errors import FilePlace, UserError
from promptls.text.filenames import file_name_problem

Ask: TypeAlias = Callable[[Sequence[TextRequest]], Sequence[str]]

ATTEMPTS: Final = 3
"""Maximum number of attempts to translate a text."""

_TEXT: Final = (
    "Translate the user's text into {language}. Answer with the translation alone: no quotes, no notes."
)
_JSON: Final = (
    "Translate the texts in the user's JSON into {language}. Keep all keys, numbers and the structure, and "
    "answer with the JSON alone."
)


class _UnusableError(Exception):
    """The answer is not a translation of the requested text; the message says why."""


class _Piece(NamedTuple):
    """A value of an example that needs translation."""

    example: int
    key: str
    value: Any
    is_json_text: bool
    """Whether the value was parsed from JSON text, and is serialized again."""

    def request(self, language: str) -> TextRequest:
        if isinstance(self.value, str):
            return TextRequest(_TEXT.format(language=language), self.value)
        return TextRequest(
            _JSON.format(language=language), json.dumps(self.value, ensure_ascii=False, indent=2)
        )

    def answered(self, answer: str) -> Any:
        """Return the translated value; raises _UnusableError if the answer cannot be used."""
        if isinstance(self.value, str):
            if not answer.strip():
                raise _UnusableError("it is empty")
            return answer.strip()
        made = _merge(self.value, _json_in(answer), "")
        return json.dumps(made, ensure_ascii=False) if self.is_json_text else made


def translated_examples(prompt: PromptObject, language: str, ask: Ask) -> list[dict[str, Any]]:
    """Return the examples of `prompt` translated to `language`: only their inputs and their output.

    Raises UserError if the model's answers cannot be used, and whatever `ask` raises.
    """
    examples = [
        {key: example[key] for key in (*prompt.input_keys, prompt.output_key) if key in example}
        for example in prompt.examples
    ]
    pending = [
        _piece(index, key, value, may_be_json=key == prompt.output_key and prompt.is_json)
        for index, example in enumerate(examples)
        for key, value in example.items()
        if _has_text(value)
    ]
    for attempt in range(1, ATTEMPTS + 1):
        answers = ask([piece.request(language) for piece in pending])
        unusable = [
            (piece, why)
            for piece, answer in zip(pending, answers, strict=True)
            if (why := _filled_in(examples, piece, answer))
        ]
        if unusable and attempt == ATTEMPTS:
            piece, why = unusable[0]
            raise UserError(
                f"the translation of `{piece.key}` in example {piece.example + 1} cannot be used: {why}",
                remedy="use a larger model; the prompt is unchanged",
            )
        pending = [piece for piece, _ in unusable]
        if not pending:
            break
    return examples


def _piece(index: int, key: str, value: Any, *, may_be_json: bool) -> _Piece:
    if may_be_json and isinstance(value, str):
        return _Piece(index, key, json.loads(value), is_json_text=True)
    return _Piece(index, key, value, is_json_text=False)


def _filled_in(examples: list[dict[str, Any]], piece: _Piece, answer: str) -> str | None:
    """Insert a translation into the examples; return the reason if the answer cannot be used."""
    try:
        examples[piece.example][piece.key] = piece.answered(answer)
    except _UnusableError as error:
        return str(error)
    return None


def _has_text(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_text, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_text, value))
    return isinstance(value, str) and bool(value.strip())


def _json_in(answer: str) -> Any:
    """Return the first JSON object, array or string in an answer, which may contain other text."""
    decoder = json.JSONDecoder()
    begins = [place for place in map(answer.find, '{["') if place >= 0]
    if begins:
        try:
            return decoder.raw_decode(answer, min(begins))[0]
        except ValueError as error:
            raise _UnusableError(f"it is not JSON ({error})") from error
    raise _UnusableError("there is no JSON in it")


def _merge(before: Any, after: Any, at: str) -> Any:
    """Return `before` with the texts of `after`; raises _UnusableError if their structures differ."""
    where = f"at `{at.lstrip('.')}`" if at else "at its top"
    if isinstance(before, Mapping):
        if not isinstance(after, Mapping) or set(after) != set(before):
            raise _UnusableError(f"the keys {where} are no longer {', '.join(f'`{key}`' for key in before)}")
        return {key: _merge(value, after[key], f"{at}.{key}") for key, value in before.items()}
    if isinstance(before, list | tuple):
        if not isinstance(after, list) or len(after) != len(before):
            raise _UnusableError(f"the list {where} no longer has {len(before)} items")
        return [
            _merge(one, other, f"{at}[{index}]")
            for index, (one, other) in enumerate(zip(before, after, strict=True))
        ]
    if not isinstance(before, str):
        return before
    if not isinstance(after, str):
        raise _UnusableError(f"the value {where} is no longer text")
    return after


def cache_folder() -> str:
    """Return the folder of saved prompt objects: `$RAGAS_CACHE_HOME`, else `ragas` in the user's cache."""
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return str(Path(os.environ.get("RAGAS_CACHE_HOME", f"{caches}/ragas")).expanduser())


def _text(value: Any) -> str:
    """Coerce a value to text as Ragas does: numbers and bytes are converted."""
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


_OF_PROMPT_POET: Final = frozenset({"template_data", "raw_template", "template_path", "template_loader"})
_DUMP_OPTIONS: Final = ("include", "exclude", "exclude_unset", "exclude_defaults", "exclude_none")
Text = Annotated[str, BeforeValidator(_text)]
Example = Annotated[dict[Text, Any], BeforeValidator(_mapping)]


class Prompt(BaseModel):
    """A prompt object: an instruction, examples, and the names of the inputs and the output.

    It accepts and rejects the same values as `ragas.llms.prompt.Prompt`, and renders to exactly the same
    text. Releases of Ragas differ; the constructor's keyword argument `ragas_version` selects the
    release, 0.1.0 (the default) to 0.1.21. Raises pydantic's ValidationError,
    which is a ValueError, for values that the release rejects, and ValueError for an unknown release.
    """

    model_config = ConfigDict(extra="ignore")

    name: Text
    """The name, which identifies saved prompts."""
    instruction: Text
    """The task, in plain language."""
    output_format_instruction: Text = ""
    """The output format; empty, and not a field of the object, before 0.1.6."""
    examples: Annotated[list[Example], BeforeValidator(_list)] = []
    """Demonstrations: each contains every input key and the output key."""
    input_keys: Annotated[list[Text], BeforeValidator(_list)]
    """The names of the inputs."""
    output_key: Text
    """The name of the output."""
    output_type: Text = DEFAULT_OUTPUT_TYPE
    """`json` or `str`; before 0.1.6, case is ignored and any other value is treated as `str`."""
    language: Text = DEFAULT_LANGUAGE
    """The language of the demonstrations; saved prompts are located in a folder of this name."""

    _release: Release = PrivateAttr(default=FIRST_RELEASE)

    def __new__(cls, *given: Any, **values: Any) -> Any:
        """Create a prompt object, or a Prompt Poet prompt, whose class has the same name.

        With `template_data`, `raw_template`, `template_path` or `template_loader`, the result is a
        `promptls.prompt_poet.Prompt`.
        """
        if given or _OF_PROMPT_POET & values.keys():
            from promptls.api import poet_prompt

            return poet_prompt.Prompt(*given, **values)
        return super().__new__(cls)

    def __init__(self, *, ragas_version: str = DEFAULT_RELEASE, **values: Any) -> None:
        """Create a prompt object with the fields and defaults of the Ragas release `ragas_version`."""
        of = release(ragas_version)
        if of.has_defaults:
            values = {"name": "", "input_keys": [""], "output_key": "", **values}
        if not of.has_format_instruction:
            values.pop("output_format_instruction", None)
        self.__pydantic_validator__.validate_python(values, self_instance=self, context=of)
        self._release = of

    @property
    def ragas_version(self) -> str:
        """The Ragas release whose behavior the object follows."""
        return self._release.name

    def to_string(self) -> str:
        """Return the prompt's text, with a placeholder `{name}` for each input."""
        return to_string(self._object(self._release))

    def format(self, **inputs: Any) -> PromptValue:
        """Return the text for these inputs; raises ValueError unless they are exactly the input keys.

        As in Ragas, braces in the instruction are placeholders too: literal braces must be doubled.
        """
        text = format_prompt(self._object(self._release), inputs, self.to_string())
        return prompt_value(text)

    def generate_examples(self) -> str:
        """Return the examples as they appear in the prompt's text; empty if there are none."""
        return examples_text(self._object(self._release)) if self.examples else ""

    def get_example_str(self, example_no: int) -> str:
        """Return the text of the example at this index; raises ValueError if the index is out of range."""
        if example_no >= len(self.examples):
            raise ValueError(
                f"example number {example_no} is out of range: there are {len(self.examples)}, from 0"
            )
        return example_text(self._object(self._release), self.examples[example_no])

    def adapt(self, language: str, llm: Any, cache_dir: str | os.PathLike[str] | None = None) -> Prompt:
        """Return the object with its examples translated to `language` by `llm`; the instruction is kept.

        If `<cache_dir>/<language>/<name>.json` exists, it is loaded instead of asking the model; from
        0.1.13 on, its fields are copied to this object. Otherwise this object is changed and returned, and
        from 0.1.13 on also saved there. `llm` is the name of a model, such as `local:smollm2`, a model of
        promptls or Ragas, or a function from text to text. Raises UserError if the model does not exist
        or its answers cannot be used; the object is not changed in that case.
        """
        if language == self.language:
            return self
        if _path(cache_dir, language, self.name).exists():
            saved = self._load(language, self.name, cache_dir, self.ragas_version)
            if self._release.keeps_adapted:
                self.language, self.examples = saved.language, saved.examples
            return saved
        self.examples = translated_examples(self._object(self._release), language, asking(llm))
        self.language = language
        if self._release.keeps_adapted:
            self.save(cache_dir)
        return self

    def save(self, cache_dir: str | os.PathLike[str] | None = None) -> None:
        """Write the object to `<cache_dir>/<language>/<name>.json`, replacing an existing file.

        `cache_dir` defaults to `cache_folder()`. Raises UserError if the file cannot be written.
        """
        path = _path(cache_dir, self.language, self.name)
        try:
            (Path(cache_dir or cache_folder()) / self.language).mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.model_dump(), indent=4), encoding="utf-8")
        except OSError as error:
            problem = f"the prompt cannot be saved: {error.strerror}"
            raise UserError(problem, FilePlace(path), "check the folder") from error

    @classmethod
    def _load(
        cls,
        language: str,
        name: str,
        cache_dir: str | os.PathLike[str] | None = None,
        ragas_version: str | None = None,
    ) -> Prompt:
        """Return the object that `save` wrote to `<cache_dir>/<language>/<name>.json`.

        Without `ragas_version`, a file with `output_format_instruction` is treated as one of 0.1.21.
        Raises UserError if the file does not exist or is not a JSON object, and the constructor's errors.
        """
        path = _path(cache_dir, language, name)
        try:
            values = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise UserError(
                f"the prompt cannot be loaded: {error.strerror}",
                FilePlace(path),
                "check the language, the name and the cache folder",
            ) from error
        except ValueError as error:
            raise UserError(
                f"the file is not JSON: {error}", FilePlace(path), "save the prompt again"
            ) from error
        if not isinstance(values, dict):
            raise UserError("the file contains no prompt object", FilePlace(path), "save the prompt again")
        is_newer = "output_format_instruction" in values
        of = ragas_version or release_of({"output_format_instruction": is_newer}, None).name
        return cls(**{**values, "ragas_version": of})

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Prompt:
        if isinstance(info.context, Release):
            check(self._object(info.context))
        return self

    @model_serializer(mode="wrap")
    def _fields(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        known = self._keys()
        return {key: value for key, value in handler(self).items() if key in known}

    def json(self, **options: Any) -> str:
        """Return the object as JSON.

        Accepts the options of `model_dump`, such as `exclude`, and those of `json.dumps`.
        """
        of_dump = {key: options.pop(key) for key in _DUMP_OPTIONS if key in options}
        return json.dumps(self.model_dump(**of_dump), **options)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]  # as in BaseModel
        """Iterate over the fields of the release, with their values."""
        return ((key, getattr(self, key)) for key in self._keys())

    def __eq__(self, other: object) -> bool:
        """Return whether the other object has equal fields, regardless of the release."""
        return self.model_dump() == (other.model_dump() if isinstance(other, BaseModel) else other)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        return [(key, getattr(self, key)) for key in self._keys()]

    def _keys(self) -> list[str]:
        """Return the names of the release's fields, in the order in which it saves them."""
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
    """Return the file of a saved prompt; raises UserError if the path would leave the cache folder."""
    folder = Path(cache_dir or cache_folder())
    for key, value in (("language", language), ("name", name)):
        # Ragas saves a prompt without a name as `.json`.
        problem = file_name_problem(value) if value or key == "language" else None
        if problem is not None:
            raise UserError(
                f"the prompt cannot be saved or loaded: its {key} {value!r} {problem}",
                FilePlace(folder),
                f"change `{key}`: it becomes part of the file's name",
            )
    return folder / language / f"{name}.json"


def __getattr__(name: str) -> Any:
    if name == "RAGAS_CACHE_HOME":  # Evaluated on access, because the environment may change.
        return cache_folder()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
