from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main
from promptls.cli.pages import page_server
from promptls.cli.pages.live_results import LiveResults
from promptls.cli.pages.page_server import Page
from promptls.results_view.results_client import ResultsProcess
from support.experiment_folder import Folder
from support.page_reader import Reader, reading_page, write_pages


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Return an experiment over four rows that has not been run; two will be correct."""
    write_pages(tmp_path / "pages")
    monkeypatch.setattr(page_server, "FOLDER", tmp_path / "pages")
    (tmp_path / "project").mkdir()
    return Folder(tmp_path / "project").write(metrics="exact_match", settings="concurrency: 2")


@asynccontextmanager
async def reading(folder: Folder) -> AsyncIterator[Reader]:
    """Connect to the page of the last run of the folder's prompt."""
    process = ResultsProcess()
    live = LiveResults({"path": str(folder.prompt)}, folder.results, process)
    watching = asyncio.ensure_future(live.watch())
    try:
        async with reading_page([Page("results", "promptls results", live.converse)], "results") as page:
            yield page
    finally:
        watching.cancel()
        await live.close()
        await process.close()


async def whole_view(page: Reader, *, rows: int) -> dict[str, Any]:
    """Wait for the next complete view of a run with this number of rows."""
    while True:
        view: dict[str, Any] = (await page.received())["view"]
        if view["complete"] and view["runs"][-1]["rows"] == rows:
            return view


async def test_a_page_is_shown_the_last_run_and_each_one_that_ends(folder: Folder) -> None:
    async with reading(folder) as page:
        await page.send(type="ready")
        assert (await page.received("nothing"))["name"] == folder.prompt.name
        first = await folder.ask()
        await whole_view(page, rows=4)
        await folder.ask(rows=2)
        partial = await whole_view(page, rows=2)
        await folder.ask()
        second = await whole_view(page, rows=4)
    # A partial run has no baseline, and is none.
    assert len(partial["runs"]) == 1
    assert [run["path"] for run in second["runs"][:-1]] == [first.results]
    assert second["comparisons"][0]["pairs"] == 4
    assert [run["isComparable"] for run in second["history"]] == [True, False, True]


async def test_a_page_that_shows_an_older_run_stays_with_it(folder: Folder) -> None:
    older = await folder.ask(rows=2)
    await folder.ask(rows=3)
    async with reading(folder) as page:
        await page.send(type="choose", run=older.results, against=[])
        await whole_view(page, rows=2)
        await folder.ask()
        view = await whole_view(page, rows=2)
        while len(view["history"]) < 3:
            view = await whole_view(page, rows=2)
    assert view["runs"][-1]["path"] == older.results


async def test_selected_rows_are_run_again_once_the_reader_says_yes(folder: Folder) -> None:
    await folder.ask()
    again = {"type": "runAgain", "prompt": str(folder.prompt), "experiment": "main", "rows": "2,4,"}
    async with reading(folder) as page:
        await page.send(type="ready")
        await whole_view(page, rows=4)
        await page.send(**again)
        question = await page.received("question")
        assert question["title"] == "Run 2 rows of main again?"
        assert "2 calls to make" in question["message"]
        await page.send(type="confirm", id=question["id"], yes=False)
        await page.send(**again)
        question = await page.received("question")
        await page.send(type="confirm", id=question["id"], yes=True)
        view = await whole_view(page, rows=2)
    assert view["runs"][-1]["rowsChosen"] == "2,4,"
    assert len(list(folder.results.glob("*.csv"))) == 2


async def test_a_partial_run_is_completed_from_its_page(folder: Folder) -> None:
    partial = await folder.ask(rows=2)
    async with reading(folder) as page:
        await page.send(type="ready")
        view = await whole_view(page, rows=2)
        assert view["runs"][-1]["canComplete"]
        await page.send(type="runAgain", prompt=str(folder.prompt), complete=partial.results)
        question = await page.received("question")
        assert question["title"] == "Run the rows of main that were left out?"
        assert "2 calls to make" in question["message"]
        await page.send(type="confirm", id=question["id"], yes=True)
        view = await whole_view(page, rows=4)
    assert view["runs"][-1]["isComplete"]


async def test_a_prompt_that_has_not_been_run_is_run_from_its_page(folder: Folder) -> None:
    async with reading(folder) as page:
        await page.send(type="ready")
        nothing = await page.received("nothing")
        await page.send(type="runAgain", prompt=nothing["prompt"])
        question = await page.received("question")
        await page.send(type="confirm", id=question["id"], yes=True)
        view = await whole_view(page, rows=4)
    assert view["runs"][-1]["experiment"] == "main"


async def test_only_a_prompt_whose_runs_are_shown_is_run(folder: Folder, tmp_path: Path) -> None:
    await folder.ask()
    (tmp_path / "elsewhere").mkdir()
    other = Folder(tmp_path / "elsewhere").write()
    async with reading(folder) as page:
        await page.send(type="ready")
        await whole_view(page, rows=4)
        await page.send(type="runAgain", prompt=str(other.prompt), experiment="main")
        assert "only the prompts whose runs are shown" in (await page.received("fail"))["message"]
    assert not other.results.exists()


async def test_a_note_is_stored_beside_the_run_and_exported(folder: Folder) -> None:
    run = (await folder.ask()).results
    async with reading(folder) as page:
        note = {"run": run, "place": 1, "thumb": "down", "text": "no"}
        assert (await page.answer("note", note))["notes"] == {"1": {"thumb": "down", "text": "no"}}
        found = await page.answer("export", {"run": run, "filter": {"noted": True}, "form": "csv"})
    (row,) = csv.DictReader(io.StringIO(found["text"]))
    assert (row["id"], row["thumb"], row["note"]) == ("r2", "down", "no")
    kept = json.loads(Path(run).with_suffix(".notes.json").read_text("utf-8"))
    assert kept["rows"]["1"]["text"] == "no"


async def test_rubbish_from_a_page_is_passed_over(folder: Folder) -> None:
    await folder.ask()
    async with reading(folder) as page:
        await page.connection.send("no json")
        await page.send(type="choose", run=7)
        await page.send(type="confirm", id=[], yes=True)
        await page.send(type="cancelRun", id={})
        await page.send(type="runAgain", prompt=7)
        assert "there is no question" in await page.answer("view", {"path": "/etc/passwd"})
        await page.send(type="ready")
        await whole_view(page, rows=4)


@pytest.mark.parametrize("words", [[], ["20260101-000000-nothing"], ["nothing.yml.j2"]])
def test_a_run_that_is_not_there_is_refused_before_anything_is_served(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(folder.path)
    assert main(["results", "--no-open", *words]) == 2
    assert "there is no run" in capsys.readouterr().err


def test_a_folder_without_runs_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["history"]) == 1
    assert capsys.readouterr().out.splitlines() == ["no run in experiments yet: promptls run FILE"]


async def test_the_runs_of_folders_below_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        await Folder(tmp_path / name).write().ask()
    monkeypatch.chdir(tmp_path)

    assert main(["history", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {run["prompt"] for run in listed} == {
        str(tmp_path / name / "ask.yml.j2") for name in ("first", "second")
    }
    assert not (tmp_path / "experiments").exists()
