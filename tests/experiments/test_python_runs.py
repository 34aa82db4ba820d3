"""Experiments written in Python, run on a prompt by a child process and by the command line."""

from __future__ import annotations

import asyncio
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main
from promptls.experiments.client import plan_in_process, run_in_process
from promptls.experiments.history import last_run
from promptls.experiments.python.program import prepared_python
from promptls.experiments.python.program_runner import run_python
from promptls.experiments.python.request import python_request
from promptls.experiments.run_protocol import (
    Event,
    Finished,
    Planned,
    RowFinished,
    RunRequest,
    Started,
    Stopped,
)
from promptls.experiments.unfinished import unfinished_runs
from promptls.experiments.verdicts import failed_rows, unchanged_dataset
from promptls.ide.experiment_runs import experiment_runs
from promptls.text.errors import UserError
from promptls.workspace.workspace import Workspace
from support.grants import allow_key
from support.installed import is_installed
from support.unfinished import stored_results, unfinished_run

HAS_RAGAS = is_installed("ragas")
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
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A run works in its file's folder from then on; the test's end leads back.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "promptls.toml").write_text("")
    (tmp_path / "triage.yml.j2").write_text(PROMPT)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "evals.py").write_text(EVALS)
    return tmp_path


def request(project: Path, experiment: str = "triage", **more: Any) -> RunRequest:
    return RunRequest(prompt=str(project / "triage.yml.j2"), experiment=experiment, **more)


async def test_a_separate_process_executes_the_run_and_history_lists_it(project: Path) -> None:
    events: list[Event] = []
    finished = await run_in_process(request(project), events.append)
    assert isinstance(events[0], Planned)
    assert (events[0].rows, events[0].calls, events[0].question) == (4, 4, None)
    assert isinstance(events[1], Started)
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
    assert sorted(path.suffix for path in (project / "experiments").glob("[!.]*")) == [".csv", ".json"]
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
    assert sorted(result.id for result in stored_results(Path(stopped.path))) == ["0", "1", "2"]


def test_the_command_line_runs_it_and_asks_failed_rows_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = str(project / "triage.yml.j2")
    assert main(["run", prompt, "--experiment", "evals/evals.py:triage"]) == 1
    reported = capsys.readouterr().out
    assert "experiment `triage` of" in reported
    assert "RuntimeError: rate limit" in reported
    (run,) = (project / "experiments").glob("*.json")
    text = EVALS.replace("raise RuntimeError", "str")
    (project / "evals" / "evals.py").write_text(text.replace('"response": text', '"response": text * 2'))
    # The module is known by its file: another one is read anew.
    (project / "evals" / "evals.py").rename(project / "evals" / "again.py")
    values = json.loads(run.read_text())
    run.write_text(json.dumps({**values, "written_in": "../evals/again.py"}))
    assert main(["run", "--retry-errors", str(run)]) == 0
    latest = last_run(project / "triage.yml.j2")
    assert latest is not None
    with latest.results.open(encoding="utf-8", newline="") as stream:
        assert [row["response"] for row in csv.DictReader(stream)] == ["a", "bb", "cc", "dd"]
    assert [(metric.name, metric.scored) for metric in latest.metrics] == [("right", 4), ("length", 4)]


async def run_here(request: RunRequest) -> Finished:
    """Run in this process, which reads each Python file once; return the end of the run."""
    written = python_request(request)
    assert written is not None
    with prepared_python(written) as ready:
        return await run_python(ready, lambda _: None)


def responses(finished: Finished) -> dict[str, str]:
    """Return the responses in the table, by row number."""
    with Path(finished.results).open(encoding="utf-8", newline="") as stream:
        return {row["row_number"]: row.get("response", "") for row in csv.DictReader(stream)}


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [("2", "12"), ("1,3-4", "134"), ("text | length > 1", "24"), ("row_number == 4", "4")],
)
async def test_rows_are_chosen_as_those_of_any_experiment(rows: str, numbers: str, project: Path) -> None:
    evals = project / "evals" / "evals.py"
    evals.write_text(EVALS.replace("raise RuntimeError", "str"))
    finished = await run_here(request(project, rows=rows))
    assert "".join(responses(finished)) == numbers
    assert finished.manifest["dataset"]["rows"] == rows


