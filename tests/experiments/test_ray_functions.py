"""Experiments that are Python functions on a real Ray cluster of two nodes: same files, same resuming."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main
from promptls.experiments.python.ray_function_worker import FunctionWorker, SentFunction
from promptls.text.errors import UserError
from support.model_server import ModelServer, Reply
from support.unfinished import unfinished_run
from support.waiting import wait_until

ray: Any = pytest.importorskip("ray")

pytestmark = pytest.mark.ray

KEY = "sk-planted-72c4d0e918fb3a65"
PROMPT = "- name: ticket\n  role: user\n  content: |\n    {{ escape_special_characters(text) }}\n"
EVALS = """
import json, os, urllib.request
from promptls import Dataset, MetricResult, discrete_metric, experiment, load
from wording import polite

@discrete_metric(allowed_values=["correct", "incorrect"])
def right(prediction: str, expected: str):
    return MetricResult("correct" if prediction == expected else "incorrect", f"got {prediction}")

@experiment()
def triage(row, prompt_file):
    text = polite(load(prompt_file).format(text=row["text"]))
    if row["text"] == "broken":
        raise RuntimeError("no " + os.environ["OFFICE_KEY"])
    body = json.dumps({"model": "small", "messages": [{"role": "user", "content": text}]}).encode()
    request = urllib.request.Request(os.environ["OFFICE_URL"] + "/chat/completions", body)
    with urllib.request.urlopen(request) as answer:
        said = json.load(answer)["choices"][0]["message"]["content"]
    return {
        "id": row["id"],
        "response": said,
        "right": right.score(prediction=said, expected=row["text"]),
        "process": os.getpid(),
    }

def load_dataset():
    texts = ["a", "bb", "broken", "dd", "e", "ff", "g", "hh"]
    return Dataset("tickets", data=[{"id": n, "text": text} for n, text in enumerate(texts, start=1)])
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OFFICE_URL", server.url)
    monkeypatch.setenv("OFFICE_KEY", KEY)
    server.reply = lambda body: Reply(body["messages"][0]["content"].removeprefix("please: "))
    (tmp_path / "promptls.toml").write_text('environment = ["OFFICE_URL", "OFFICE_KEY"]\n', encoding="utf-8")
    (tmp_path / "triage.yml.j2").write_text(PROMPT, encoding="utf-8")
    (tmp_path / "wording.py").write_text("def polite(text):\n    return 'please: ' + text.strip()\n")
    (tmp_path / "evals.py").write_text(EVALS, encoding="utf-8")
    return tmp_path


def command(cluster: Any, *more: str) -> list[str]:
    words = [*(more or ("triage.yml.j2", "--experiment", "triage")), "--engine", "ray"]
    return [sys.executable, "-m", "promptls", "run", *words, "--ray-address", cluster.address]


def lines(project: Path) -> list[dict[str, str]]:
    latest = max((project / "experiments").glob("*.csv"))
    with latest.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_function_is_called_on_the_nodes_and_leaves_the_same_files(project: Path, cluster: Any) -> None:
    done = subprocess.run(command(cluster), check=False, capture_output=True, text=True)
    assert "8 rows on Ray: 8 calls of the function" in done.stdout, done.stderr
    spread = lines(project)
    assert main(["run", "triage.yml.j2", "--experiment", "triage"]) == done.returncode == 1
    alone = lines(project)
    assert len({line["process"] for line in spread if line["process"]}) == 2
    assert len({line["process"] for line in alone if line["process"]}) == 1
    for line in (*spread, *alone):
        del line["process"]
    assert spread == alone
    assert [line["right"] for line in spread] == ["correct"] * 2 + [""] + ["correct"] * 5
    assert spread[2]["error"] == "RuntimeError: no [key]"
    everything = [path.read_bytes() for path in project.rglob("*") if path.is_file()]
    assert not [content for content in everything if KEY.encode() in content]


@pytest.mark.usefixtures("real_starts")
def test_a_killed_run_resumes_without_repeating_finished_rows(
    project: Path, cluster: Any, server: ModelServer
) -> None:
    (project / "evals.py").write_text(EVALS.replace('"broken", ', '"cc", '))
    answer = server.reply
    server.reply = lambda body: Reply(answer(body).content, pause=0 if len(server.requests) <= 4 else 20)
    run = subprocess.Popen(command(cluster), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(server.requests) > 5 or run.poll() is not None)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    server.reply = answer
    server.stop.set()
    journal = unfinished_run(project / "experiments")
    done = subprocess.run(
        command(cluster, "--resume", str(journal)), check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "2 calls were in flight when the run was interrupted" in done.stdout
    assert [line["id"] for line in lines(project)] == [str(number) for number in range(1, 9)]
    counts = Counter(body["messages"][0]["content"] for body in server.requests)
    assert sorted(counts.values()) == [1] * 6 + [2] * 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("evals.py", "the file `evals.py` of the experiment is different on this node"),
        ("other.py", "the file `other.py` of the experiment does not exist on this node"),
    ],
)
async def test_a_file_that_differs_on_a_node_is_reported(project: Path, name: str, said: str) -> None:
    sent = SentFunction(str(project / name), b"other", "triage", [{}], None)
    opened = await FunctionWorker().open(sent, {})
    assert isinstance(opened, UserError)
    assert (opened.message, "on every node" in str(opened.remedy)) == (said, True)
