"""What tokens cost: the project's own prices, else those of genai-prices."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from promptls.models.providers import TABLE
from promptls.models.reference import ModelReference

# Both price lists say what so many tokens cost.
MILLION = 1_000_000


class Price(NamedTuple):
    """US dollars for one token of the prompt and of the answer; None where nobody knows."""

    input: float | None
    output: float | None

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """US dollars for so many tokens; None where no price is known, or no count."""
        known = [
            price * tokens
            for price, tokens in ((self.input, input_tokens), (self.output, output_tokens))
            if price is not None and tokens is not None
        ]
        return sum(known) if known else None


FREE = Price(0.0, 0.0)
UNKNOWN = Price(None, None)


def price_of(reference: ModelReference) -> Price:
    """The price of the model's tokens.

    What runs on this machine is free, and so are Ollama and vLLM. A server of one's own at a `base_url` has
    no known price unless the project names it.
    """
    if reference.input_price is not None or reference.output_price is not None:
        return Price(_of_one(reference.input_price), _of_one(reference.output_price))
    provider = TABLE[reference.provider]
    if not provider.paid:
        return FREE
    if reference.base_url is not None or provider.priced_as is None:
        return UNKNOWN
    return _listed(provider.priced_as, reference.model)


def is_paid(reference: ModelReference) -> bool:
    """Whether calls cost money: those of providers that take some, and those with a price in the settings.

    A server of one's own at a `base_url` costs nothing unless the project names its price.
    """
    price = price_of(reference)
    if price == UNKNOWN:
        return TABLE[reference.provider].paid and reference.base_url is None
    return bool(price.input or price.output)


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