async def test_the_rows_that_failed_are_run_alone_and_with_others_again(project: Path) -> None:
    first = await run_here(request(project))
    assert [number for number, response in responses(first).items() if not response] == ["3"]
    failing = await run_here(request(project, rows="failing"))
    assert list(responses(failing)) == ["3"]
    some = await run_here(request(project, rows="3-4"))
    retried = await run_here(RunRequest(retry_errors=some.manifest_path))
    assert list(responses(retried)) == ["3", "4"]
    assert retried.manifest["continues"] == some.manifest["run"]


async def test_a_budget_stops_it_and_a_resume_calls_only_for_what_is_left(project: Path) -> None:
    counted = EVALS.replace(
        "    text = load", "    print(row['id'], file=open('calls', 'a'))\n    text = load"
    )
    (project / "evals" / "evals.py").write_text(counted.replace("raise RuntimeError", "str"))
    with pytest.raises(UserError, match="the budget of 2 calls is spent after 2 of 4 rows"):
        await run_here(request(project, max_calls=2))
    journal = unfinished_run(project / "experiments")
    planned = await plan_in_process(RunRequest(resume=str(journal)))
    assert (planned.rows, planned.calls) == (4, 2)
    finished = await run_here(RunRequest(resume=str(journal)))
    assert list(responses(finished)) == ["1", "2", "3", "4"]
    assert sorted((project / "evals" / "calls").read_text().split()) == ["0", "1", "2", "3"]
    assert unfinished_runs(project / "experiments") == []
    assert Path(finished.results).name == f"{journal.name}.csv"


@pytest.mark.parametrize("changed", ["evals/evals.py", "triage.yml.j2"])
async def test_a_run_whose_function_or_prompt_changed_is_not_mixed_with_another(
    changed: str, project: Path
) -> None:
    with pytest.raises(UserError, match="budget"):
        await run_here(request(project, max_calls=2))
    journal = unfinished_run(project / "experiments")
    with (project / changed).open("a") as stream:
        stream.write("\n")
    with pytest.raises(UserError, match="changed after this run began"):
        await run_here(RunRequest(resume=str(journal)))
    assert len(list(stored_results(journal))) == 2


@pytest.mark.parametrize(
    ("column", "more", "said"),
    [
        ('"cost": 0.4,', {"max_cost": 1.0}, r"the budget of \$1.00 is spent after 3 of 4"),
        ("", {"max_cost": 1.0}, "`--max-cost` cannot be enforced: .* returns no number `cost`"),
        ('"input_tokens": 6,', {"max_tokens": 10}, "the budget of 10 tokens is spent after 2 of 4"),
        ("", {"max_tokens": 10}, "returns no number `input_tokens`"),
        ("", {"seed": 7}, "takes no `seed`"),
        ("", {"leave_one_out": True}, "whose prompts cannot be changed"),
        ("", {"ray_address": "127.0.0.1:1"}, "no Ray cluster can be reached"),
        ("", {"rows": "depth > 1"}, "cannot be evaluated for row 1"),
        ("", {"rows": "9,"}, "`9,` chooses row 9, but the dataset has 4 rows"),
    ],
)
async def test_enforceable_limits_are_enforced_and_others_rejected(
    column: str, more: dict[str, Any], said: str, project: Path
) -> None:
    text = EVALS.replace("raise RuntimeError", "str").replace('"response":', f'{column} "response":')
    (project / "evals" / "evals.py").write_text(text)
    with pytest.raises(UserError, match=said):
        await run_here(request(project, concurrency=1, **more))


