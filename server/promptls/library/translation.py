"""The examples of a prompt object in another language, by a model.

Ragas asks its model for one text after the other, and so does this: the input keys of an example, then
its output. Here only texts go to the model, and keys, numbers and the shape of JSON must come back as
they were.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.library.asked_model import Request
from promptls.systems.ragas.prompt_object import PromptObject
from promptls.text.failure import Failure

Ask: TypeAlias = Callable[[Sequence[Request]], Sequence[str]]

ATTEMPTS: Final = 3
"""How often one text is asked for while the answers cannot be used."""

_TEXT: Final = (
    "Translate the user's text into {language}. Answer with the translation alone: no quotes, no notes."
)
_JSON: Final = (
    "Translate the texts in the user's JSON into {language}. Keep all keys, numbers and the structure, and "
    "answer with the JSON alone."
)


class _UnusableError(Exception):
    """Why an answer is no translation of what was asked."""


class _Piece(NamedTuple):
    """A value of an example that is to be translated."""

    example: int
    key: str
    value: Any
    is_json_text: bool
    """Whether the value was read out of a text with JSON, and goes back into one."""

    def request(self, language: str) -> Request:
        if isinstance(self.value, str):
            return Request(_TEXT.format(language=language), self.value)
        return Request(_JSON.format(language=language), json.dumps(self.value, ensure_ascii=False, indent=2))

    def answered(self, answer: str) -> Any:
        """The translated value; raises _UnusableError, which says why the answer is none."""
        if isinstance(self.value, str):
            if not answer.strip():
                raise _UnusableError("it is empty")
            return answer.strip()
        made = _merged(self.value, _json_in(answer), "")
        return json.dumps(made, ensure_ascii=False) if self.is_json_text else made


def translated_examples(prompt: PromptObject, language: str, ask: Ask) -> list[dict[str, Any]]:
    """The examples of `prompt` in `language`: the inputs and the output of each, without further keys.

    Raises Failure where the model's answers cannot be used, and what `ask` raises.
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
            raise Failure(
                f"the translation of `{piece.key}` in example {piece.example + 1} cannot be used: {why}",
                remedy="take a larger model; the prompt is as it was",
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
    """Puts a translation in its place; of an answer that is none, gives back why."""
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
    """The first mapping, list or text of JSON in an answer, around which there may be words."""
    decoder = json.JSONDecoder()
    begins = [place for place in map(answer.find, '{["') if place >= 0]
    if begins:
        try:
            return decoder.raw_decode(answer, min(begins))[0]
        except ValueError as error:
            raise _UnusableError(f"it is no JSON ({error})") from error
    raise _UnusableError("there is no JSON in it")


def _merged(before: Any, after: Any, at: str) -> Any:
    """`before` with the texts of `after`; raises _UnusableError where the two differ in shape."""
    where = f"at `{at.lstrip('.')}`" if at else "at its top"
    if isinstance(before, Mapping):
        if not isinstance(after, Mapping) or set(after) != set(before):
            raise _UnusableError(f"the keys {where} are no longer {', '.join(f'`{key}`' for key in before)}")
        return {key: _merged(value, after[key], f"{at}.{key}") for key, value in before.items()}
    if isinstance(before, list | tuple):
        if not isinstance(after, list) or len(after) != len(before):
            raise _UnusableError(f"the list {where} no longer has {len(before)} items")
        return [
            _merged(one, other, f"{at}[{index}]")
            for index, (one, other) in enumerate(zip(before, after, strict=True))
        ]
    if not isinstance(before, str):
        return before
    if not isinstance(after, str):
        raise _UnusableError(f"the value {where} is no text any more")
    return after
