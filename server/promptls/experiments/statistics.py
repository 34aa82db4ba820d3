"""Statistics of paired differences: bootstrap, McNemar, permutation and t-test.

Requires scipy, which is imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from promptls.text.errors import UserError

if TYPE_CHECKING:
    import numpy as np

CONFIDENCE = 0.95
POWER = 0.8
RESAMPLES = 10_000

# With more distinct differences than this, resampling is slow and agrees with the normal
# approximation.
MANY = 2_000

_BATCH = 2_000_000
"""Maximum number of resampled values in memory."""

_EXACT = int(math.log2(RESAMPLES - 1))
"""Up to this number of differences, all 2 ** n sign combinations are enumerated."""

# A fixed seed, so that comparing the same runs gives the same interval and p-value.
_SEED = 20260101


Test: TypeAlias = Literal["McNemar's exact test", "permutation test", "paired t-test"]


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of `after - before` over `pairs` rows, with its 95 % interval from `low` to `high`.

    `p_value` is the probability of a difference this large, or larger, under the null hypothesis; `test` is
    the test's name. `needed` is the number of rows that would show a difference of this size with 80 %
    power; None if there is no difference.
    """

    pairs: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p_value: float
    test: Test
    needed: int | None


def is_clear(p_value: float) -> bool:
    """Return whether a difference with this p-value is significant."""
    return p_value < 1 - CONFIDENCE


def correct_p_values(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for multiple comparisons, in order.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979): the smallest is
    multiplied by their number, the next by one less, and so on; the results are made monotonic.
    """
    found = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        found[place] = highest
    return found


def pooled_spread(groups: Sequence[Sequence[float]]) -> float | None:
    """Return the pooled standard deviation of values from their group's mean, over groups of two or more.

    None if no group has two values.
    """
    several = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in several)
    if not freedom:
        return None
    squares = math.fsum((value - math.fsum(group) / len(group)) ** 2 for group in several for value in group)
    return math.sqrt(squares / freedom)


def paired_difference(before: Sequence[float], after: Sequence[float], *, two_valued: bool) -> Difference:
    """Return the difference of two paired series of equal length.

    `two_valued` series contain 0 and 1. Raises ValueError for empty series, `UserError` without scipy.
    """
    if not before or len(before) != len(after):
        raise ValueError("two non-empty series of the same length are needed")
    np, special = _libraries()
    differences = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    values, counts = np.unique(differences, return_counts=True)
    if len(values) > MANY:
        test: Test = "paired t-test"
        p_value, low, high = _t_test(differences, special)
    else:
        test = "McNemar's exact test" if two_valued else "permutation test"
        p_value = _mcnemar(differences, special) if two_valued else _permutation(differences)
        low, high = _interval(values, counts)
    return Difference(
        pairs=len(before),
        before=math.fsum(before) / len(before),
        after=math.fsum(after) / len(after),
        difference=float(differences.mean()),
        low=low,
        high=high,
        p_value=p_value,
        test=test,
        needed=_needed_rows(differences, special),
    )


def _libraries() -> tuple[Any, Any]:
    """Return numpy and `scipy.special`; `scipy.stats` takes a second to import and is rarely needed."""
    try:
        import numpy as np
        from scipy import special
    except ImportError:
        raise UserError(
            "the statistics need the package `scipy`", remedy='run `pip install "promptls[metrics]"`'
        ) from None
    return np, special


def _interval(values: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean of `values`, each of which occurs `counts` times.

    Resampling n values with replacement is equivalent to drawing the count of each distinct value: a
    multinomial draw, which is small if there are few distinct values.
    """
    import numpy as np

    generator = np.random.default_rng(_SEED)
    rows = int(counts.sum())
    batch = max(1, min(RESAMPLES, _BATCH // len(values)))
    means: list[float] = []
    while len(means) < RESAMPLES:
        size = min(batch, RESAMPLES - len(means))
        draws = generator.multinomial(rows, counts / rows, size=size)
        means += (draws @ values / rows).tolist()
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _t_test(differences: np.ndarray[Any, Any], special: Any) -> tuple[float, float, float]:
    """Return the p-value of the mean by Student's t, two-sided, and the ends of its interval."""
    freedom = len(differences) - 1
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    reach = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    return 2 * float(special.stdtr(freedom, -abs(mean) / error)), mean - reach, mean + reach


def _mcnemar(differences: np.ndarray[Any, Any], special: Any) -> float:
    """Return the p-value of McNemar's test: under the null hypothesis, half of the changed rows improved."""
    better = int((differences > 0).sum())
    worse = int((differences < 0).sum())
    # The distribution is symmetric under the null hypothesis, so both tails are equal.
    return min(1.0, 2 * float(special.bdtr(min(better, worse), better + worse, 0.5)))


def _permutation(differences: np.ndarray[Any, Any]) -> float:
    """Return the p-value of a permutation test, which swaps the values of pairs; equal pairs are ignored."""
    import numpy as np

    moved = differences[differences != 0]
    if len(moved) <= 1:  # swapping a single pair does not change the distance
        return 1.0
    if len(moved) > _EXACT:
        return _drawn_permutation(moved)
    from scipy import stats

    def mean_difference(one: Any, other: Any, axis: int) -> Any:
        return np.mean(other - one, axis=axis)

    found = stats.permutation_test(
        (np.zeros_like(moved), moved),
        mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES - 1,
    )
    return float(found.pvalue)


def _drawn_permutation(moved: np.ndarray[Any, Any]) -> float:
    """Return the p-value from random signs, like scipy's `permutation_test`, which draws pairs individually.

    The number of n equal differences that keep their sign is a binomial draw, so the work grows with
    the number of distinct sizes, not with the number of rows.
    """
    import numpy as np

    generator = np.random.default_rng(_SEED)
    sizes, counts = np.unique(np.abs(moved), return_counts=True)
    observed = float(moved.sum())
    # Tolerance for rounding: sums of the same numbers depend on their order.
    close = 1e-9 * float(sizes @ counts)
    batch = max(1, _BATCH // len(sizes))
    drawn = RESAMPLES - 1
    above = below = 1
    for start in range(0, drawn, batch):
        successes = generator.binomial(counts, 0.5, size=(min(batch, drawn - start), len(sizes)))
        sums = (2 * successes - counts) @ sizes
        above += int((sums >= observed - close).sum())
        below += int((sums <= observed + close).sum())
    return min(1.0, 2 * min(above, below) / RESAMPLES)


def _needed_rows(differences: np.ndarray[Any, Any], special: Any) -> int | None:
    """Return the number of rows needed by a paired test, using the normal approximation."""
    mean = float(differences.mean())
    if mean == 0:
        return None
    spread = float(differences.std())
    quantiles = float(special.ndtri((1 + CONFIDENCE) / 2)) + float(special.ndtri(POWER))
    return max(len(differences) if spread == 0 else 2, math.ceil((quantiles * spread / mean) ** 2))
