"""Exports for spreadsheets contain no formula; tables and JSON lines are unchanged."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from promptls.results_view.results_answers import export_answer
from support.finished_run import write_run


@pytest.mark.parametrize("answer", ["=cmd|' /C calc'!A0", "+1+cmd", "-1+cmd", "@SUM(A1)", "\t=1", "-", "=1"])
def test_a_formula_is_text_in_an_export_as_csv(tmp_path: Path, answer: str) -> None:
    assert exported(tmp_path, answer, "csv") == f"'{answer}"
    assert exported(tmp_path, answer, "jsonl") == answer


@pytest.mark.parametrize("answer", ["-1", "+2.5", "-1e-05", "1=1", "a@b", ""])
def test_numbers_and_texts_are_unchanged_in_an_export(tmp_path: Path, answer: str) -> None:
    assert exported(tmp_path, answer, "csv") == answer


def exported(folder: Path, answer: str, form: str) -> str:
    table = io.StringIO()
    csv.writer(table).writerows([["id", "response", "error"], ["a", answer, ""]])
    (folder / "rows.csv").write_text("id\n", "utf-8")
    run = write_run(folder / "ask.yml.j2", "x", table.getvalue(), experiment="e", dataset=folder / "rows.csv")
    export_answer({"run": str(run.results), "form": form, "to": str(folder / "out")})
    with (folder / "out").open(encoding="utf-8", newline="") as lines:
        if form == "jsonl":
            return str(json.loads(lines.read())["response"])
        return next(csv.DictReader(lines))["response"]
