"""The text that a prompt object is formatted to, with the names that LangChain gives such a thing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pydantic import BaseModel, ConfigDict


class UserMessage(dict[str, str]):
    """A message in the chat format, which has the attributes of LangChain's message of a user too."""

    type = "human"

    @property
    def content(self) -> str:
        """What the message says."""
        return self["content"]


class PromptValue(BaseModel):
    """The text that `Prompt.format` makes, with the names that LangChain gives such a thing."""

    model_config = ConfigDict(frozen=True)

    prompt_str: str
    """The text."""

    def to_string(self) -> str:
        """The text."""
        return self.prompt_str

    def to_messages(self) -> list[UserMessage]:
        """The text as one message of the user, with `role` and `content`."""
        return [UserMessage(role="user", content=self.prompt_str)]

    def to_langchain(self) -> Any:
        """The same as a `StringPromptValue` of LangChain, which must be installed."""
        return import_module("langchain_core.prompt_values").StringPromptValue(text=self.prompt_str)
