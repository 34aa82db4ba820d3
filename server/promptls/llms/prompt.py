"""Prompt objects, in the module that Ragas 0.1 has them in."""

from promptls.api.models import PromptValue
from promptls.api.prompt import Prompt

__all__ = ["Prompt", "PromptValue"]
