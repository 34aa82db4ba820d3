"""A prompt object of Ragas, read as the one message that it is formatted to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from promptls.conversions.conversation import Conversation, Message, Piece
from promptls.conversions.f_string import field_pieces
from promptls.settings.header import HEADER_KEYS
from promptls.systems.ragas.prompt_object import PromptObjectError, read_prompt_object, to_string
from promptls.systems.ragas.release import release_of
from promptls.text.failure import Failure

_READ: Final = frozenset({*HEADER_KEYS, "instruction", "language", "output_format_instruction"})


def read_object(mapping: Mapping[str, Any]) -> Conversation:
    """The message with its inputs; raises Failure for what Ragas refuses."""
    try:
        prompt = read_prompt_object(mapping, release_of(mapping, None))
        text = to_string(prompt)
    except PromptObjectError as error:
        raise Failure(str(error).rstrip("."), remedy="mend the prompt object, and convert again") from error
    renamed: dict[str, str] = {}
    pieces = list(field_pieces(text, renamed))
    lost = []
    if prompt.release.quotes_texts:
        pieces = [_quoted(piece) for piece in pieces]
        lost.append(f"Ragas {prompt.release.name} puts texts in as JSON, and Jinja escapes more signs in it")
    message = Message("user", tuple(pieces), "prompt")
    lost += [f"`{key}`" for key in mapping if key not in _READ]
    lost += [f"the input `{name}` is called `{new}` now" for name, new in renamed.items() if name != new]
    if mapping.get("language") not in {None, "english"}:
        lost.append("`language`: the texts stay as they are")
    kept = (key for key in HEADER_KEYS if key != "ragas_version")
    header = {key: mapping[key] for key in kept if mapping.get(key) is not None}
    return Conversation((message,), header, tuple(lost))


def _quoted(piece: Piece) -> Piece:
    """An input as JSON, where it is put in as it is otherwise."""
    if piece.kind != "input" or not piece.text.endswith(" | string"):
        return piece
    return Piece("input", f"{piece.text.removesuffix(' | string')} | tojson | string")
