"""The budget of a run, and what it has spent."""

from __future__ import annotations

from dataclasses import dataclass

from promptls.text.errors import UserError
from promptls.text.format import in_dollars


class BudgetSpentError(UserError):
    """The run stopped because its budget is exhausted; it can be resumed."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on calls, tokens of prompts and answers, and US dollars; None means no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None

    def under(self, other: Budget) -> Budget:
        """Return the limits of `other`, using those of this budget where `other` has none."""
        return Budget(
            other.calls if other.calls is not None else self.calls,
            other.tokens if other.tokens is not None else self.tokens,
            other.cost if other.cost is not None else self.cost,
        )


NO_BUDGET = Budget()


@dataclass(frozen=True, slots=True)
class ExpectedUsage:
    """The estimated usage of an answer, including the calls that judge it."""

    tokens: int = 0
    cost: float = 0.0
    calls: int = 1


class Spending:
    """Tracks the spent budget and the reserved budget of calls in flight.

    A call is allowed only if spent, reserved and expected usage together stay within the budget,
    as far as it can be estimated: the last call may exceed it if the answer's length is not limited.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._expected = ExpectedUsage(calls=0)
        self.calls = 0
        self.tokens = 0
        self.cost = 0.0
        self.reached: str | None = None
        """A description of the limit that stopped the run; None if no limit was reached."""

    def allows(self, expected: ExpectedUsage) -> bool:
        """Return whether one more call is within the budget, and if so reserve its usage."""
        budget = self._budget
        tokens = self.tokens + self._expected.tokens + expected.tokens
        cost = self.cost + self._expected.cost + expected.cost
        calls = self.calls + self._expected.calls + expected.calls
        if budget.calls is not None and calls > budget.calls:
            self.reached = f"{budget.calls:,} calls"
        elif budget.tokens is not None and tokens > budget.tokens:
            self.reached = f"{budget.tokens:,} tokens"
        elif budget.cost is not None and cost > budget.cost:
            self.reached = in_dollars(budget.cost)
        if self.reached is not None:
            return False
        self._expected = ExpectedUsage(
            self._expected.tokens + expected.tokens,
            self._expected.cost + expected.cost,
            self._expected.calls + expected.calls,
        )
        return True

    def settle(self, expected: ExpectedUsage, *, calls: int, tokens: int, cost: float) -> None:
        """Replace the estimate that `allows` reserved by the actual calls, tokens and cost."""
        self._expected = ExpectedUsage(
            self._expected.tokens - expected.tokens,
            self._expected.cost - expected.cost,
            self._expected.calls - expected.calls,
        )
        self.calls += calls
        self.tokens += tokens
        self.cost += cost
