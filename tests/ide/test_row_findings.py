"""Findings of the last runs of prompts on the rows of their dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from promptls.experiments.history import RunSummary
from promptls.ide.experiment_runs import ExperimentRuns, shown_rows
from promptls.ide.hover.of_prompt import hover_row
from promptls.lint.rules.experiments.dataset_rows import rows_in_datasets
from support.finished_run import write_run

PROMPT = "- name: a\n  content: {{ text }}\n"


def run_of(
    folder: Path, prompt: str, failing: int, *, started: str = "2026-01-01", rows: int = 20
) -> RunSummary:
    """Return a run over a dataset whose first rows have a bad score."""
    dataset = folder / "rows.csv"
    dataset.write_text("text,expected\n" + "".join(f"t{row},x\n" for row in range(1, rows + 1)))
    results = "".join(
        f"t{row},x,{prompt} {row},{'fail' if row <= failing else 'pass'},,{row}\n"
        for row in range(1, rows + 1)
    )
    table = f"text,expected,response,exact_match,error,row_number\n{results}"
    run = write_run(folder / f"{prompt}.yml.j2", PROMPT, table, experiment="e", dataset=dataset, name=prompt)
    return replace(run, started=started)


def test_a_few_rows_are_reported_one_by_one(tmp_path: Path) -> None:
    found = shown_rows(rows_in_datasets([run_of(tmp_path, "a", failing=3)]))

    assert [(row.number, row.line) for row in found] == [(1, 1), (2, 2), (3, 3)]


def test_many_rows_of_an_experiment_are_one_finding_at_the_first(tmp_path: Path) -> None:
    (found,) = shown_rows(rows_in_datasets([run_of(tmp_path, "a", failing=12)]))

    assert found.line == 1
    assert found.message == (
        "12 rows failed or have a bad score in the last run of `e` in `a.yml.j2`:"
        " rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more"
    )


def test_only_the_prompt_with_the_latest_run_is_shown(tmp_path: Path) -> None:
    older = run_of(tmp_path, "older", failing=2)
    newer = run_of(tmp_path, "newer", failing=1, started="2026-02-01")

    (found,) = shown_rows([*rows_in_datasets([newer]), *rows_in_datasets([older])])
    hover = hover_row(tmp_path / "rows.csv", 1, [ExperimentRuns("e", older), ExperimentRuns("e", newer)])

    assert "`newer.yml.j2`" in found.message
    assert hover is not None
    assert "newer 1" in hover.markdown
    assert "older 1" not in hover.markdown
