from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from promptls.experiments.client import plan_in_process, run_in_process
from promptls.experiments.run_protocol import Event, Finished, Planned, RowFinished, Started, Stopped
from promptls.testset.generation import GENERATION, GenerationRequest
from promptls.text.errors import UserError
from support.library_documents import good_reply, theme_of, write_documents
from support.model_server import Reply, model_server


def request(folder: Path, url: str, **more: Any) -> GenerationRequest:
    (folder / "promptls.toml").write_text(
        f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{url}"\n', encoding="utf-8"
    )
    docs = str(write_documents(folder)) if not (folder / "docs").is_dir() else str(folder / "docs")
    return GenerationRequest(
        [docs], str(folder / "t.csv"), 4, "office", embeddings=False, base=str(folder), **more
    )


async def test_it_reports_plan_progress_and_end(tmp_path: Path) -> None:
    events: list[Event] = []
    with model_server() as server:
        server.reply = good_reply
        generation = request(tmp_path, server.url)
        planned = await plan_in_process(generation, GENERATION)
        assert (planned.rows, planned.calls, server.requests) == (4, 4, [])
        finished = await run_in_process(generation, events.append, program=GENERATION)
    assert [type(each) for each in events] == [Planned, Started, *[RowFinished] * 4, Finished]
    assert finished.manifest["message"] == "t.csv: 4 rows"
    assert (tmp_path / "t.csv").is_file()


async def test_a_cancelled_one_writes_nothing_and_pays_for_no_answer_twice(tmp_path: Path) -> None:
    events: list[Event] = []
    release = threading.Event()
    with model_server() as server:
        first: list[str] = []

        def reply(body: dict[str, Any]) -> Reply:
            first.append(theme_of(body))
            return good_reply(body) if len(first) == 1 else Reply(wait=release)

        server.reply = reply
        generation = request(tmp_path, server.url, concurrency=1)
        one_is_there = asyncio.Event()

        def see(event: Event) -> None:
            events.append(event)
            if isinstance(event, RowFinished):
                one_is_there.set()

        running = asyncio.ensure_future(run_in_process(generation, see, program=GENERATION))
        await asyncio.wait_for(one_is_there.wait(), 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        release.set()
        assert isinstance(events[-1], Stopped)
        assert not (tmp_path / "t.csv").exists()
        server.reply = good_reply
        server.requests.clear()
        finished = await run_in_process(generation, events.append, program=GENERATION)
        assert (finished.manifest["calls"], finished.manifest["cached"], len(server.requests)) == (3, 1, 3)


async def test_what_is_refused_before_it_begins_costs_nothing(tmp_path: Path) -> None:
    with model_server() as server:
        settings = request(tmp_path, server.url)
        (tmp_path / "promptls.toml").open("a").write("input_price = 9000\n[ask_above]\ncost = 0.1\n")

        async def no(_planned: Planned) -> bool:
            return False

        with pytest.raises(asyncio.CancelledError):
            await run_in_process(settings, lambda _event: None, no, program=GENERATION)
        assert server.requests == []


async def test_a_failure_comes_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("mine")
    with pytest.raises(UserError, match="the file already exists") as failure:
        await run_in_process(
            request(tmp_path, "http://127.0.0.1:9/v1"), lambda _event: None, program=GENERATION
        )
    assert failure.value.remedy
