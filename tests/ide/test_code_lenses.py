from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from promptls.experiments.history import MetricSummary, RunSummary
from promptls.ide.code_lenses import Running, code_lenses, run_actions, scores_text, scores_tooltip
from promptls.ide.experiment_runs import ExperimentRuns, run_findings
from support.fixture import MAIN, opened

PATH = str(Path("/project") / MAIN)
PROMPT = """\
{#---
experiments:
  first: {dataset: d.csv}
  second: {dataset: d.csv}
---#}
- name: a
  content: x
"""


def run(
    *, value: float, failed: int = 0, stale: bool = False, previous: RunSummary | None = None
) -> RunSummary:
    right = MetricSummary("right", "discrete", value, f"{value:.0%}", 4, 0, {}, ["yes", "no"])
    length = MetricSummary("length", "numeric", value * 10, f"{value * 10:.3g}", 4, 0, {}, None)
    file = Path("/project/experiments/run.csv")
    return RunSummary(
        name="run",
        experiment="first",
        prompt=Path(PATH),
        results=file,
        manifest=file,
        started="",
        seconds=1.0,
        models=("echo",),
        rows=4,
        failed=failed,
        input_tokens=0,
        output_tokens=0,
        cost=None,
        metrics=(right, length),
        stale=stale,
        previous=previous,
    )


def lenses(*runs: ExperimentRuns, text: str = PROMPT) -> list[str]:
    return [lens.action.title for lens in code_lenses(opened(text)[0], PATH, runs)]


def test_lenses_above_a_prompt_are_preview_and_experiments() -> None:
    never = (ExperimentRuns("first", None), ExperimentRuns("second", None))

    assert lenses(*never) == ["Preview", "Run first", "Run second"]


def test_the_last_scores_are_shown_after_their_experiment() -> None:
    runs = (ExperimentRuns("first", run(value=0.5)), ExperimentRuns("second", None))

    assert lenses(*runs) == ["Preview", "Run first", "right 50%, length 5", "Run second"]


def test_scores_show_their_change_failures_and_age() -> None:
    before = run(value=0.25)

    assert (
        scores_text(ExperimentRuns("first", run(value=0.5, previous=before)))
        == "right 50% (+25), length 5 (+2.5)"
    )
    assert scores_text(ExperimentRuns("first", run(value=0.25, previous=before))) == (
        "right 25% (±0), length 2.5 (±0)"
    )
    assert scores_text(ExperimentRuns("first", run(value=0.5, failed=1, stale=True))) == (
        "right 50%, length 5, 1 of 4 rows failed · stale"
    )


def test_files_that_are_run_by_nobody_have_no_lens() -> None:
    assert lenses(text="- hosts: all\n  tasks: []\n") == []


def test_failed_rows_are_found_at_the_experiment_until_the_prompt_changes() -> None:
    snapshot, _ = opened(PROMPT)

    def found(last: RunSummary) -> list[str]:
        findings = run_findings(snapshot, PATH, [ExperimentRuns("first", last)])
        return [PROMPT[each.span.start : each.span.end] for each in findings]

    assert found(run(value=0.5, failed=1)) == ["first"]
    assert found(run(value=0.5, failed=1, stale=True)) == []
    assert found(run(value=0.5)) == []


def test_scores_of_several_models_are_in_the_tooltip() -> None:
    both = run(value=0.5)
    (right, length) = both.metrics
    better = replace(right, text="75%")
    both = replace(
        both, by_model={"echo": (better, length), "small": (right, length)}, models=("echo", "small")
    )

    assert scores_text(ExperimentRuns("first", both)) == "right 50%, length 5 · 2 models"
    assert scores_tooltip(both).splitlines() == [
        "run: 4 results of echo and small",
        "echo: right 75%, length 5",
        "small: right 50%, length 5",
    ]


def test_a_lens_has_three_scores_and_its_tooltip_all() -> None:
    many = run(value=0.5)
    many = replace(many, metrics=tuple(replace(many.metrics[0], name=name) for name in "abcde"))

    assert lenses(ExperimentRuns("first", many))[2] == "a 50%, b 50%, c 50%, 2 more"
    assert "a 50%, b 50%, c 50%, d 50%, e 50%" in scores_tooltip(many)


