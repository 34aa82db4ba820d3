from __future__ import annotations

import random
import sys

import pytest

from promptls.experiments.comparison import Chance, describe_difference
from promptls.experiments.statistics import correct_p_values, is_clear, paired_difference, pooled_spread
from promptls.text.errors import UserError


def series(both: int, lost: int, won: int, neither: int) -> tuple[list[float], list[float]]:
    """Return two series of 0 and 1 with these numbers of each pair."""
    pairs = [(1.0, 1.0)] * both + [(1.0, 0.0)] * lost + [(0.0, 1.0)] * won + [(0.0, 0.0)] * neither
    return [before for before, _ in pairs], [after for _, after in pairs]


@pytest.mark.parametrize(
    ("lost", "won", "p_value"),
    # Twice the binomial tail: sum of C(n, k) / 2**n for k up to the smaller of the two.
    [(0, 5, 2 / 32), (1, 9, 22 / 1024), (4, 4, 1.0), (0, 0, 1.0), (2, 12, 2 * 106 / 16384)],
)
def test_mcnemar_counts_only_the_rows_that_changed(lost: int, won: int, p_value: float) -> None:
    found = paired_difference(*series(20, lost, won, 30), two_valued=True)
    assert found.p_value == pytest.approx(p_value)


def test_the_difference_and_its_interval_are_those_of_the_pairs() -> None:
    found = paired_difference(*series(20, 5, 25, 50), two_valued=True)
    assert (found.pairs, found.before, found.after) == (100, 0.25, 0.45)
    assert found.difference == pytest.approx(0.2)
    # The normal interval of the mean of these differences: 0.2 ± 1.96 * 0.51 / 10.
    assert found.low == pytest.approx(0.1, abs=0.015)
    assert found.high == pytest.approx(0.3, abs=0.015)


def test_a_permutation_of_few_pairs_is_exact() -> None:
    found = paired_difference([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], two_valued=False)
    # Of the 8 ways to turn the pairs, two are as far from 0.
    assert found.p_value == pytest.approx(2 / 8)


@pytest.mark.parametrize(
    ("before", "after", "p_value"),
    [([0.5], [0.75], 1.0), ([1, 2, 3], [1, 2, 9], 1.0), ([1, 1], [2, 2], 0.5), ([1], [1], 1.0)],
)
def test_a_row_or_two_prove_nothing(before: list[float], after: list[float], p_value: float) -> None:
    found = paired_difference(before, after, two_valued=False)
    assert found.p_value == pytest.approx(p_value)
    assert found.low <= found.difference <= found.high


def test_the_permutation_test_agrees_with_the_t_test_on_normal_data() -> None:
    from scipy import stats

    chance = random.Random(3)
    before = [chance.gauss(0, 1) for _ in range(60)]
    after = [value + chance.gauss(0.25, 1) for value in before]
    found = paired_difference(before, after, two_valued=False)
    assert found.p_value == pytest.approx(stats.ttest_rel(after, before).pvalue, abs=0.02)


