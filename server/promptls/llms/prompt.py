"""Prompt objects, under the import path that Ragas 0.1 uses."""

from promptls.api.model_calls import PromptValue
from promptls.api.pydantic_prompt import Prompt

__all__ = ["Prompt", "PromptValue"]
