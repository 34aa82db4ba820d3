from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from promptls.experiments.history import RunSummary
from promptls.results_view.results_client import ResultsProcess
from promptls.text.errors import UsageError, UserError
from support.finished_run import write_run

TABLE = "id,response,exact_match,error\na,yes,pass,\nb,no,fail,\n"


@pytest.fixture
async def results() -> AsyncIterator[ResultsProcess]:
    process = ResultsProcess()
    yield process
    await process.close()


@pytest.fixture
def run(tmp_path: Path) -> RunSummary:
    (tmp_path / "rows.csv").write_text("id\n", "utf-8")
    prompt = tmp_path / "ask.yml.j2"
    return write_run(prompt, "- name: a\n", TABLE, experiment="main", dataset=tmp_path / "rows.csv")


async def test_questions_at_once_get_their_own_answers(results: ResultsProcess, run: RunSummary) -> None:
    table = str(run.results)
    view, *pages = await asyncio.gather(
        results.ask("view", {"run": table}),
        *(results.ask("rows", {"run": table, "start": start, "count": 1}) for start in (0, 1)),
    )
    assert [each["path"] for each in view["runs"]] == [table]
    assert [page["rows"][0]["cells"]["id"] for page in pages] == ["a", "b"]


async def test_a_quick_view_has_the_scores_and_says_that_more_is_to_come(
    results: ResultsProcess, run: RunSummary
) -> None:
    arguments = {"run": str(run.results)}
    quick = await results.ask("view", {**arguments, "quick": True})
    whole = await results.ask("view", arguments)
    assert (quick["complete"], whole["complete"]) == (False, True)
    [early], [late] = quick["runs"][0]["metrics"], whole["runs"][0]["metrics"]
    assert early["text"] == late["text"] == "50 %"
    assert early["low"] is None
    assert late["low"] is not None


async def test_runs_of_other_prompts_beside_are_there_to_compare_with(
    results: ResultsProcess, run: RunSummary, tmp_path: Path
) -> None:
    others = [
        write_run(
            tmp_path / f"{stem}.yml.j2",
            "- name: a\n",
            TABLE,
            experiment="main",
            dataset=tmp_path / "rows.csv",
            name=f"20260101-00000{index}-{stem}",
        )
        for index, stem in enumerate(("ask", "ask_v2"))
    ]
    view = await results.ask("view", {"run": str(others[0].results)})
    assert [each["name"] for each in view["history"]] == ["20260101-000000-ask"]
    assert [(each["promptName"], each["path"]) for each in view["others"]] == [
        ("ask_v2.yml.j2", str(others[1].results))
    ]


async def test_a_wrong_question_is_answered_with_what_is_wrong(
    results: ResultsProcess, run: RunSummary
) -> None:
    with pytest.raises(UsageError, match="no column `nobody`"):
        await results.ask("rows", {"run": str(run.results), "filter": {"sort": "nobody"}})
    run.results.unlink()
    with pytest.raises(UsageError, match="the table of the run does not exist") as caught:
        await results.ask("rows", {"run": str(run.results)})
    assert caught.value.place is not None
    assert caught.value.place.path == str(run.results)


@pytest.mark.usefixtures("real_starts")
async def test_a_process_that_ends_fails_its_questions_and_the_next_one_starts_another(
    results: ResultsProcess, run: RunSummary
) -> None:
    await results.ask("rows", {"run": str(run.results)})
    assert results.pid is not None
    os.kill(results.pid, signal.SIGSTOP)
    failure, _ = await asyncio.gather(
        results.ask("rows", {"run": str(run.results)}), results.close(), return_exceptions=True
    )
    assert isinstance(failure, UserError)
    assert "the process that reads the results ended" in failure.message
    assert (await results.ask("rows", {"run": str(run.results)}))["total"] == 2


@pytest.mark.usefixtures("real_starts")
async def test_an_idle_process_ends(run: RunSummary) -> None:
    results = ResultsProcess(idle_seconds=0)
    await results.ask("rows", {"run": str(run.results)})
    await results.ended()
    assert results.pid is None
    assert (await results.ask("rows", {"run": str(run.results)}))["total"] == 2
    await results.close()
