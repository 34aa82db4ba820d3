"""Data to preview a saved prompt with: what its examples were made for, and what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptls.systems.ragas.prompt_object import PromptObjectError
from promptls.systems.ragas.saved_prompt import SavedPrompt, form_of, read_saved


def saved_prompt_in(data: Any) -> SavedPrompt | None:
    """The saved prompt that a file's data are; None for other files, and for those that are broken."""
    if form_of(data) is None:
        return None
    try:
        return read_saved(data)
    except PromptObjectError:
        return None


def example_inputs(prompt: SavedPrompt) -> list[Mapping[str, Any]]:
    """The inputs of those examples that have all of them."""
    return [inputs for inputs, _ in prompt.examples if not set(prompt.input_keys) - set(inputs)]