def test_an_experiment_that_is_run_shows_how_far_it_is_and_has_a_lens_that_cancels_it() -> None:
    snapshot, _ = opened(PROMPT)
    runs = (ExperimentRuns("first", None), ExperimentRuns("second", None))

    found = code_lenses(snapshot, PATH, runs, {"second": Running(12, 50, 3.2)})

    assert [lens.action.title for lens in found] == [
        "Preview",
        "Run first",
        "Running second: 12 of 50 · 3 s left",
        "Cancel",
    ]
    assert [lens.action.command for lens in found[-2:]] == ["promptls.showResults", "promptls.cancelRun"]
    begun = code_lenses(snapshot, PATH, runs[:1], {"first": Running(0, 0)})
    assert begun[1].action.title == "Running first: rendering the rows"


@pytest.mark.parametrize(
    ("cached", "reasoning", "shown"),
    [
        (0, 0, ""),
        (750, 0, " · prefix cache 75%"),
        (0, 1200, " · 1,200 reasoning tokens"),
        (750, 1200, " · prefix cache 75% · 1,200 reasoning tokens"),
    ],
)
def test_a_lens_shows_prefix_cache_and_reasoning_tokens(cached: int, reasoning: int, shown: str) -> None:
    tokens = replace(
        run(value=0.5),
        input_tokens=1000,
        output_tokens=2000,
        cached_input_tokens=cached,
        reasoning_tokens=reasoning,
    )
    assert scores_text(ExperimentRuns("first", tokens)) == f"right 50%, length 5{shown}"
    assert (tokens.token_text in scores_tooltip(tokens)) == bool(shown)


@pytest.mark.parametrize(("cached", "shown"), [(0, ""), (2, " · 2 from the cache"), (4, " · from the cache")])
def test_a_lens_shows_the_number_of_cached_answers(cached: int, shown: str) -> None:
    assert lenses(ExperimentRuns("first", replace(run(value=0.5), rows=4, cached=cached)))[2].endswith(
        f"length 5{shown}"
    )


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ("5", "first 5 rows"),
        ("3,44-46,", "rows 3, 44-46"),
        ("1,3,5,7,9,11,13,15,17,19,21,", "rows 1, 3, 5, 7, 9, 11, 13…"),
        ('priority == "P0"', 'rows with priority == "P0"'),
    ],
)
def test_scores_of_a_partial_run_say_so(chosen: str, shown: str) -> None:
    some = replace(run(value=0.5), rows_chosen=chosen)

    assert scores_text(ExperimentRuns("first", some)) == f"right 50%, length 5 · partial run: {shown}"
    assert "its scores are not compared" in scores_tooltip(some)


def test_what_can_be_run_follows_from_what_has_been_run_and_from_the_place() -> None:
    text = PROMPT.replace("experiments:", "examples:\n  - {a: one}\nexperiments:").replace(
        "- name: a", "{% set shots = [1, 2] %}\n- name: a"
    )
    snapshot, _ = opened(text)
    runs = (ExperimentRuns("first", run(value=0.5, previous=run(value=0.25))), ExperimentRuns("second", None))

    def found(offset: int) -> list[tuple[str, str]]:
        return [
            (kind, action.arguments["experiment"])
            for kind, action in run_actions(snapshot, PATH, offset, runs)
        ]

    everywhere = [
        ("failing", "first"), ("fresh", "first"), ("first", "first"), ("compare", "first"),
        ("leaveOneOut", "first"),
        ("first", "second"), ("leaveOneOut", "second"),
    ]  # fmt: skip
    assert found(0) == everywhere
    assert found(text.index("one")) == [("example", "first"), ("example", "second"), *everywhere]


def test_a_stopped_run_can_be_resumed() -> None:
    half = replace(run(value=0.0), name="20260101-000000-a", status="stopped", done=4, rows=48)
    stopped = ExperimentRuns("first", None, stopped=half)
    snapshot, _ = opened(PROMPT)

    assert lenses(stopped)[1:3] == ["Run first", "Resume: stopped after 4 of 48 rows"]
    kind, resume = next(run_actions(snapshot, PATH, 0, (stopped,)))
    assert (kind, resume.title) == ("resume", "Resume: stopped after 4 of 48 rows")
    assert resume.arguments == {"experiment": "first", "resume": "20260101-000000-a"}
