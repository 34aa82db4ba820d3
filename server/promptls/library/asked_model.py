"""What answers the requests of the library: a model of promptls by name, one of Ragas, or a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from promptls.library.own_loop import run_in_own_loop
from promptls.text.failure import WrongUse

AT_ONCE: Final = 4
"""How many requests a model gets at a time, where it does not want fewer."""


class Request(NamedTuple):
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


def asking(llm: Any) -> Callable[[Sequence[Request]], list[str]]:
    """A function that gives the answers to requests, in their order.

    `llm` is the name of a model such as `local:smollm2`, a model of promptls or of Ragas (with
    `generate_text`), or a function from a text to a text. Raises WrongUse for anything else and for an
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
    if callable(llm):
        return lambda requests: [str(llm(request.whole)) for request in requests]
    raise WrongUse(
        f"`llm` is {type(llm).__name__}, which cannot be asked",
        remedy="name a model, such as `local:smollm2`, or give a function from a text to a text",
    )


def _of_ragas(llm: Any, request: Request) -> str:
    from promptls.library.prompt_value import PromptValue

    return str(llm.generate_text(PromptValue(prompt_str=request.whole)).generations[0][0].text)


async def _opened(reference: Any, requests: Sequence[Request]) -> list[str]:
    from promptls.models.registry import open_model

    model = open_model(reference)
    try:
        return await _answers(model, requests)
    finally:
        await model.close()


async def _answers(model: Any, requests: Sequence[Request]) -> list[str]:
    places = asyncio.Semaphore(min(AT_ONCE, model.most_at_once or AT_ONCE))

    async def one(request: Request) -> str:
        async with places:
            # Room for any answer; a small model that repeats itself comes to an end.
            parameters = {"max_tokens": 500 + 2 * len(request.text.encode("utf-8", "replace"))}
            made = await model.complete(request.messages, parameters=parameters, json_schema=None)
        return str(made.text)

    return list(await asyncio.gather(*map(one, requests)))
