"""Results of a program's own `arun`, and tables without a manifest: compared, listed and reported."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from promptls.cli.main import main
from promptls.experiments.named_runs import find_run

PROGRAM = """
import json
from promptls import Dataset, MetricResult, discrete_metric, experiment, numeric_metric


@discrete_metric(name="priority_accuracy", allowed_values=["correct", "incorrect"])
def priority_accuracy(prediction, expected):
    return MetricResult("correct" if prediction == expected else "incorrect", f"expected {expected}")


@numeric_metric(name="length", allowed_values=(0, 100))
def length(text):
    return len(text)


@experiment()
async def triage(row, prompt_file, model="none"):
    if row["id"] == "3":
        raise RuntimeError("no answer")
    answer = "P1" if "v2" in prompt_file or row["id"] == "1" else "P0"
    return {
        "id": row["id"],
        "response": answer,
        "priority_score": priority_accuracy.score(prediction=answer, expected=row["priority"]).value,
        "size": length.score(text=answer),
    }


def rows():
    data = [{"id": str(number), "priority": "P1"} for number in range(1, 5)]
    return Dataset("tickets", "local/csv", data=data, root_dir=".")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals.py").write_text(PROGRAM, "utf-8")
    for name in ("v1.txt", "v2.txt"):
        (tmp_path / name).write_text("Say how urgent the ticket is.", "utf-8")
    return tmp_path


@pytest.fixture
def program(here: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("evals_of_program", here / "evals.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tables(program: ModuleType) -> tuple[Path, Path]:
    made = [
        program.triage.run(program.rows(), name=name, prompt_file=f"{name}.txt", progress=False)
        for name in ("v1", "v2")
    ]
    first, second = (Path("experiments", f"{results.name}.csv") for results in made)
    return first, second


def test_the_table_contains_what_the_function_returns(tables: tuple[Path, Path]) -> None:
    with tables[0].open(newline="", encoding="utf-8") as stream:
        assert next(csv.reader(stream)) == ["id", "response", "priority_score", "size", "priority", "error"]


def test_the_manifest_names_prompt_program_and_metrics(tables: tuple[Path, Path]) -> None:
    run = find_run(str(tables[0]))
    assert (run.prompt.name, run.experiment, run.models, run.rows, run.failed) == (
        "v1.txt",
        "triage",
        ("none",),
        4,
        1,
    )
    assert [(metric.name, metric.value) for metric in run.metrics] == [
        ("priority_score", 1 / 3),
        ("size", 2.0),
    ]
    assert not run.stale
    manifest = json.loads(tables[0].with_suffix(".json").read_text("utf-8"))
    assert manifest["written_in"] == "../evals.py"


def test_the_results_are_compared_listed_and_reported(
    tables: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, tables)]) == 0
    shown = capsys.readouterr().out
    assert "priority_score" in shown
    assert "1 row of v1.txt failed" in shown
    assert main(["history", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {Path(run["prompt"]).name for run in listed} == {"v1.txt", "v2.txt"}
    assert main(["report", str(tables[0]), "-o", "report.html"]) == 0
    assert "1 run, 4 rows" in capsys.readouterr().out


def test_compared_rows_are_written_side_by_side(
    tables: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, tables), "--csv", "both.csv"]) == 0
    assert "wrote both.csv" in capsys.readouterr().err
    with Path("both.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[1]["priority_score (v1.txt)"] == "incorrect"
    assert rows[1]["priority_score (v2.txt)"] == "correct"
    assert "size" in rows[0], "it is the same in both runs"


def test_tables_of_other_programs_are_compared_by_columns_that_look_like_scores(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, scores in (("old", "FAIL,0.5"), ("new", "pass,0.75")):
        (here / f"{name}.csv").write_text(f"id,answer,quality_score,rouge\n1,yes,{scores}\n", "utf-8")
    assert main(["compare", "old.csv", "new.csv", "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    found = {metric["metric"]: metric["difference"] for metric in comparison["metrics"]}
    assert (found["quality_score"]["before"], found["quality_score"]["after"]) == (0.0, 1.0)
    assert found["rouge"]["difference"] == 0.25


@pytest.mark.parametrize("text", ["id,text\n1,x\n", "id,mood_score\n1,cheerful\n", "id,score\n1,\n", ""])
def test_a_table_without_scores_is_no_run(here: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "rows.csv").write_text(text, "utf-8")
    assert main(["compare", "rows.csv", "rows.csv"]) == 2
    assert "no column of it looks like a score" in capsys.readouterr().err


def test_a_function_without_a_file_has_no_manifest(program: ModuleType) -> None:
    notebook = ModuleType("__notebook__")
    exec(compile(PROGRAM, "<cell>", "exec"), vars(notebook))
    made = notebook.triage.run(program.rows(), prompt_file="v1.txt", progress=False)
    assert not Path("experiments", f"{made.name}.json").exists()


def test_results_in_json_lines_are_compared_by_the_table_beside_them(
    program: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = program.Dataset("tickets", "local/jsonl", data=list(program.rows()), root_dir=".")
    made = [
        program.triage.run(rows, name=name, prompt_file=f"{name}.txt", progress=False)
        for name in ("v1", "v2")
    ]
    stored = [f"experiments/{results.name}.jsonl" for results in made]
    assert main(["compare", *stored]) == 0
    assert "priority_score" in capsys.readouterr().out
    Path(stored[0]).with_suffix(".csv").unlink()
    assert main(["compare", *stored]) == 2
    assert "this is JSON Lines" in capsys.readouterr().err
