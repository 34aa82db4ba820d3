from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, ClientSession, StdioServerParameters, stdio_client

from promptls.mcp.folder import Folder
from promptls.mcp.server import create_server
from support.experiment_folder import Folder as Experiment
from support.model_server import ModelServer, Reply, model_server

PRICED = """\
[models.office]
provider = "openai"
model = "m"
base_url = "{url}/v1"
input_price = 1.0
output_price = 1.0
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        running.reply = lambda body: Reply(body["messages"][-1]["content"])
        yield running


@pytest.fixture
def experiment(folder: Path) -> Experiment:
    return Experiment(folder).write()


@pytest.fixture
def paid(folder: Path, server: ModelServer) -> Experiment:
    """Return an experiment whose model costs money."""
    (folder / "promptls.toml").write_text(PRICED.format(url=server.url))
    return Experiment(folder).write(model="office", settings="concurrency: 1")


async def call(name: str, max_cost: float | None = None, **arguments: Any) -> Any:
    async with Client(create_server(Folder(Path.cwd(), max_cost=max_cost))) as client:
        return await client.call_tool(name, arguments)


async def run(**arguments: Any) -> Any:
    return await call("run_experiment", file="ask.yml.j2", **arguments)


async def test_a_run_answers_with_scores_and_worst_rows(experiment: Experiment) -> None:
    answer = await run()
    assert not answer.is_error, answer.content[0].text
    assert [metric["name"] for metric in answer.structured_content["metrics"]] == ["right", "length"]


async def test_progress_is_reported_row_by_row(experiment: Experiment) -> None:
    seen: list[float] = []

    async def keep(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)

    async with Client(create_server(Folder(Path.cwd()))) as client:
        await client.call_tool("run_experiment", {"file": "ask.yml.j2"}, progress_callback=keep)
    assert seen
    assert seen == sorted(seen)


async def test_a_plan_asks_no_model(paid: Experiment, server: ModelServer) -> None:
    answer = await run(plan_only=True)
    assert answer.structured_content["calls"] == 4
    assert server.requests == []


async def test_nothing_of_an_untrusted_folder_runs(untrusted: Path) -> None:
    Experiment(untrusted).write()
    (untrusted / "metrics.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    answer = await run()
    assert answer.is_error
    assert "promptls trust" in answer.structured_content["error"]["remedy"]
    assert not (untrusted / "ran").exists()
    assert not (untrusted / "experiments").exists()


async def test_functions_of_an_untrusted_folder_do_not_run(untrusted: Path) -> None:
    (untrusted / "functions.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    text = "{#---\nfunctions: functions.py\n---#}\n- name: a\n  role: user\n  content: Hi {{ f() }}\n"
    (untrusted / "a.yml.j2").write_text(text)
    for tool, arguments in (
        ("check_prompts", {}),
        ("render_prompt", {"file": "a.yml.j2"}),
        ("count_tokens", {}),
        ("preview_changes", {"file": "a.yml.j2"}),
    ):
        await call(tool, **arguments)
    assert not (untrusted / "ran").exists()


async def test_a_model_elsewhere_needs_a_budget(paid: Experiment, server: ModelServer) -> None:
    answer = await run()
    assert answer.is_error
    assert "needs a budget" in answer.structured_content["error"]["message"]
    assert server.requests == []


async def test_a_run_stops_at_its_budget(paid: Experiment, server: ModelServer) -> None:
    answer = await run(max_calls=2)
    assert answer.is_error
    assert len(server.requests) == 2


async def test_runs_of_a_session_share_its_budget(paid: Experiment, server: ModelServer) -> None:
    async with Client(create_server(Folder(Path.cwd(), max_cost=1e-9, paid=1e-9))) as client:
        answer = await client.call_tool("run_experiment", {"file": "ask.yml.j2", "max_calls": 9})
    assert "budget of this session" in answer.structured_content["error"]["message"]
    assert server.requests == []


async def test_a_model_that_the_experiment_does_not_declare_is_refused(experiment: Experiment) -> None:
    answer = await run(models=["openai:gpt-4.1"])
    assert "does not declare" in answer.structured_content["error"]["message"]


async def test_a_key_is_not_sent_without_a_grant(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFICE_KEY", "sk-planted-0123456789abcdef")
    (folder / "promptls.toml").write_text(PRICED.format(url=server.url) + 'api_key_env = "OFFICE_KEY"\n')
    Experiment(folder).write(model="office")
    answer = await run(max_calls=2)
    assert "promptls trust --key" in answer.structured_content["error"]["remedy"]
    assert server.requests == []


def write_python_experiment(folder: Path) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  role: user\n  content: Hi\n")
    (folder / "evals.py").write_text(
        "from pathlib import Path\nfrom promptls import experiment\n\nPath('ran').touch()\n\n"
        "@experiment()\nasync def spend(row, prompt_file: str):\n    return {'id': row['id']}\n\n"
        "def load_dataset():\n    return [{'id': 1}]\n"
    )


async def test_a_python_experiment_without_a_key_runs(folder: Path) -> None:
    write_python_experiment(folder)
    answer = await call("run_experiment", file="a.yml.j2", experiment="evals.py:spend")
    assert not answer.is_error, answer.content[0].text
    assert answer.structured_content["rows"] == 1


async def test_a_python_experiment_with_a_key_is_left_to_the_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFICE_KEY", "sk-planted-0123456789abcdef")
    write_python_experiment(folder)
    (folder / "promptls.toml").write_text('environment = ["OFFICE_KEY"]\n')
    answer = await call("run_experiment", file="a.yml.j2", experiment="evals.py:spend", max_calls=1)
    assert "no budget can be enforced" in answer.structured_content["error"]["message"]
    assert not (folder / "ran").exists()


async def test_results_are_read_worst_first(experiment: Experiment) -> None:
    await run()
    answer = await call("read_results", run="ask.yml.j2", count=1)
    (row,) = answer.structured_content["rows"]
    assert row["scores"]["right"]["score"] == "no"
    assert answer.structured_content["total"] == 4


SHORT = """
@discrete_metric(name="short", allowed_values=["yes", "no"])
def short(response):
    return "no" if response.endswith("4") else "yes"