async def test_no_key_is_stored_from_what_a_function_returns_or_raises(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-planted-3d1f84e6b07a92c5"
    monkeypatch.setenv("OFFICE_KEY", key)
    monkeypatch.setenv("OFFICE", key[::-1])
    (project / "promptls.toml").write_text(
        'environment = ["OFFICE_KEY"]\n'
        '[models.office]\nprovider = "openai"\nmodel = "small"\napi_key_env = "OFFICE"\n'
    )
    allow_key("OFFICE", "https://api.openai.com")
    text = EVALS.replace("import asyncio, json", "import asyncio, json, os")
    text = text.replace('"rate limit"', "os.environ['OFFICE_KEY']").replace(
        '"response": text', '"response": [{"said": os.environ["OFFICE_KEY"]}, os.environ["OFFICE"]]'
    )
    (project / "evals" / "evals.py").write_text(text)
    finished = await run_in_process(request(project), lambda _: None)
    written = [
        path.read_text("utf-8", "replace") for path in (project / "experiments").rglob("*") if path.is_file()
    ]
    assert not [content for content in written if key in content or key[::-1] in content]
    table = Path(finished.results).read_text("utf-8")
    assert "RuntimeError: [key]" in table
    assert '""said"": ""[key]""' in table


async def test_a_seed_reaches_the_function_and_a_retry(project: Path) -> None:
    text = EVALS.replace("experiment_name):", "experiment_name, seed=0):").replace(
        '"response": text', '"response": f"{seed}"'
    )
    (project / "evals" / "evals.py").write_text(text)
    first = await run_in_process(request(project, seed=7), lambda _: None)
    assert set(responses(first).values()) == {"7", ""}
    text = text.replace("raise RuntimeError", "str")
    (project / "evals" / "evals.py").write_text(text)
    again = await run_in_process(RunRequest(retry_errors=first.manifest_path), lambda _: None)
    assert set(responses(again).values()) == {"7"}


async def test_each_repeat_uses_the_next_seed_and_can_be_resumed(
    project: Path,
) -> None:
    text = EVALS.replace("experiment_name):", "experiment_name, seed=0):").replace(
        '"response": text', '"response": f"{text} {seed}"'
    )
    (project / "evals" / "evals.py").write_text(text)
    with pytest.raises(UserError, match="after 5 of 12 results"):
        await run_here(request(project, repeats=3, seed=7, max_calls=5, concurrency=1))
    journal = unfinished_run(project / "experiments")
    first = await run_here(RunRequest(resume=str(journal)))
    (project / "evals" / "evals.py").write_text(text.replace("raise RuntimeError", "str"))
    second = await run_in_process(RunRequest(retry_errors=first.manifest_path), lambda _: None)
    for finished, failed in ((first, 3), (second, 0)):
        rows = list(csv.DictReader(Path(finished.results).read_text("utf-8").splitlines()))
        assert [(row["row_number"], row["repeat"]) for row in rows] == [
            (str(number), str(repeat)) for number in (1, 2, 3, 4) for repeat in (1, 2, 3)
        ]
        good = [row["response"] for row in rows if not row["error"]]
        assert good[:3] == ["a 7", "a 8", "a 9"]
        assert len(good) == 12 - failed


async def test_many_rows_ask_first_where_nobody_knows_what_they_cost(project: Path) -> None:
    (project / "promptls.toml").write_text("[ask_above]\ncalls = 3\n")
    planned = await plan_in_process(request(project))
    assert planned.question == "The run calls `triage` for 4 rows, and what that costs is not known. Run it?"
    assert not list(project.glob("experiments/*"))


def test_a_dry_run_prints_the_plan_without_a_call(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", str(project / "triage.yml.j2"), "--experiment", "triage", "--dry-run"]
    assert main([*command, "--rows", "3"]) == 0
    assert "3 rows: 3 calls of the function" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 4
    assert not (project / "experiments").exists()


async def test_failing_rows_of_a_data_set_in_a_file_are_known_by_their_lines(project: Path) -> None:
    (project / "datasets").mkdir()
    (project / "datasets" / "tickets.csv").write_text("id,text\n0,a\n2,b\n")
    text = EVALS[: EVALS.index("def load_dataset")].replace('row["id"] == 2', 'row["id"] == "2"')
    text += 'def load_dataset():\n    return Dataset.load("tickets", "local/csv", root_dir="..")\n'
    (project / "evals" / "evals.py").write_text(text)
    await run_here(request(project))
    run = last_run(project / "triage.yml.j2")
    assert run is not None
    assert unchanged_dataset(run) == project / "datasets" / "tickets.csv"
    assert [(row.number, row.message) for row in failed_rows(run)] == [
        (2, "failed: RuntimeError: rate limit")
    ]


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
        (EVALS.replace("experiment_name):", "experiment_name, depth):"), "has no value for `depth`"),
        (EVALS.replace("def load_dataset", "def other").replace("Dataset(", "list("), "has no dataset"),
        (EVALS.replace("return Dataset(", "1 / 0; return Dataset("), "ZeroDivisionError"),
        (EVALS.replace("async def triage", "async def other"), "the file has no experiment `triage`"),
    ],
)
async def test_missing_values_are_reported_with_the_file(text: str, said: str, project: Path) -> None:
    evals = project / "evals" / "evals.py"
    evals.write_text(text if "@experiment" in text else f"{text}\n{EVALS}")
    with pytest.raises(UserError, match=said) as caught:
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
