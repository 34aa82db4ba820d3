"""Experiments written in Python, run on a prompt: by a process of their own, and by the command line."""

from __future__ import annotations

import asyncio
import csv
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main
from promptls.experiments.client import run_in_process
from promptls.experiments.events import Event, RowFinished, Started, Stopped
from promptls.experiments.history import last_run
from promptls.experiments.request import RunRequest
from promptls.features.experiment_runs import experiment_runs
from promptls.text.failure import Failure
from promptls.workspace.workspace import Workspace

HAS_RAGAS = importlib.util.find_spec("ragas") is not None
PROMPT = "- name: ticket\n  content: |\n    {{ escape_special_characters(text) }}\n"
EVALS = """
import asyncio, json
from promptls import Dataset, MetricResult, discrete_metric, experiment, load

print("what a module prints is nobody's business")

@discrete_metric(allowed_values=["correct", "incorrect"])
def right(prediction: str, expected: str):
    return "correct" if prediction == expected else "incorrect"

@experiment()
async def triage(row, prompt_file, experiment_name):
    text = load(prompt_file).format(text=row["text"])
    if row["id"] == 2:
        raise RuntimeError("rate limit")
    await asyncio.sleep(60 if row["text"] == "wait" else 0)
    return {
        "id": row["id"],
        "response": text,
        "right": right.score(prediction=text, expected=row["text"]).value,
        "length": MetricResult(len(text), "characters"),
        "experiment_name": experiment_name,
    }

def load_dataset():
    return Dataset("tickets", data=[{"id": n, "text": text} for n, text in enumerate(["a", "bb", "c", "dd"])])
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "promptls.toml").write_text("")
    (tmp_path / "triage.yml.j2").write_text(PROMPT)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "evals.py").write_text(EVALS)
    return tmp_path


def request(project: Path, experiment: str = "triage", **more: Any) -> RunRequest:
    return RunRequest(prompt=str(project / "triage.yml.j2"), experiment=experiment, **more)


async def test_a_process_of_its_own_runs_it_and_history_knows_the_run(project: Path) -> None:
    events: list[Event] = []
    finished = await run_in_process(request(project), events.append)
    assert isinstance(events[0], Started)
    rows = [event for event in events if isinstance(event, RowFinished)]
    assert sorted(event.id for event in rows) == ["0", "1", "2", "3"]
    assert [event.error for event in rows if event.error] == ["RuntimeError: rate limit"]

    table = list(csv.DictReader(Path(finished.results).read_text("utf-8").splitlines()))
    assert [row["response"] for row in table] == ["a", "bb", "", "dd"]
    assert (table[1]["length"], table[1]["length_reason"]) == ("2", "characters")
    assert table[0]["experiment_name"] == "triage"

    run = last_run(project / "triage.yml.j2", experiment="triage")
    assert run is not None
    assert (run.rows, run.failed, run.stale) == (4, 1, False)
    assert [(metric.name, metric.kind, metric.value) for metric in run.metrics] == [
        ("right", "discrete", 1.0),
        ("length", "numeric", pytest.approx(5 / 3)),
    ]
    assert sorted(path.suffix for path in (project / "experiments").iterdir()) == [".csv", ".json"]
    (project / "evals" / "evals.py").write_text(EVALS + "\n")
    changed = last_run(project / "triage.yml.j2", experiment="triage")
    assert changed is not None
    assert changed.stale


async def test_a_cancelled_run_keeps_its_finished_rows(project: Path) -> None:
    text = EVALS.replace('"dd"', '"wait"')
    (project / "evals" / "evals.py").write_text(text)
    events: list[Event] = []
    done = asyncio.Event()

    def see(event: Event) -> None:
        events.append(event)
        if isinstance(event, RowFinished) and event.done == 3:
            done.set()

    run = asyncio.ensure_future(run_in_process(request(project), see))
    await asyncio.wait_for(done.wait(), 30)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    lines = [json.loads(line) for line in Path(stopped.journal).read_text("utf-8").splitlines()]
    assert sorted(line["id"] for line in lines) == [0, 1, 2]


def test_the_command_line_runs_it_and_asks_failed_rows_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = str(project / "triage.yml.j2")
    assert main(["run", prompt, "--experiment", "evals/evals.py:triage"]) == 1
    told = capsys.readouterr().out
    assert "experiment `triage` of" in told
    assert "RuntimeError: rate limit" in told
    (run,) = (project / "experiments").glob("*.json")
    text = EVALS.replace("raise RuntimeError", "str")
    (project / "evals" / "evals.py").write_text(text.replace('"response": text', '"response": text * 2'))
    # The module is known by its file: another one is read anew.
    (project / "evals" / "evals.py").rename(project / "evals" / "again.py")
    values = json.loads(run.read_text())
    run.write_text(json.dumps({**values, "written_in": "../evals/again.py"}))
    assert main(["run", "--retry-errors", str(run)]) == 0
    newest = last_run(project / "triage.yml.j2")
    assert newest is not None
    with newest.results.open(encoding="utf-8", newline="") as stream:
        assert [row["response"] for row in csv.DictReader(stream)] == ["a", "bb", "cc", "dd"]
    assert [(metric.name, metric.scored) for metric in newest.metrics] == [("right", 4), ("length", 1)]


def test_only_the_first_rows_can_be_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["run", str(project / "triage.yml.j2"), "--experiment", "triage", "--rows", "2", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["totals"]["results"] == 2


def test_lenses_offer_it_on_the_prompt_with_its_last_scores(project: Path) -> None:
    workspace = Workspace([project])
    workspace.scan_calls()
    path = str(project / "triage.yml.j2")
    assert [(each.name, each.last) for each in experiment_runs(workspace.snapshot, path)] == [
        ("triage", None)
    ]
    main(["run", path, "--experiment", "triage", "--json"])
    (runs,) = experiment_runs(workspace.snapshot, path)
    assert runs.last is not None
    (project / "evals" / "evals.py").write_text("")
    workspace.python_changed(str(project / "evals" / "evals.py"))
    assert experiment_runs(workspace.snapshot, path) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_that_name", "No module named"),
        (EVALS.replace("experiment_name):", "experiment_name, depth):"), "nothing says what `depth`"),
        (EVALS.replace("def load_dataset", "def other").replace("Dataset(", "list("), "which data set"),
        (EVALS.replace("return Dataset(", "1 / 0; return Dataset("), "ZeroDivisionError"),
        (EVALS.replace("async def triage", "async def other"), "the file has no experiment `triage`"),
    ],
)
async def test_what_is_missing_is_said_with_the_file(text: str, said: str, project: Path) -> None:
    evals = project / "evals" / "evals.py"
    evals.write_text(text if "@experiment" in text else f"{text}\n{EVALS}")
    with pytest.raises(Failure, match=said) as caught:
        await run_in_process(request(project, "evals/evals.py:triage"), lambda _: None)
    assert caught.value.place is not None
    assert str(caught.value.place.path).endswith("evals.py")
    assert not list(project.glob("experiments/*.csv"))


@pytest.mark.skipif(not HAS_RAGAS, reason="ragas is not installed")
async def test_an_experiment_of_ragas_itself_runs(project: Path) -> None:
    text = EVALS.replace(
        "from promptls import Dataset, MetricResult, discrete_metric, experiment, load",
        "from promptls import load\nfrom ragas import Dataset, experiment\n"
        "from ragas.metrics import discrete_metric\nfrom ragas.metrics.result import MetricResult",
    ).replace('Dataset("tickets", data=', 'Dataset("tickets", "inmemory", data=')
    (project / "evals" / "evals.py").write_text(text)
    finished = await run_in_process(request(project), lambda _: None)
    metrics = {metric["name"]: metric["value"] for metric in finished.manifest["metrics"]}
    assert metrics == {"right": 1.0, "length": pytest.approx(5 / 3)}
