from __future__ import annotations

import csv
import json
import time
from pathlib import Path

import pytest

from promptls.experiments.history import RunSummary, read_run
from promptls.experiments.result_pages import RowQuery, messages_of, paired_page, rows_page, run_json
from promptls.text.failure import WrongUse
from support.experiment_folder import Folder
from support.model_server import ModelServer


@pytest.fixture
async def run(folder: Folder) -> RunSummary:
    lines = [f'r{number},"text, {number}\n""so""",{number}' for number in range(1, 8)]
    (folder.path / "rows.csv").write_text("\n".join(["id,text,answer", *lines, ""]), "utf-8")
    return read_run(Path((await folder.ask()).manifest_path))


def ids(run: RunSummary, query: RowQuery, **page: int) -> list[str]:
    return [row["id"] for row in rows_page(run, query, **page).rows]


async def test_a_page_has_the_rows_from_its_start_on(run: RunSummary) -> None:
    page = rows_page(run, start=2, count=3)
    assert (page.total, [row["id"] for row in page.rows]) == (7, ["r3", "r4", "r5"])
    assert page.rows[0]["text"] == 'text, 3\n"so"'
    assert page.rows[0][""] == "2"
    with run.results.open(encoding="utf-8", newline="") as stream:
        assert [{**row, "": ""} for row in csv.DictReader(stream)] == [
            {**row, "": ""} for row in rows_page(run).rows
        ]


async def test_rows_are_filtered_searched_and_sorted(run: RunSummary) -> None:
    assert ids(run, RowQuery(search="TEXT, 4")) == ["r4"]
    assert ids(run, RowQuery(equal=(("answer", "5"),))) == ["r5"]
    assert ids(run, RowQuery(kind="failing")) == [f"r{number}" for number in range(1, 8)]
    assert ids(run, RowQuery(kind="good")) == []
    assert ids(run, RowQuery(kind="error")) == []
    assert ids(run, RowQuery(sort="answer", descending=True), count=2) == ["r7", "r6"]


async def test_a_column_that_is_not_there_and_a_table_that_is_gone_are_said(run: RunSummary) -> None:
    with pytest.raises(WrongUse, match="no column `nope`"):
        rows_page(run, RowQuery(sort="nope"))
    run.results.unlink()
    with pytest.raises(WrongUse, match="table of the run is gone"):
        rows_page(run)


async def test_two_runs_stand_side_by_side(folder: Folder, run: RunSummary) -> None:
    text = folder.prompt.read_text("utf-8")
    folder.prompt.write_text(text.replace("{{ escape", "{{ 'x' if '6' in text }}{{ escape"), "utf-8")
    other = read_run(Path((await folder.ask(rows="6")).manifest_path))
    assert paired_page(run, other)["total"] == 7
    differing = paired_page(run, other, differing=True)
    sides = [(row["before"]["id"], row["after"] and row["after"]["response"]) for row in differing["rows"]]
    assert sides == [("r6", 'xtext, 6\n"so"'), ("r7", None)]


async def test_a_run_is_json(run: RunSummary) -> None:
    value = json.loads(json.dumps(run_json(run)))
    assert (value["name"], value["rows"], value["columns"][0]) == (run.name, 7, "id")


async def test_the_messages_of_a_row_are_those_that_were_sent(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=2)
    run = read_run(Path((await folder.ask()).manifest_path))
    row = rows_page(run).rows[1]
    assert messages_of(run, row["rendered_hash"]) == [{"role": "user", "content": "text 2"}]
    assert messages_of(run, "0" * 16) is None


async def test_a_page_of_a_hundred_thousand_rows_reads_its_own_rows(run: RunSummary) -> None:
    with run.results.open(encoding="utf-8", newline="") as stream:
        header, *lines = stream.read().split("\r\n")[:-1]
    row = rows_page(run, count=1).rows[0]
    with run.results.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [name for name in row if name])
        writer.writeheader()
        cells = {name: cell for name, cell in row.items() if name}
        writer.writerows({**cells, "id": str(number)} for number in range(100_000))
    assert header
    assert lines
    assert rows_page(run).total == 100_000
    began = time.perf_counter()
    for start in range(0, 100_000, 1000):
        assert rows_page(run, start=start, count=50).rows[49]["id"] == str(start + 49)
    # A hundred pages; reading the table for each would take a minute.
    assert time.perf_counter() - began < 5