@pytest.mark.parametrize("sizes", [[1.0, 2.0, 5.0], [0.1, 0.2, 0.3, 0.7]])
def test_a_permutation_of_many_pairs_agrees_with_the_one_of_scipy(sizes: list[float]) -> None:
    import numpy as np
    from scipy import stats

    chance = random.Random(5)
    moves = [chance.choice(sizes) * chance.choice([-1, 1, 1]) for _ in range(45)]
    found = paired_difference([0.0] * len(moves), moves, two_valued=False)
    reference = stats.permutation_test(
        (np.zeros(len(moves)), moves),
        lambda before, after, axis: np.mean(after - before, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=9999,
        rng=np.random.default_rng(1),
    )
    assert found.p_value == pytest.approx(reference.pvalue, abs=0.02)


def test_the_same_runs_give_the_same_numbers() -> None:
    pair = series(10, 3, 8, 9)
    assert paired_difference(*pair, two_valued=True) == paired_difference(*pair, two_valued=True)


def test_equal_series_are_not_different() -> None:
    found = paired_difference([0.2, 0.4], [0.2, 0.4], two_valued=False)
    assert (found.difference, found.low, found.high, found.p_value, found.needed) == (0, 0, 0, 1.0, None)


def test_the_rows_needed_would_really_show_the_difference_four_times_of_five() -> None:
    found = paired_difference(*series(40, 5, 11, 44), two_valued=True)
    assert not is_clear(found.p_value)
    chance = random.Random(1)
    clear = 0
    for _ in range(200):
        rows = chance.choices([-1, 1, 0], [5, 11, 84], k=found.needed)
        lost, won = rows.count(-1), rows.count(1)
        from scipy import stats

        clear += bool(stats.binomtest(won, won + lost).pvalue < 0.05)
    assert 0.68 < clear / 200 < 0.9


def test_many_rows_take_neither_long_nor_much_memory() -> None:
    chance = random.Random(2)
    before = [chance.random() for _ in range(20_000)]
    after = [value + chance.gauss(0.01, 0.1) for value in before]
    assert is_clear(paired_difference(before, after, two_valued=False).p_value)


@pytest.mark.parametrize(("before", "after"), [([], []), ([1.0], [1.0, 2.0])])
def test_series_that_are_no_pairs_are_refused(before: list[float], after: list[float]) -> None:
    with pytest.raises(ValueError, match="same length"):
        paired_difference(before, after, two_valued=False)


def test_a_missing_scipy_says_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(UserError, match="`scipy`") as failure:
        paired_difference([1.0], [2.0], two_valued=False)
    assert "promptls[metrics]" in failure.value.remedy


@pytest.mark.parametrize(
    ("p_values", "together"),
    [
        # 5 times 0.01, 4 times 0.02, 3 times 0.03; what follows is never below what came before.
        ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),
        ([0.04, 0.01, 0.03], [0.06, 0.03, 0.06]),
        ([0.7, 0.6], [1.0, 1.0]),
        ([0.02], [0.02]),
        ([], []),
    ],
)
def test_many_differences_looked_at_together_are_corrected_as_holm_does(
    p_values: list[float], together: list[float]
) -> None:
    assert correct_p_values(p_values) == pytest.approx(together)


def test_the_spread_of_repeats_is_that_of_a_one_way_analysis_of_variance() -> None:
    from scipy import stats

    groups = [[1.0, 2.0, 4.0], [2.0, 2.0], [5.0], [0.0, 3.0, 3.0, 6.0]]
    several = [group for group in groups if len(group) > 1]
    variances = [stats.tvar(group) * (len(group) - 1) for group in several]
    within = sum(variances) / sum(len(group) - 1 for group in several)
    assert pooled_spread(groups) == pytest.approx(within**0.5)


def test_without_repeats_there_is_no_spread() -> None:
    assert pooled_spread([[1.0], [2.0]]) is None


def test_existing_rows_are_not_reported_as_needed() -> None:
    found = paired_difference([0] * 8, [1] * 5 + [0] * 3, two_valued=True)
    words = describe_difference("discrete", "inconclusive", found, Chance(found.p_value, 1), "v2")
    assert found.needed is not None
    assert found.needed <= found.pairs
    assert "; some more rows would be needed" in words


@pytest.mark.parametrize(
    ("won", "lost", "p_value", "needed"),
    [
        (5, 1, 0.21875, 73.37),
        (12, 3, 0.03515625, 46.25),
        (0, 7, 0.015625, 25.28),
        (20, 25, 0.5514843298025198, 926.6),
        (9, 9, 1.0, None),
        (1, 30, 2.9802322387695312e-08, 9.147),
    ],
)
def test_wins_and_losses_beside_twenty_equal_rows_come_out_as_statsmodels_has_them(
    won: int, lost: int, p_value: float, needed: float | None
) -> None:
    """`mcnemar(exact=True)`, and `TTestPower` at a power of 0.8, which asks for two or three more."""
    before = [1.0] * 10 + [0.0] * (10 + won) + [1.0] * lost
    after = [1.0] * 10 + [0.0] * 10 + [1.0] * won + [0.0] * lost
    found = paired_difference(before, after, two_valued=True)
    assert found.p_value == pytest.approx(p_value)
    if needed is None:
        assert found.needed is None
    else:
        assert found.needed is not None
        assert 0 < needed - found.needed < max(5, 0.02 * needed)
