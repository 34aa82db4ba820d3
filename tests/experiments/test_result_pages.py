from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from promptls.experiments.history import RunSummary, read_run
from promptls.experiments.result_pages import (
    RowQuery,
    found_places,
    messages_of,
    paired_page,
    rows_at,
    table_of,
)
from promptls.text.errors import UsageError
from support.experiment_folder import Folder
from support.model_server import ModelServer


@pytest.fixture
async def run(folder: Folder) -> RunSummary:
    lines = [f'r{number},"text, {number}\n""so""",{number}' for number in range(1, 8)]
    (folder.path / "rows.csv").write_text("\n".join(["id,text,answer", *lines, ""]), "utf-8")
    return read_run(Path((await folder.ask()).manifest_path))


def ids(run: RunSummary, query: RowQuery) -> list[str]:
    return [row["id"] for row in rows_at(run, found_places(run, query))]


async def test_a_column_is_read_without_the_others(run: RunSummary) -> None:
    columns = table_of(run).columns_of("id", "text", "no such column")
    assert list(columns["id"]) == [f"r{number}" for number in range(1, 8)]
    assert columns["text"][2] == 'text, 3\n"so"'
    assert set(columns["no such column"]) == {""}


async def test_a_page_has_the_rows_from_its_start_on(run: RunSummary) -> None:
    places = found_places(run)
    assert len(places) == 7
    rows = list(rows_at(run, places[2:5]))
    assert [row["id"] for row in rows] == ["r3", "r4", "r5"]
    assert rows[0]["text"] == 'text, 3\n"so"'
    with run.results.open(encoding="utf-8", newline="") as stream:
        assert list(csv.DictReader(stream)) == list(rows_at(run, places))


async def test_rows_are_filtered_searched_and_sorted(run: RunSummary) -> None:
    assert ids(run, RowQuery(search="TEXT, 4")) == ["r4"]
    assert ids(run, RowQuery(equal=(("answer", "5"),))) == ["r5"]
    assert ids(run, RowQuery(kind="failing")) == [f"r{number}" for number in range(1, 8)]
    assert ids(run, RowQuery(kind="good")) == []
    assert ids(run, RowQuery(kind="error")) == []
    assert ids(run, RowQuery(sort="answer", descending=True))[:2] == ["r7", "r6"]


async def test_missing_columns_and_tables_are_reported(run: RunSummary) -> None:
    with pytest.raises(UsageError, match="no column `nope`"):
        found_places(run, RowQuery(sort="nope"))
    run.results.unlink()
    with pytest.raises(UsageError, match="table of the run does not exist"):
        found_places(run)


async def test_two_runs_are_shown_side_by_side(folder: Folder, run: RunSummary) -> None:
    text = folder.prompt.read_text("utf-8")
    folder.prompt.write_text(text.replace("{{ escape", "{{ 'x' if '6' in text }}{{ escape"), "utf-8")
    other = read_run(Path((await folder.ask(rows="6")).manifest_path))
    assert paired_page(run, other)["total"] == 7
    differing = paired_page(run, other, differing=True)
    sides = [(row["before"]["id"], row["after"] and row["after"]["response"]) for row in differing["rows"]]
    assert sides == [("r6", 'xtext, 6\n"so"'), ("r7", None)]


async def test_rows_that_got_worse_come_first(folder: Folder, run: RunSummary) -> None:
    before, after = (replace(run, results=folder.prompt.with_name(f"{name}.csv")) for name in ("old", "new"))
    metric = replace(run.metrics[0], name="right", kind="discrete", allowed_values=["yes", "no"])
    text = "id,repeat,model,response,error,right\n"
    before.results.write_text(text + "a,1,m,x,,no\nb,1,m,x,,yes\nc,1,m,x,,yes\n")
    after.results.write_text(text + "a,1,m,y,,yes\nb,1,m,y,,yes\nc,1,m,y,,no\n")

    found = paired_page(replace(before, metrics=(metric,)), replace(after, metrics=(metric,)), differing=True)

    assert [row["after"]["id"] for row in found["rows"]] == ["c", "b", "a"]


async def test_the_messages_of_a_row_are_those_that_were_sent(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=2)
    run = read_run(Path((await folder.ask()).manifest_path))
    row = next(rows_at(run, [1]))
    assert messages_of(run, row["rendered_hash"]) == [{"role": "user", "content": "text 2"}]
    assert messages_of(run, "0" * 16) is None


async def test_every_row_of_a_hundred_thousand_is_found_at_its_place(run: RunSummary) -> None:
    with run.results.open(encoding="utf-8", newline="") as stream:
        header, *lines = stream.read().split("\r\n")[:-1]
    row = next(rows_at(run, [0]))
    with run.results.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [name for name in row if name])
        writer.writeheader()
        cells = {name: cell for name, cell in row.items() if name}
        writer.writerows({**cells, "id": str(index)} for index in range(100_000))
    assert header
    assert lines
    assert len(found_places(run)) == 100_000
    for place in range(49, 100_000, 1000):
        assert next(rows_at(run, [place]))["id"] == str(place)