"""


async def test_rows_that_fail_more_metrics_are_read_first(experiment: Experiment, folder: Path) -> None:
    experiment.write(metrics="metrics.py:right, metrics.py:short")
    with (folder / "metrics.py").open("a") as file:
        file.write(SHORT)
    answer = await run()
    assert [row["row"] for row in answer.structured_content["worst"]] == ["4", "2"]


async def test_a_number_of_rows_may_be_a_number(experiment: Experiment) -> None:
    assert (await run(rows=2)).structured_content["rows"] == 2


async def test_a_page_behind_the_last_row_says_how_many_there_are(experiment: Experiment) -> None:
    await run()
    answer = await call("read_results", run="ask.yml.j2", start=50)
    assert "no rows after row 50 of 4" in answer.content[0].text


async def test_a_prompt_without_a_run_is_answered_with_the_tool(experiment: Experiment) -> None:
    answer = await call("read_results", run="ask.yml.j2")
    assert answer.is_error
    assert "run_experiment makes one" in answer.content[0].text


async def test_rows_with_numbers_alone_are_all_read_the_lowest_first(folder: Path) -> None:
    Experiment(folder).write(metrics="metrics.py:length")
    await run()
    answer = await call("read_results", run="ask.yml.j2", show="failing")
    scores = [float(row["scores"]["length"]["score"]) for row in answer.structured_content["rows"]]
    assert len(scores) == 4
    assert scores == sorted(scores)


async def test_runs_are_listed_newest_first(experiment: Experiment) -> None:
    first = (await run()).structured_content["run"]
    second = (await run()).structured_content["run"]
    listed = (await call("list_runs")).structured_content["runs"]
    assert [each["run"] for each in listed] == [second, first]


async def test_an_agent_improves_a_prompt_and_proves_it(folder: Path) -> None:
    # The whole story as a client process sees it.
    experiment = Experiment(folder).write(rows=24)
    experiment.prompt.write_text(experiment.prompt.read_text("utf-8").replace("{{ e", "Say {{ e"), "utf-8")
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "promptls", "mcp"], cwd=str(folder), env=dict(os.environ)
    )
    async with stdio_client(command) as streams, ClientSession(*streams) as session:
        await session.initialize()

        async def tool(name: str, **arguments: Any) -> Any:
            answer = await session.call_tool(name, arguments)
            assert not answer.is_error, answer.content[0].text
            return answer.structured_content

        prompt = experiment.prompt.name
        before = await tool("run_experiment", file=prompt, rows="20")
        worst = await tool("read_results", run=before["run"], count=3)
        assert worst["rows"][0]["scores"]["right"]["score"] == "no"
        edited = await tool("edit_prompt", file=prompt, old="Say {{ e", new="{{ e")
        assert edited["findings"] == []
        after = await tool("run_experiment", file=prompt, rows="20")
        compared = await tool("compare_runs", before=before["run"], after=after["run"])
    right = next(each for each in compared["metrics"] if each["metric"] == "right")
    assert right["verdict"] == "better"
