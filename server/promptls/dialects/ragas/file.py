"""Files of any release of Ragas: reading them, and the text sent to the model for some data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from promptls.dialects.ragas.prompt_object import (
    PromptObject,
    PromptObjectError,
    format_prompt,
    read_prompt_object,
    release_of,
)
from promptls.dialects.ragas.saved_prompt import SavedPrompt, form_of, read_saved, saved_text

RagasPrompt: TypeAlias = PromptObject | SavedPrompt


def load_json(text: str) -> Any:
    """Return the data of a JSON text, with or without a byte order mark; raises PromptObjectError."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise PromptObjectError(f"The file is no JSON: {error}.", "instruction") from None


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
