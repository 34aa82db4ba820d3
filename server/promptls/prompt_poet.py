"""The names of the package `prompt_poet`: `from promptls.prompt_poet import Prompt` in place of it."""

from promptls.api.poet_prompt import (
    LocalFSTemplateLoader,
    LocalPackageTemplateLoader,
    Prompt,
    TemplateLoader,
    TruncationError,
)
from promptls.dialects.prompt_poet.prompt_parts import PromptPart, PromptSection

__all__ = [
    "LocalFSTemplateLoader",
    "LocalPackageTemplateLoader",
    "Prompt",
    "PromptPart",
    "PromptSection",
    "TemplateLoader",
    "TruncationError",
]
