"""Experiments on a real Ray cluster of two nodes: same files, same resuming."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main
from promptls.experiments.budget import BudgetSpentError
from promptls.experiments.run_protocol import Event, RowFinished, Stopped
from promptls.models import ray_cluster
from promptls.models.model import ModelError
from promptls.models.model_names import find_model
from promptls.models.openai_compatible import OpenAiCompatible
from promptls.models.ray_cluster import RayCluster, RayModel, connected_cluster
from promptls.text.errors import UserError
from support.experiment_folder import Folder, last_text, table
from support.model_server import ModelServer, Reply
from support.unfinished import unfinished_run
from support.waiting import wait_until

ray: Any = pytest.importorskip("ray")

pytestmark = pytest.mark.ray

KEY = "sk-planted-5f2c9a7e41d08b36"


@pytest.fixture(scope="module")
def address(cluster: Any) -> Iterator[str]:
    """Connect this process to the cluster; return the cluster's address."""
    ray.init(cluster.address, log_to_driver=False, logging_level="CRITICAL")
    yield cluster.address
    ray.shutdown()


def without_times(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


async def test_a_run_leaves_the_same_files_as_one_of_this_machine(
    folder: Folder, server: ModelServer, address: str
) -> None:
    folder.serve(server).write(
        model="office, echo", rows=8, settings="concurrency: 4\n    repeats: 2\n    engine: ray"
    )
    server.reply = lambda body: Reply(
        f"to {last_text(body)}", status=400 if last_text(body) == "text 3" else 200
    )
    spread = await folder.ask(fresh=True, ray_address=address)
    counts = Counter(map(last_text, server.requests))
    alone = await folder.ask(fresh=True, engine="local")
    assert without_times(table(spread)) == without_times(table(alone))
    assert Counter(map(last_text, server.requests)) == counts + counts
    assert (spread.manifest["settings"]["engine"], alone.manifest["settings"]["engine"]) == ("ray", "local")
    for part in ("metrics", "rendered_hash", "models", "dataset"):
        assert spread.manifest[part] == alone.manifest[part]
    from_the_cache = await folder.ask()
    assert table(from_the_cache)[0]["response"] == "to text 1"
    assert (
        sum(Counter(map(last_text, server.requests)).values()) == 2 * counts.total() + 2
    )  # those that failed


async def test_judges_are_asked_from_the_nodes_too(
    folder: Folder, server: ModelServer, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def here(*_words: object, **_more: object) -> None:
        pytest.fail("the judge is asked from this process")

    monkeypatch.setenv("OFFICE_KEY", KEY)
    monkeypatch.setattr(OpenAiCompatible, "complete", here)
    folder.serve(server, api_key_env="OFFICE_KEY").write(metrics="polite, alike")
    with (folder.path / "promptls.toml").open("a", encoding="utf-8") as stream:
        stream.write('\n[metrics.polite]\nuse = "aspect_critic"\nmodel = "office"\ndefinition = "Polite?"\n')
        stream.write('[metrics.alike]\nuse = "semantic_similarity"\nembeddings = "office"\n')

    def reply(body: dict[str, Any]) -> Reply:
        if "input" in body:
            return Reply(raw=b'{"data": [{"index": 0, "embedding": [1, 0]}], "usage": {"prompt_tokens": 3}}')
        return Reply('{"reason": "so it is", "verdict": true}')

    server.reply = reply
    finished = await folder.ask(engine="ray", ray_address=address)
    assert [(row["polite"], row["alike"]) for row in table(finished)] == [("pass", "1.0")] * 4
    assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}


async def test_a_budget_stops_a_run_and_resume_continues_it(
    folder: Folder, server: ModelServer, address: str
) -> None:
    folder.serve(server).write(model="office", rows=9, settings="concurrency: 2")
    with pytest.raises(BudgetSpentError):
        await folder.ask(max_calls=4, engine="ray", ray_address=address)
    journal = unfinished_run(folder.results)
    finished = await folder.ask(resume=str(journal))
    assert finished.manifest["settings"]["engine"] == "ray"
    assert [row["id"] for row in table(finished)] == [f"r{number}" for number in range(1, 10)]
    assert len(server.requests) == 9


async def test_a_cancelled_run_keeps_its_rows(folder: Folder, server: ModelServer, address: str) -> None:
    folder.serve(server).write(model="office", rows=9, settings="concurrency: 2")
    server.reply = lambda body: Reply("ok", pause=0 if last_text(body) in {"text 1", "text 2"} else 20)
    events: list[Event] = []
    two = asyncio.Event()

    def see(event: Event) -> None:
        events.append(event)
        if isinstance(event, RowFinished) and event.done == 2:
            two.set()

    run = asyncio.ensure_future(folder.ask(see, engine="ray", ray_address=address))
    await asyncio.wait_for(two.wait(), 60)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert isinstance(events[-1], Stopped)
    assert events[-1].done == 2


@pytest.mark.usefixtures("real_starts")
def test_a_killed_run_resumes_without_losing_or_repeating_rows(
    folder: Folder, server: ModelServer, cluster: Any
) -> None:
    rows, at_once = 24, 4
    limit = rows // 2
    server.reply = lambda body: Reply(
        f"to {last_text(body)}", pause=0.01 if len(server.requests) <= limit else 20
    )
    folder.serve(server).write(model="office", rows=rows, settings=f"concurrency: {at_once}")
    command = [sys.executable, "-m", "promptls", "run", "--engine", "ray", "--ray-address", cluster.address]
    run = subprocess.Popen(
        [*command, str(folder.prompt)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while len(server.requests) <= limit:
        assert run.poll() is None
        server.received.clear()
        server.received.wait(30)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    server.reply = lambda body: Reply(f"to {last_text(body)}")
    journal = unfinished_run(folder.results)
    subprocess.run([*command, "--resume", str(journal)], check=True, capture_output=True)
    (results,) = folder.results.glob("*.csv")
    assert [line.split(",")[0] for line in results.read_text("utf-8").splitlines()[1:]] == [
        f"r{number}" for number in range(1, rows + 1)
    ]
    assert rows <= len(server.requests) <= rows + at_once


def test_a_key_reaches_the_models_and_no_log_or_file(
    folder: Folder, server: ModelServer, cluster: Any
) -> None:
    folder.serve(server, api_key_env="OFFICE_KEY").write(model="office")
    server.reply = lambda _body: Reply(f"your key is {KEY}")
    done = subprocess.run(
        [sys.executable, "-m", "promptls", "run", str(folder.prompt), "--engine", "ray"],
        env={**os.environ, "OFFICE_KEY": KEY, "RAY_ADDRESS": cluster.address},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    session = Path(cluster.head_node.get_session_dir_path())
    assert list(session.glob("logs/*"))
    written = [path for top in (session, folder.path) for path in top.rglob("*") if path.is_file()]
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in done.stdout + done.stderr


async def opened(address: str, *models: str, base: Path | None = None) -> RayCluster:
    return await connected_cluster([find_model(model, base=base) for model in models], address, 9)


async def asked(cluster: RayCluster, model: str) -> str:
    messages = [{"role": "user", "content": "Say hello."}]
    opened_model = RayModel(cluster, model)
    return (await opened_model.complete(messages, parameters={"max_tokens": 3}, json_schema=None)).text


def is_dead(actor: Any) -> bool:
    try:
        ray.get(actor.__ray_ready__.remote())
    except ray.exceptions.RayActorError:
        return True
    return False


async def test_a_lost_node_is_a_failure_that_passes_and_others_answer(address: str) -> None:
    cluster = await opened(address, "echo")
    try:
        lost, _ = cluster._workers
        ray.kill(lost.actor)
        wait_until(lambda: is_dead(lost.actor))
        with pytest.raises(ModelError, match="was lost") as failure:
            await asked(cluster, "echo")
        assert failure.value.retryable
        assert await asked(cluster, "echo") == "Say hello."
        assert len(cluster._workers) == 1
    finally:
        await cluster.close()


@pytest.mark.model
async def test_each_node_loads_its_own_local_model(address: str) -> None:
    cluster = await opened(address, "local:smollm2")
    try:
        assert cluster.max_at_once("local:smollm2") == 2
        answers = await asyncio.gather(*(asked(cluster, "local:smollm2") for _ in range(2)))
        assert all(answers)
    finally:
        await cluster.close()


async def test_a_model_missing_on_a_node_is_reported_with_the_node(address: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"on the node \d"):
        await opened(address, "replay:nothing.csv", base=tmp_path)


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("127.0.0.1:1", 1, "no Ray cluster can be reached at `127.0.0.1:1`: connection refused"),
        ("nowhere", 2, "`nowhere` is not an address of a Ray cluster"),
    ],
)
def test_an_unreachable_address_is_reported_before_any_call(
    address: str, code: int, said: str, folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(folder.prompt), "--ray-address", address]) == code
    assert said in capsys.readouterr().err
    assert not folder.results.exists() or not list(folder.results.glob("*.jsonl"))


async def test_without_ray_it_says_what_to_install(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _name: None)
    with pytest.raises(UserError, match="needs the package `ray`") as failure:
        await folder.ask(engine="ray")
    assert failure.value.remedy == 'run `pip install "promptls[ray]"`'
