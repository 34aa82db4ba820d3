"""The reason for a recommended step is true compared with the current one."""

from __future__ import annotations

import pytest

from promptls.truncation.candidates import Trial, advise
from promptls.truncation.prefix_cache import CACHES
from promptls.truncation.simulation import Simulation, TurnResult


def trial(step: int, cached: int, lost: int, breaks: int) -> Trial:
    """Return ten turns of 100 tokens, with these numbers of cached and needlessly lost tokens."""
    turns = tuple(
        TurnResult(kept=(), tokens=100 - lost, cached=cached, lost=lost, excess=0, failure=None)
        for _ in range(10)
    )
    return Trial(800, step, (Simulation(turns, breaks),))


GAINS = (
    "With a step of 50 tokens, 89% of the prompts is read from the cache, where a step of 1 token reads 42%: "
    "the beginning changes in 2 of 10 turns, not in 9. It costs 5 tokens of the chat a turn; "
    "90% of what fits is kept."
)
GAINS_FREELY = (
    "With a step of 50 tokens, 84% of the prompts is read from the cache, where a step of 1 token reads 42%: "
    "the beginning changes in 9 of 10 turns, with both. It costs nothing of the chat; "
    "95% of what fits is kept."
)
KEEPS_MORE = (
    "With a step of 1 token, 98% of what fits is kept, where a step of 50 tokens keeps 80%; "
    "51% of the prompts is read from the cache, with the other 62%."
)
IS_THE_SAME = (
    "A step of 1 token serves as well as one of 50 tokens: 51% of the prompts is read from the cache "
    "and 98% of what fits is kept, with the other 51% and 98%."
)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (trial(50, 80, 10, 2), trial(1, 40, 5, 9), GAINS),
        (trial(50, 80, 5, 9), trial(1, 40, 5, 9), GAINS_FREELY),
        (trial(1, 50, 2, 9), trial(50, 50, 20, 9), KEEPS_MORE),
        (trial(1, 50, 2, 9), trial(50, 50, 2, 9), IS_THE_SAME),
    ],
    ids=["gains", "gains freely", "keeps more", "is the same"],
)
def test_the_reason_compares_with_the_present_step(one: Trial, other: Trial, reason: str) -> None:
    # A third trial gains most, so that steps are worth comparing.
    third = trial(700, 30, 69, 1)
    trials = sorted((one, other, third), key=lambda each: each.step)
    found = advise(trials, 0.9, CACHES["exact"], other.step)
    assert (found.step, found.reason) == (one.step, reason)
