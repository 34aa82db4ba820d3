"""What a run may spend, and what it has spent."""

from __future__ import annotations

from dataclasses import dataclass

from promptls.text.errors import UserError
from promptls.text.format import in_dollars


class BudgetSpentError(UserError):
    """The run has stopped because its budget is spent; it can be resumed."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits in calls, tokens of prompts and answers, and US dollars; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None

    def under(self, other: Budget) -> Budget:
        """Return the limits of `other`, and where it has none, those of this one."""
        return Budget(
            other.calls if other.calls is not None else self.calls,
            other.tokens if other.tokens is not None else self.tokens,
            other.cost if other.cost is not None else self.cost,
        )


NO_BUDGET = Budget()


@dataclass(frozen=True, slots=True)
class Expected:
    """What one answer is expected to take, with the calls that judge it; known before they are made."""

    tokens: int = 0
    cost: float = 0.0
    calls: int = 1


class Spending:
    """Counts what is spent, and what is on its way to be.

    A call goes out only while what is spent, what is in flight and the call itself stay within the budget,
    as far as can be known before: an answer whose length nobody limits may take the last call over it.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._expected = Expected(calls=0)
        self.calls = 0
        self.tokens = 0
        self.cost = 0.0
        self.reached: str | None = None
        """The limit that stopped the run, in words; None while nothing has."""

    def allows(self, expected: Expected) -> bool:
        """Return whether one more call may be made; where it may, it counts as in flight."""
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
        self._expected = Expected(
            self._expected.tokens + expected.tokens,
            self._expected.cost + expected.cost,
            self._expected.calls + expected.calls,
        )
        return True

    def settle(self, expected: Expected, *, calls: int, tokens: int, cost: float) -> None:
        """Replace the estimate that `allows` reserved by the actual calls, tokens and cost."""
        self._expected = Expected(
            self._expected.tokens - expected.tokens,
            self._expected.cost - expected.cost,
            self._expected.calls - expected.calls,
        )
        self.calls += calls
        self.tokens += tokens
        self.cost += cost
