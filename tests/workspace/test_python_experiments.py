"""Experiments, metrics and datasets in Python files, found without running them."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.workspace.python_experiments import PythonFindings, experiments_for, findings_in

FILE = "/project/evals/evals.py"
TEXT = """
from ragas import Dataset, experiment as run_it
import promptls
from ragas.metrics.discrete import discrete_metric
from other import experiment

@discrete_metric(name="exact", allowed_values=["yes", "no"])
def labels(prediction, expected): ...

@promptls.numeric_metric()
async def close(prediction): ...

@run_it()
async def triage(row, prompt_file: str, *, model="gpt", limit: int):
    score = labels.score(prediction=row["text"], expected=row.get("labels"))
    near = await close.ascore(prediction="é" + row["ü"])
    return {"é": 1, "labels_score": score.value, "near": near, "x": other.score(a=1)}

@promptls.experiment
def fixed(row):
    template = promptls.load("prompts/triage.yml.j2")
    return {**row}

@experiment()
def foreign(row): ...

def load_dataset():
    return [{"a": 1}]

def tickets() -> "Dataset": ...

def made(name="x"):
    data = Dataset(name=name, backend="inmemory")
    return data

def needs(name):
    return Dataset(name=name, backend="inmemory")

rows = promptls.Dataset.load("a", "local/csv", root_dir=".")
"""


@pytest.fixture
def found() -> PythonFindings:
    return findings_in(TEXT, FILE)


def test_functions_under_the_decorators_are_found_with_their_places(found: PythonFindings) -> None:
    assert [each.name for each in found.experiments] == ["triage", "fixed"]
    for each in found.experiments:
        assert f"def {each.name}(" in TEXT.splitlines()[each.line]
    for names, expected in (
        (found.metrics, ["labels", "close"]),
        (found.datasets, ["load_dataset", "tickets", "made", "rows"]),
    ):
        assert [each.name for each in names] == expected
        for name in names:
            assert TEXT[name.span.start : name.span.end] == name.name
            assert name.name in TEXT.splitlines()[name.line]


def test_an_experiment_says_what_it_takes_and_which_columns_are_scores(found: PythonFindings) -> None:
    triage = found.experiments[0]
    assert triage.parameters == ("prompt_file", "model", "limit")
    assert triage.required == {"prompt_file", "limit"}
    assert triage.prompt_parameter == "prompt_file"
    assert triage.scores == {"labels_score": "labels", "near": "close"}


def test_columns_of_the_row_are_found_at_their_text(found: PythonFindings) -> None:
    assert [column.name for column in found.columns] == ["text", "labels", "ü"]
    assert [TEXT[column.span.start : column.span.end] for column in found.columns] == ["text", "labels", "ü"]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("/project/evals/prompts/triage.yml.j2", ["triage", "fixed"]),
        ("/project/prompts/triage.yml.j2", ["triage", "fixed"]),
        ("/project/prompts/other.yml.j2", ["triage"]),
        ("/elsewhere/prompts/triage.yml.j2", ["fixed"]),
        ("/elsewhere/other.yml.j2", []),
    ],
)
def test_an_experiment_is_for_the_prompts_that_it_names_or_takes(
    prompt: str, expected: list[str], found: PythonFindings
) -> None:
    assert [each.name for each in experiments_for({FILE: found}, prompt)] == expected


TAKES = "from promptls import experiment\n\n@experiment()\ndef run(row, prompt_file): ...\n\n"


@pytest.mark.parametrize(
    ("more", "here", "expected"),
    [
        ("", [], ["evals/a.yml.j2", "prompts/b.yml.j2", "prompts/c.yml.j2"]),
        ("", ["a.yml.j2"], ["evals/a.yml.j2"]),
        ("run.run([], prompt_file='../prompts/b.yml.j2')\n", [], ["prompts/b.yml.j2"]),
        ("VERSIONS = ['b.yml.j2', 'c.yml.j2']\n", ["a.yml.j2"], ["prompts/b.yml.j2", "prompts/c.yml.j2"]),
        ("HELP = 'a path'\n", [], ["evals/a.yml.j2", "prompts/b.yml.j2", "prompts/c.yml.j2"]),
    ],
)
def test_one_that_takes_a_prompt_is_for_those_that_its_file_names_else_for_the_nearest(
    more: str, here: list[str], expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "evals").mkdir()
    for name in here:
        (tmp_path / "evals" / name).touch()
    file = str(tmp_path / "evals" / "evals.py")
    found = {file: findings_in(TAKES + more, file)}
    prompts = ["evals/a.yml.j2", "prompts/b.yml.j2", "prompts/c.yml.j2"]
    assert [name for name in prompts if experiments_for(found, str(tmp_path / name))] == expected


@pytest.mark.parametrize(
    "text", ["def (:", "@experiment()\ndef a(row): ...", "", "\0", "from ragas import *"]
)
def test_what_is_no_python_or_knows_neither_package_has_nothing(text: str) -> None:
    assert not any(findings_in(text, FILE))


@pytest.mark.parametrize(
    "text",
    [
        "import promptls\n\n@promptls.experiment\ndef run(row): ...",
        "from promptls import experiment\n\n@ experiment()\ndef run(row): ...",
        "from promptls import (\n    experiment as trial,\n)\n\n@trial()\ndef run(row): ...",
    ],
)
def test_an_experiment_is_found_in_a_file_that_defines_nothing_else(text: str) -> None:
    assert [each.name for each in findings_in(text, FILE).experiments] == ["run"]
