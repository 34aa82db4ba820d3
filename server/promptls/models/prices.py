"""What tokens cost, and how many a model takes at once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from promptls.models.model import ModelReference
from promptls.models.providers import TABLE

# Both price lists say what so many tokens cost.
MILLION = 1_000_000


class Price(NamedTuple):
    """US dollars for one token of the prompt and of the answer; None if nobody knows."""

    input: float | None
    output: float | None

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """US dollars for so many tokens; None if no price is known, or no count."""
        known = [
            price * tokens
            for price, tokens in ((self.input, input_tokens), (self.output, output_tokens))
            if price is not None and tokens is not None
        ]
        return sum(known) if known else None


FREE = Price(0.0, 0.0)
UNKNOWN = Price(None, None)


def price_of(reference: ModelReference) -> Price:
    """Return the price of the model's tokens.

    What runs on this machine is free, and so are Ollama and vLLM without a key of the project's. A server of
    one's own at a `base_url` has no known price unless the project names it.
    """
    if reference.input_price is not None or reference.output_price is not None:
        return Price(_of_one(reference.input_price), _of_one(reference.output_price))
    provider = TABLE[reference.provider]
    if not provider.paid and not _is_behind_key(reference):
        return FREE
    if reference.base_url is not None or provider.priced_as is None:
        return UNKNOWN
    return _listed(provider.priced_as, reference.model)


def is_paid(reference: ModelReference) -> bool:
    """Return whether calls cost money: the provider charges, or the settings have a price.

    A server of one's own at a `base_url` costs nothing unless it gets a key, or the project names its price.
    """
    price = price_of(reference)
    if price == UNKNOWN:
        if reference.base_url is not None:
            return _is_behind_key(reference)
        return TABLE[reference.provider].paid
    return bool(price.input or price.output)


def _is_behind_key(reference: ModelReference) -> bool:
    """Return whether the project sends a key to a server that it chose: whoever wants one may take money."""
    return reference.base_url is not None and reference.api_key_env is not None


def _of_one(price: float | None) -> float | None:
    return None if price is None else price / MILLION


@lru_cache(maxsize=64)
def _listed(provider: str, model: str) -> Price:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return UNKNOWN
    try:
        # Prices grow with the length of a prompt in steps; a short one has the price of most.
        found = calc_price(Usage(input_tokens=1000, output_tokens=1000), model, provider_id=provider)
    except LookupError:
        return UNKNOWN
    return Price(float(found.input_price) / 1000, float(found.output_price) / 1000)


def window_of(reference: ModelReference) -> int | None:
    """Return the tokens that the prompt and the answer may have together; None if no list says it."""
    priced_as = TABLE[reference.provider].priced_as
    if priced_as is None or reference.base_url is not None:
        return None
    return _windows_listed(priced_as, reference.model)


@lru_cache(maxsize=64)
def _windows_listed(provider: str, model: str) -> int | None:
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    try:
        _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return found.context_window
