"""A run gets the keys of its own models, and no other key of the editor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.experiments.client import RUNS, run_in_process
from promptls.experiments.run_protocol import RunRequest
from promptls.testset.generation import GENERATION, GenerationRequest

PROMPT = """\
{#---
input_keys: [text]
experiments:
  asked: {dataset: rows.csv, models: [office], metrics: [exact_match]}
  judged: {dataset: rows.csv, models: [echo], metrics: [critic]}
  told: {dataset: rows.csv, models: [echo], metrics: ["spy.py:seen"]}
---#}
- name: question
  content: "{{ text }}"
"""
PROJECT = """\
[models.office]
provider = "openai"
model = "m"
base_url = "http://127.0.0.1:9/v1"
api_key_env = "OFFICE_KEY"

[models.judge]
provider = "anthropic"
model = "m"

[metrics.critic]
use = "aspect_critic"
model = "judge"
definition = "Is it polite?"
"""
SPY = """\
import json, os
from promptls import discrete_metric


@discrete_metric()
def seen(response):
    with open("seen.json", "w") as stream:
        json.dump(sorted(name for name in os.environ if name.startswith("PLANTED_")), stream)
    return "yes"
"""


def keys_among(names: frozenset[str]) -> set[str]:
    """Return the variables with keys, without those with addresses."""
    return {name for name in names if not name.endswith("_URL")}


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    (tmp_path / "promptls.toml").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "rows.csv").write_text("text,expected\nhello,hello\n", encoding="utf-8")
    (tmp_path / "spy.py").write_text(SPY, encoding="utf-8")
    path = tmp_path / "ask.yml.j2"
    path.write_text(PROMPT, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("experiment", "models", "variables"),
    [
        ("asked", [], {"OFFICE_KEY"}),
        ("asked", ["openai:gpt-4.1-mini"], {"OPENAI_API_KEY"}),
        ("asked", ["google:gemini-2.5-flash"], {"GOOGLE_API_KEY", "GEMINI_API_KEY"}),
        ("asked", ["local:smollm2"], set()),
        ("judged", [], {"ANTHROPIC_API_KEY"}),
        ("told", [], set()),
    ],
)
def test_a_run_names_the_variables_of_its_models_and_judges(
    prompt: Path, experiment: str, models: list[str], variables: set[str]
) -> None:
    assert keys_among(RUNS.named_variables(RunRequest(str(prompt), experiment, models))) == variables


def test_a_model_of_bedrock_names_the_credentials_of_its_library(prompt: Path) -> None:
    named = RUNS.named_variables(RunRequest(str(prompt), "asked", ["bedrock:amazon.nova-lite"]))
    assert {"AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY"} <= named


@pytest.mark.parametrize(
    "request_",
    [
        RunRequest(experiment="nothing"),
        RunRequest("nowhere.yml.j2"),
        RunRequest(resume="20260101-000000-nothing"),
        RunRequest(retry_errors="20260101-000000-nothing"),
    ],
)
def test_a_run_that_cannot_be_defined_gets_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: RunRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    assert RUNS.named_variables(request_) == frozenset()


def test_a_manifest_that_somebody_wrote_by_hand_gets_no_key(tmp_path: Path) -> None:
    manifest = tmp_path / "20260101-000000-ask.json"
    manifest.write_text(json.dumps({"prompt": 3, "models": [{}]}), encoding="utf-8")
    assert RUNS.named_variables(RunRequest(retry_errors=str(manifest))) == frozenset()


def test_an_experiment_in_python_gets_the_keys_of_the_models_of_its_project(prompt: Path) -> None:
    (prompt.parent / "evals.py").write_text(
        "from promptls import experiment\n\n\n@experiment()\nasync def asks(row, model):\n    return {}\n",
        encoding="utf-8",
    )
    request = RunRequest(str(prompt), "evals.py:asks", ["openai:gpt-4.1-mini"])
    assert keys_among(RUNS.named_variables(request)) == {"OPENAI_API_KEY", "OFFICE_KEY", "ANTHROPIC_API_KEY"}


def test_test_data_get_the_key_of_the_model_that_writes_them(prompt: Path) -> None:
    output = str(prompt.parent / "tests.csv")
    assert GENERATION.named_variables(GenerationRequest(output=output, model="office")) == {"OFFICE_KEY"}
    assert GENERATION.named_variables(GenerationRequest(output=output, model="nobody")) == frozenset()


async def test_a_metric_does_not_see_keys_that_the_run_has_no_use_for(prompt: Path) -> None:
    secrets = {"PLANTED_OTHER": "planted-0123456789", "PLANTED_MORE": "planted-9876543210"}
    await run_in_process(RunRequest(str(prompt), "told", secrets=secrets), lambda _event: None)
    assert json.loads((prompt.parent / "seen.json").read_text("utf-8")) == []
