"""Models that prompt objects can use: models of promptls, Ragas or LangChain, and functions."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from promptls.text.errors import UsageError

Made = TypeVar("Made")


def run_in_own_loop(work: Callable[[], Coroutine[Any, Any, Made]]) -> Made:
    """Run the coroutine that `work` returns in the event loop of a new thread, and return its result.

    Raises whatever the coroutine raises.
    """
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(lambda: asyncio.run(work())).result()


class UserMessage(dict[str, str]):
    """A chat message that also has the attributes of LangChain's `HumanMessage`."""

    type = "human"

    @property
    def content(self) -> str:
        """The text of the message."""
        return self["content"]


class PromptValue(BaseModel):
    """The text returned by `Prompt.format`, with the interface of LangChain's `PromptValue`.

    If langchain_core is installed, `prompt_value` returns an object that LangChain's models accept as well.
    """

    model_config = ConfigDict(frozen=True)

    prompt_str: str
    """The text."""

    def to_string(self) -> str:
        """Return the text."""
        return self.prompt_str

    def to_messages(self) -> list[Any]:
        """Return the text as a single user message, with `role` and `content`."""
        return [UserMessage(role="user", content=self.prompt_str)]

    def to_langchain(self) -> Any:
        """Return the text as LangChain's `StringPromptValue`; requires langchain_core."""
        return import_module("langchain_core.prompt_values").StringPromptValue(text=self.prompt_str)


def prompt_value(text: str) -> PromptValue:
    """Return the text as a PromptValue; it is also LangChain's if langchain_core is installed."""
    made: PromptValue = _value_class()(prompt_str=text)
    return made


@lru_cache(maxsize=1)
def _value_class() -> type[PromptValue]:
    try:
        values = import_module("langchain_core.prompt_values")
        messages = import_module("langchain_core.messages")
    except ImportError:
        return PromptValue

    class LangChainPromptValue(PromptValue, values.PromptValue):  # type: ignore[misc, name-defined] # only known at run time
        """The text in the form that LangChain's models accept."""

        def to_messages(self) -> list[Any]:
            """Return the text as a single LangChain message."""
            return [messages.HumanMessage(content=self.prompt_str)]

    LangChainPromptValue.__name__ = LangChainPromptValue.__qualname__ = "PromptValue"
    return LangChainPromptValue


AT_ONCE: Final = 4
"""Maximum number of concurrent requests to a model, unless the model sets a lower limit."""


class TextRequest(NamedTuple):
    """An instruction for a model and its input."""

    instruction: str
    text: str

    @property
    def whole(self) -> str:
        """Both as a single text."""
        return f"{self.instruction}\n\n{self.text}"

    @property
    def messages(self) -> list[dict[str, str]]:
        """Both as chat messages."""
        return [{"role": "system", "content": self.instruction}, {"role": "user", "content": self.text}]


def asking(llm: Any) -> Callable[[Sequence[TextRequest]], list[str]]:
    """Return a function that answers requests, in order.

    `llm` is the name of a model such as `local:smollm2`, a model of promptls, LangChain or Ragas (with
    `generate_text`), or a function from a text to a text. Raises UsageError for anything else and for an
    unknown name; the function raises what the model raises.
    """
    if isinstance(llm, str):
        from promptls.models.model_names import find_model

        reference = find_model(llm)
        return lambda requests: run_in_own_loop(lambda: _open(reference, requests))
    if hasattr(llm, "generate_text"):
        return lambda requests: [_of_ragas(llm, request) for request in requests]
    if inspect.iscoroutinefunction(getattr(llm, "complete", None)):
        return lambda requests: run_in_own_loop(lambda: _answers(llm, requests))
    if callable(getattr(llm, "invoke", None)):  # a model of LangChain
        return lambda requests: [_said(llm.invoke(request.whole)) for request in requests]
    if callable(llm):
        return lambda requests: [str(llm(request.whole)) for request in requests]
    raise UsageError(
        f"`llm` is {type(llm).__name__}, which is not a model",
        remedy="name a model, such as `local:smollm2`, or pass a function from a text to a text",
    )


def _said(message: Any) -> str:
    """Return the text of a LangChain model's answer, which is a message or a text."""
    text = getattr(message, "text", None)
    content = getattr(message, "content", message)
    return content if isinstance(content, str) else str(text)


def _of_ragas(llm: Any, request: TextRequest) -> str:
    return str(llm.generate_text(PromptValue(prompt_str=request.whole)).generations[0][0].text)


async def _open(reference: Any, requests: Sequence[TextRequest]) -> list[str]:
    from promptls.models.opening import open_model

    model = open_model(reference)
    try:
        return await _answers(model, requests)
    finally:
        await model.close()


async def _answers(model: Any, requests: Sequence[TextRequest]) -> list[str]:
    places = asyncio.Semaphore(min(AT_ONCE, model.max_at_once or AT_ONCE))

    async def one(request: TextRequest) -> str:
        async with places:
            # Sufficient for any answer, while a small model that repeats itself is stopped.
            parameters = {"max_tokens": 500 + 2 * len(request.text.encode("utf-8", "replace"))}
            made = await model.complete(request.messages, parameters=parameters, json_schema=None)
        return str(made.text)

    return list(await asyncio.gather(*map(one, requests)))
