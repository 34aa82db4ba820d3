"""What asking one model would take, as it is told before a run."""

from __future__ import annotations

from dataclasses import dataclass

from promptls.models.model import ModelReference
from promptls.models.prices import is_paid, price_of


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """What asking one model would take: calls, tokens of their prompts, and US dollars.

    `cached` answers are there already. `prompt_cost` is that of the prompts alone, `longest_cost` that with
    answers of `max_tokens` each; None if no price or no longest answer is known. `paid` says whether
    calls may cost anything.
    """

    model: str
    calls: int
    cached: int
    tokens: int
    paid: bool
    prompt_cost: float | None
    longest_cost: float | None


def estimate_of(
    model: ModelReference, calls: int, cached: int, tokens: int, longest: object
) -> ModelEstimate:
    """Return the estimate of so many calls and tokens of prompts; `longest` is the parameter `max_tokens`."""
    price = price_of(model)
    paid = is_paid(model)
    with_answers = None
    if paid and isinstance(longest, int) and price.output is not None:
        with_answers = price.cost(tokens, calls * longest)
    of_prompts = price.cost(tokens, None) if paid else None
    return ModelEstimate(model.name, calls, cached, tokens, paid, of_prompts, with_answers)
