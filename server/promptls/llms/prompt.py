"""Prompt objects, under the import path that Ragas 0.1 uses."""

from promptls.api.models import PromptValue
from promptls.api.prompt import Prompt

__all__ = ["Prompt", "PromptValue"]
