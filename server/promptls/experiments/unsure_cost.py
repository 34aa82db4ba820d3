"""What the calls that may have been paid for took, and who they are, in words."""

from __future__ import annotations

from collections.abc import Sequence

from promptls.experiments.plan import Plan, parameters_of
from promptls.experiments.under_way import CallUnderWay, unsure_words
from promptls.models.prices import is_paid, price_of


def unsure_in_words(plan: Plan, calls: Sequence[CallUnderWay], *, left: bool) -> str | None:
    """Return one sentence that names the calls and about what they took; None if there are none.

    `left` says that they are not made again.
    """
    if not calls:
        return None
    numbers = {call.number for call in calls}
    found = {
        row.number: (row.id, rendered.tokens) for row, rendered in plan.rendered if row.number in numbers
    }
    costs = [_cost(plan, call, found.get(call.number, ("", 0))[1]) for call in calls]
    known = [cost for cost in costs if cost is not None]
    ids = {number: name for number, (name, _) in found.items()}
    return unsure_words(calls, ids, sum(known) if known else None, left=left)


def _cost(plan: Plan, call: CallUnderWay, tokens: int) -> float | None:
    """About what one call took, in US dollars; None if no price is known."""
    for model in plan.experiment.models:
        if model.name == call.asked == call.model and is_paid(model):
            longest = parameters_of(plan.experiment, model, call.repeat).get("max_tokens")
            return price_of(model).cost(tokens, longest if isinstance(longest, int) else None)
    for asks in plan.asks.values():
        if asks.judge is not None and asks.judge.name == call.asked and is_paid(asks.judge):
            return price_of(asks.judge).cost(asks.tokens // max(asks.calls, 1), None)
    return None
