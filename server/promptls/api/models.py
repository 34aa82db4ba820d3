"""What answers the requests of a prompt object: a model of promptls, of Ragas, or of LangChain."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from functools import lru_cache
from importlib import import_module
from threading import Thread
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from promptls.text.errors import UsageError

Made = TypeVar("Made")


def run_in_own_loop(work: Callable[[], Coroutine[Any, Any, Made]]) -> Made:
    """Return the result of the coroutine that `work` makes, in a loop of its own thread.

    Raises what that raises.
    """
    made: list[Made] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            made.append(asyncio.run(work()))
        except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
            failed.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


class UserMessage(dict[str, str]):
    """A message in the chat format, which has the attributes of LangChain's message of a user too."""

    type = "human"

    @property
    def content(self) -> str:
        """What the message says."""
        return self["content"]


class PromptValue(BaseModel):
    """The text that `Prompt.format` makes, with the names that LangChain gives such a thing.

    Where langchain_core is installed, `prompt_value` makes one that LangChain's models take, too.
    """

    model_config = ConfigDict(frozen=True)

    prompt_str: str
    """The text."""

    def to_string(self) -> str:
        """Return the text."""
        return self.prompt_str

    def to_messages(self) -> list[Any]:
        """Return the text as one message of the user, with `role` and `content`."""
        return [UserMessage(role="user", content=self.prompt_str)]

    def to_langchain(self) -> Any:
        """Return the same as a `StringPromptValue` of LangChain, which must be installed."""
        return import_module("langchain_core.prompt_values").StringPromptValue(text=self.prompt_str)


def prompt_value(text: str) -> PromptValue:
    """Return the text as a PromptValue, which is also one of LangChain where langchain_core is installed."""
    made: PromptValue = _value_class()(prompt_str=text)
    return made


@lru_cache(maxsize=1)
def _value_class() -> type[PromptValue]:
    try:
        values = import_module("langchain_core.prompt_values")
        messages = import_module("langchain_core.messages")
    except ImportError:
        return PromptValue

    class LangChainPromptValue(PromptValue, values.PromptValue):  # type: ignore[misc, name-defined] # known at run time
        """The text as the models of LangChain take it."""

        def to_messages(self) -> list[Any]:
            """Return the text as one message of LangChain."""
            return [messages.HumanMessage(content=self.prompt_str)]

    LangChainPromptValue.__name__ = LangChainPromptValue.__qualname__ = "PromptValue"
    return LangChainPromptValue


AT_ONCE: Final = 4
"""How many requests a model gets at a time, where it does not want fewer."""


class TextRequest(NamedTuple):
    """What a model is to do, and what with."""

    instruction: str
    text: str

    @property
    def whole(self) -> str:
        """Both as one text."""
        return f"{self.instruction}\n\n{self.text}"

    @property
    def messages(self) -> list[dict[str, str]]:
        """Both as messages."""
        return [{"role": "system", "content": self.instruction}, {"role": "user", "content": self.text}]


def asking(llm: Any) -> Callable[[Sequence[TextRequest]], list[str]]:
    """Return a function that gives the answers to requests, in their order.

    `llm` is the name of a model such as `local:smollm2`, a model of promptls, LangChain or Ragas (with
    `generate_text`), or a function from a text to a text. Raises UsageError for anything else and for an
    unknown name; the function raises what the model raises.
    """
    if isinstance(llm, str):
        from promptls.models.registry import find_model

        reference = find_model(llm)
        return lambda requests: run_in_own_loop(lambda: _opened(reference, requests))
    if hasattr(llm, "generate_text"):
        return lambda requests: [_of_ragas(llm, request) for request in requests]
    if inspect.iscoroutinefunction(getattr(llm, "complete", None)):
        return lambda requests: run_in_own_loop(lambda: _answers(llm, requests))
    if callable(getattr(llm, "invoke", None)):  # a model of LangChain
        return lambda requests: [_said(llm.invoke(request.whole)) for request in requests]
    if callable(llm):
        return lambda requests: [str(llm(request.whole)) for request in requests]
    raise UsageError(
        f"`llm` is {type(llm).__name__}, which cannot be asked",
        remedy="name a model, such as `local:smollm2`, or give a function from a text to a text",
    )


def _said(message: Any) -> str:
    """Return the text of what a model of LangChain answers: a message, or a text."""
    text = getattr(message, "text", None)
    content = getattr(message, "content", message)
    return content if isinstance(content, str) else str(text)


def _of_ragas(llm: Any, request: TextRequest) -> str:

    return str(llm.generate_text(PromptValue(prompt_str=request.whole)).generations[0][0].text)


async def _opened(reference: Any, requests: Sequence[TextRequest]) -> list[str]:
    from promptls.models.registry import open_model

    model = open_model(reference)
    try:
        return await _answers(model, requests)
    finally:
        await model.close()


async def _answers(model: Any, requests: Sequence[TextRequest]) -> list[str]:
    places = asyncio.Semaphore(min(AT_ONCE, model.max_at_once or AT_ONCE))

    async def one(request: TextRequest) -> str:
        async with places:
            # Room for any answer; a small model that repeats itself comes to an end.
            parameters = {"max_tokens": 500 + 2 * len(request.text.encode("utf-8", "replace"))}
            made = await model.complete(request.messages, parameters=parameters, json_schema=None)
        return str(made.text)

    return list(await asyncio.gather(*map(one, requests)))
