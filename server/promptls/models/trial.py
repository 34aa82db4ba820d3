"""Checks whether a model is available and whether it answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from promptls.models.keys import NotAllowedError, check_grants, destination_of, key_of
from promptls.models.model import ModelError, ModelReference
from promptls.models.providers import MILLION, TABLE, price_of
from promptls.models.registry import address_of, check_model, open_model
from promptls.text.errors import UserError
from promptls.text.format import plural

QUESTION = [{"role": "user", "content": "Answer with the one word: yes"}]

# Token limit of its answer, and timeout in seconds.
ANSWER_TOKENS = 16
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class ModelState:
    """The state of a model; `problem` and `remedy` explain why it is unavailable, and contain no secrets.

    Prices are in US dollars per million tokens. `answer`, `seconds` and token counts are those of a trial.
    """

    name: str
    provider: str
    model: str
    base_url: str | None
    key: str | None
    """The environment variable of the key; None if no key is needed."""
    ready: bool
    problem: str | None = None
    remedy: str | None = None
    input_price: float | None = None
    output_price: float | None = None
    cached_input_price: float | None = None
    answer: str | None = None
    seconds: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def state_of(reference: ModelReference) -> ModelState:
    """Return the state of the model without sending a request."""
    from promptls.models.openai_compatible import without_secrets

    problem: UserError | None = None
    try:
        check_model(reference)
        check_grants(reference)
    except (ModelError, NotAllowedError) as error:
        problem = error
    provider = TABLE[reference.provider]
    address = reference.base_url
    if provider.route == "library" and address is None:
        destination = destination_of(reference)
        address = destination.host if destination is not None else None
    if provider.route == "chat" and address is None:
        try:
            address = address_of(reference)
        except ModelError:
            address = None
    price = price_of(reference)
    return ModelState(
        name=reference.name,
        provider=reference.provider,
        model=reference.model,
        base_url=None if address is None else without_secrets(address),
        key=_key_variable(reference),
        ready=problem is None,
        problem=None if problem is None else problem.message,
        remedy=None if problem is None else problem.remedy,
        input_price=None if price.input is None else price.input * MILLION,
        output_price=None if price.output is None else price.output * MILLION,
        cached_input_price=None if price.cached is None else price.cached * MILLION,
    )


async def tried(reference: ModelReference, timeout: float = PATIENCE) -> ModelState:
    """Return the state of the model after a minimal test request."""
    state = state_of(reference)
    if not state.ready:
        return state
    model = None
    try:
        model = open_model(reference, timeout=timeout)
        parameters = {**reference.parameters, "max_tokens": ANSWER_TOKENS}
        answer = await asyncio.wait_for(
            model.complete(QUESTION, parameters=parameters, json_schema=None), 2 * timeout
        )
    except ModelError as error:
        return replace(state, ready=False, problem=error.message, remedy=error.remedy)
    except asyncio.TimeoutError:
        return replace(state, ready=False, problem=f"no answer within {plural(2 * timeout, 'second')}")
    finally:
        if model is not None:
            await model.close()
    return replace(
        state,
        answer=answer.text,
        seconds=answer.seconds,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )


def _key_variable(reference: ModelReference) -> str | None:
    if reference.api_key_env is not None:
        return reference.api_key_env
    provider = TABLE[reference.provider]
    if reference.base_url is not None or not provider.key_envs:
        return None
    try:
        there = key_of(reference) is not None
    except ModelError:
        return provider.key_envs[0]
    return provider.key_envs[0] if there or provider.needs_key else None
