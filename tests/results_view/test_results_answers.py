from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from promptls.experiments.history import RunSummary
from promptls.results_view.notes import notes_file
from promptls.results_view.results_answers import (
    export_answer,
    note_answer,
    numbers_answer,
    rows_answer,
    view_answer,
)
from promptls.text.errors import UsageError, UserError
from support.finished_run import write_run

CASES = json.loads((Path(__file__).parent / "row_queries.json").read_text("utf-8"))
"""Rows and the results of queries; the page of a report must find the same."""


@pytest.fixture
def run(tmp_path: Path) -> RunSummary:
    (tmp_path / "rows.csv").write_text("id,text\n", "utf-8")
    lines = [",".join(CASES["columns"]), *(",".join(row) for row in CASES["rows"]), ""]
    return write_run(
        tmp_path / "ask.yml.j2",
        "- name: a\n",
        "\n".join(lines),
        experiment="main",
        dataset=tmp_path / "rows.csv",
        name="20260101-000000-ask",
    )


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: json.dumps(case["filter"]))
def test_a_query_finds_its_rows_in_its_order(run: RunSummary, case: dict[str, Any]) -> None:
    note_answer({"run": str(run.results), "place": CASES["noted"], "thumb": "up"})
    answer = rows_answer({"run": str(run.results), "filter": case["filter"]})
    assert [row["place"] for row in answer["rows"]] == case["found"]


def test_a_note_is_stored_beside_the_table_and_removed_again(run: RunSummary) -> None:
    before = run.results.read_bytes()
    said = {"run": str(run.results), "place": 2}
    notes = note_answer({**said, "thumb": "down", "text": "too short"})["notes"]
    assert notes == {"2": {"thumb": "down", "text": "too short"}}
    assert json.loads(notes_file(run).read_text("utf-8"))["rows"]["2"]["id"] == "c"
    assert note_answer({**said, "text": " "})["notes"] == {}
    assert run.results.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [({"thumb": "sideways"}, "no thumb"), ({"place": 99}, "no row 100"), ({"text": "x" * 20_001}, "at most")],
)
def test_a_note_that_cannot_be_is_refused(run: RunSummary, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        note_answer({"run": str(run.results), "place": 0, "thumb": "up", **change})
    assert not notes_file(run).exists()


def test_notes_that_somebody_has_broken_are_not_written_over(run: RunSummary) -> None:
    notes_file(run).write_text("mine", "utf-8")
    with pytest.raises(UserError, match="cannot be read"):
        note_answer({"run": str(run.results), "place": 0, "thumb": "up"})
    assert notes_file(run).read_text("utf-8") == "mine"


def test_found_rows_are_exported_with_their_notes(run: RunSummary, tmp_path: Path) -> None:
    note_answer({"run": str(run.results), "place": 1, "thumb": "up", "text": 'so, "good"'})
    row_filter = {"equal": {"exact_match": "fail"}}
    for form in ("csv", "jsonl", "junit", "html"):
        export_answer(
            {"run": str(run.results), "filter": row_filter, "form": form, "to": str(tmp_path / form)}
        )
    with (tmp_path / "csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text("utf-8").splitlines()]
    assert rows == lines
    assert [(row["id"], row["thumb"], row["note"]) for row in rows] == [
        ("b", "up", 'so, "good"'),
        ("d", "", ""),
    ]
    suite = ET.parse(tmp_path / "junit").getroot()
    assert suite.get("tests") == str(len(CASES["rows"]))
    assert 'id="report-data"' in (tmp_path / "html").read_text("utf-8")
    with pytest.raises(UsageError, match="cannot be written as `xls`"):
        export_answer({"run": str(run.results), "form": "xls", "to": str(tmp_path / "xls")})


def test_rows_are_run_again_by_their_numbers(run: RunSummary) -> None:
    answer = numbers_answer({"run": str(run.results), "filter": {"places": [0, 1, 3]}})
    assert answer == {"rows": "1-2,4,", "count": 3, "experiment": "main"}
    with pytest.raises(UsageError, match="none of these rows"):
        numbers_answer({"run": str(run.results), "filter": {"places": []}})


def test_a_first_run_is_compared_with_another_prompt_over_the_same_data(tmp_path: Path) -> None:
    for name in ("rows.csv", "others.csv"):
        (tmp_path / name).write_text(f"id,text\na,{name}\n", "utf-8")

    def ran(prompt: str, dataset: str, name: str, metric: str = "exact_match") -> RunSummary:
        table = f"id,model,response,error,{metric}\na,echo,Hi,,pass\n"
        path = tmp_path / f"{prompt}.yml.j2"
        dataset_path = tmp_path / dataset
        return write_run(path, "- name: a\n", table, experiment="main", dataset=dataset_path, name=name)

    def shown(run: RunSummary, **arguments: Any) -> list[str]:
        view = view_answer({"run": str(run.results), **arguments, "quick": True})
        return [each["promptName"] for each in view["runs"]]

    first = ran("first", "rows.csv", "20260101-000000-first")
    assert shown(first) == ["first.yml.j2"]
    second = ran("second", "rows.csv", "20260102-000000-second")
    ran("elsewhere", "others.csv", "20260103-000000-elsewhere")
    ran("unlike", "rows.csv", "20260104-000000-unlike", "prefix_match")
    assert shown(first) == ["second.yml.j2", "first.yml.j2"]
    assert shown(second) == ["first.yml.j2", "second.yml.j2"]
    assert shown(second, against=[]) == ["second.yml.j2"]

    second.results.unlink()
    assert shown(first) == ["first.yml.j2"]
    again = ran("first", "rows.csv", "20260105-000000-first")
    assert shown(again) == ["first.yml.j2", "first.yml.j2"]
