from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptls.experiments.comparison import Comparison, amount, compare_with
from promptls.experiments.history import RunSummary, read_run
from promptls.text.errors import UsageError
from support.experiment_folder import Folder


async def run_of(folder: Folder, **settings: Any) -> RunSummary:
    finished = await folder.write(**settings).run()
    return read_run(Path(finished.manifest_path))


async def answered(folder: Folder, right: set[int], rows: int = 30) -> RunSummary:
    """Return a run in which exactly the rows in `right` have the expected answer."""
    folder.write(rows=rows, metrics="metrics.py:right")
    lines = [f"r{n},text {n},{'text' if n in right else 'other'} {n}" for n in range(1, rows + 1)]
    (folder.path / "rows.csv").write_text("\n".join(["id,text,answer", *lines]), encoding="utf-8")
    finished = await folder.run()
    return read_run(Path(finished.manifest_path))


def compared(before: RunSummary, after: RunSummary) -> Comparison:
    return compare_with(before, [after])[0]


async def test_a_significant_difference_is_described_in_points_with_interval_and_p(folder: Folder) -> None:
    before = await answered(folder, set(range(1, 11)))
    after = await answered(folder, set(range(1, 25)))
    (metric,) = compared(before, after).metrics
    assert (metric.verdict, metric.difference.pairs) == ("better", 30)
    assert metric.message.startswith(
        f"{after.name} is better by 47 points (95 % interval 30 to 63, p < 0.001"
    )


async def test_a_fall_is_called_worse(folder: Folder) -> None:
    before = await answered(folder, set(range(1, 25)))
    after = await answered(folder, set(range(1, 11)))
    (metric,) = compared(before, after).metrics
    assert metric.verdict == "worse"
    assert f"{after.name} is worse by 47 points (95 % interval 30 to 63, p < 0.001" in metric.message


async def test_a_difference_that_may_be_chance_says_how_many_rows_would_be_needed(folder: Folder) -> None:
    before = await answered(folder, {1, 2, 3, 4})
    after = await answered(folder, {3, 4, 5, 6, 7})
    (metric,) = compared(before, after).metrics
    assert metric.verdict == "inconclusive"
    assert metric.message.startswith("inconclusive at n = 30 (difference +3 points")
    assert "rows would be needed" in metric.message


async def test_equal_runs_do_not_differ_significantly(folder: Folder) -> None:
    before = await answered(folder, {1, 2})
    after = await answered(folder, {1, 2})
    comparison = compared(before, after)
    assert "each row scores the same in both" in comparison.metrics[0].message
    assert comparison.changes == ()


async def test_rows_are_paired_by_their_id_in_any_order(folder: Folder) -> None:
    before = await answered(folder, {1, 2, 3})
    folder.write(rows=30, metrics="metrics.py:right")
    lines = [f"r{n},text {n},{'text' if n in {1, 2, 3} else 'other'} {n}" for n in range(30, 5, -1)]
    lines += [f"r{n},text {n},{'text' if n in {1, 2, 3} else 'other'} {n}" for n in (99, 3, 2, 1)]
    (folder.path / "rows.csv").write_text("\n".join(["id,text,answer", *lines]), encoding="utf-8")
    comparison = compared(before, read_run(Path((await folder.run()).manifest_path)))
    assert comparison.pairs == 28
    assert comparison.changes == ()
    assert [note.split(" in ")[0] for note in comparison.notes] == ["2 rows only", "1 row only"]


async def test_changed_rows_are_listed_with_both_scores(folder: Folder) -> None:
    comparison = compared(await answered(folder, {1}), await answered(folder, {2}))
    changes = [(change.id, change.before, change.after, change.better) for change in comparison.changes]
    assert changes == [("r1", "yes", "no", False), ("r2", "no", "yes", True)]


async def test_numbers_are_compared_as_they_are(folder: Folder) -> None:
    before = await run_of(folder, rows=8, metrics="metrics.py:length")
    prompt = folder.prompt.read_text(encoding="utf-8")
    folder.prompt.write_text(prompt.replace("{{ escape", "xx{{ escape"), encoding="utf-8")
    after = read_run(Path((await folder.run()).manifest_path))
    (metric,) = compared(before, after).metrics
    assert metric.difference.difference == 2
    assert "is better by 2 (95 % interval 2 to 2" in metric.message


async def test_repeats_of_a_row_count_as_one_row(folder: Folder) -> None:
    before = await run_of(folder, settings="repeats: 3")
    after = await run_of(folder, settings="repeats: 2")
    assert compared(before, after).metrics[0].difference.pairs == 4


async def test_rows_without_a_score_are_omitted_and_counted(folder: Folder) -> None:
    metrics = "metrics.py:broken, metrics.py:right"
    before, after = await run_of(folder, metrics=metrics), await run_of(folder, metrics=metrics)
    comparison = compared(before, after)
    assert [metric.metric for metric in comparison.metrics] == ["right"]
    assert "broken: no row has a score in both runs" in comparison.notes


async def test_runs_without_a_common_metric_name_what_each_has(folder: Folder) -> None:
    before = await run_of(folder, metrics="metrics.py:right")
    after = await run_of(folder, metrics="metrics.py:length")
    with pytest.raises(UsageError, match="no metric in common") as failure:
        compared(before, after)
    assert "`right`" in failure.value.remedy
    assert "`length`" in failure.value.remedy


async def test_several_runs_are_each_compared_with_the_first_and_corrected_together(folder: Folder) -> None:
    first = await answered(folder, set(range(1, 9)))
    second = await answered(folder, set(range(1, 15)))
    third = await answered(folder, set(range(1, 14)))

    alone = compared(first, third).metrics[0]
    comparisons = compare_with(first, [second, third])

    assert [comparison.after.name for comparison in comparisons] == [second.name, third.name]
    together = comparisons[1].metrics[0]
    assert (alone.verdict, alone.p_value) == ("inconclusive", together.difference.p_value)
    assert together.p_value == alone.p_value
    assert comparisons[0].metrics[0].p_value == 2 * comparisons[0].metrics[0].difference.p_value
    assert "among 2 comparisons" in together.message


async def test_a_difference_that_counts_alone_may_be_chance_among_others(folder: Folder) -> None:
    first = await answered(folder, set(range(1, 9)))
    second = await answered(folder, set(range(1, 15)))

    assert compared(first, second).metrics[0].verdict == "better"
    (metric,) = compare_with(first, [second, first])[0].metrics

    assert metric.verdict == "inconclusive"
    assert "looked at alone it would count" in metric.message


@pytest.mark.parametrize(
    ("kind", "value", "sign", "words"),
    [
        ("discrete", 0.474, "-", "47"),
        ("discrete", -0.00093, "+", "-0.09"),
        ("discrete", 0.003, "+", "+0.3"),
        ("discrete", -0.0, "+", "+0"),
        ("numeric", 0.000506, "+", "+0.000506"),
    ],
)
def test_a_small_difference_does_not_read_as_none(kind: str, value: float, sign: str, words: str) -> None:
    assert amount(kind, value, sign) == words
