"""The how-to about evaluating and improving a prompt, starting with its text file."""

from __future__ import annotations

import asyncio
import csv
import importlib.util
import sys
from pathlib import Path

import pytest

from promptls.cli.main import main

PROMPT_V1 = """\
Sort a short support ticket into one or more labels and one priority.

Labels: Billing, Account, HowTo.
Priority: P0 (blocked), P1 (needs help), P2 (minor).

Return exactly in JSON:
{"labels":[<labels>], "priority":"P0"|"P1"|"P2"}
"""
PROMPT_V2 = f"{PROMPT_V1}\nInput: 'Charged twice.'\nOutput: " + '{"labels":["Billing"], "priority":"P1"}\n'
TICKETS = """\
id,text,labels,priority
1,Charged twice,Billing,P1
2,Login loops,Account,P0
3,Dark mode?,HowTo,P2
"""

RUN_PROMPT = """
from promptls import load


def run_prompt(text, prompt_file):
    asked = load(prompt_file).render().string
    is_new = "Output:" in asked
    found = {"Charged twice": ("Billing", "P1"), "Login loops": ("Account", "P0" if is_new else "P1")}
    labels, priority = found.get(text, ("HowTo", "P2"))
    return '{"labels": ["%s"], "priority": "%s"}' % (labels, priority)
"""
EVALS = """
import asyncio, json
from pathlib import Path
from promptls import Dataset, experiment
from promptls.metrics.discrete import discrete_metric
from promptls.metrics.metric import MetricResult
from run_prompt import run_prompt


@discrete_metric(name="labels_exact_match", allowed_values=["correct", "incorrect"])
def labels_exact_match(prediction: str, expected_labels: str):
    found = set(json.loads(prediction).get("labels", []))
    is_same = found == set(expected_labels.split(";"))
    return MetricResult(value="correct" if is_same else "incorrect", reason=f"got {sorted(found)}")


@discrete_metric(name="priority_accuracy", allowed_values=["correct", "incorrect"])
def priority_accuracy(prediction: str, expected_priority: str):
    found = json.loads(prediction).get("priority")
    return MetricResult(value="correct" if found == expected_priority else "incorrect", reason=f"got {found}")


@experiment()
async def support_triage_experiment(row, prompt_file: str, experiment_name: str):
    response = await asyncio.to_thread(run_prompt, row["text"], prompt_file=prompt_file)
    labels = labels_exact_match.score(prediction=response, expected_labels=row["labels"])
    priority = priority_accuracy.score(prediction=response, expected_priority=row["priority"])
    return {
        "id": row["id"],
        "response": response,
        "experiment_name": experiment_name,
        "labels_score": labels.value,
        "priority_score": priority.value,
    }


def load_dataset():
    return Dataset.load(name="support_triage", backend="local/csv", root_dir=Path(__file__).parent)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "promptv1.txt").write_text(PROMPT_V1, "utf-8")
    (tmp_path / "promptv2_fewshot.txt").write_text(PROMPT_V2, "utf-8")
    (tmp_path / "run_prompt.py").write_text(RUN_PROMPT, "utf-8")
    (tmp_path / "evals.py").write_text(EVALS, "utf-8")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "support_triage.csv").write_text(TICKETS, "utf-8")
    for name in ("promptv1", "promptv2_fewshot"):
        assert main(["convert", f"{name}.txt"]) == 0
    return tmp_path


def test_the_text_is_the_prompt_with_its_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "promptv1.yml.j2", "--string"]) == 0
    assert capsys.readouterr().out.strip() == PROMPT_V1.strip()
    assert main(["check", str(here)]) == 0


def test_two_versions_are_run_and_compared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("evals_of_how_to", here / "evals.py")
    assert spec is not None
    assert spec.loader is not None
    evals = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(evals)
    sys.modules.pop("run_prompt", None)
    tables = []
    for name in ("promptv1", "promptv2_fewshot"):
        results = asyncio.run(
            evals.support_triage_experiment.arun(
                evals.load_dataset(), name=name, prompt_file=f"{name}.yml.j2", experiment_name=name
            )
        )
        tables.append(f"experiments/{results.name}.csv")
    capsys.readouterr()
    assert main(["compare", *tables, "--csv", "experiments/comparison.csv"]) == 0
    shown = capsys.readouterr().out
    assert "promptv1" in shown
    assert "67 %" in shown, "two of three priorities of the first version are right"
    with Path("experiments/comparison.csv").open(newline="", encoding="utf-8") as stream:
        rows = {row["id"]: row for row in csv.DictReader(stream)}
    assert rows["2"]["priority_score (promptv1)"] == "incorrect"
    assert rows["2"]["priority_score (promptv2_fewshot)"] == "correct"


def test_the_experiment_runs_on_a_prompt_from_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = "evals.py:support_triage_experiment"
    assert main(["run", "promptv2_fewshot.yml.j2", "--experiment", experiment, "--trust"]) == 0
    shown = capsys.readouterr().out
    assert "labels_score" in shown
    assert "100 %" in shown
    assert (here / "experiments").is_dir()
