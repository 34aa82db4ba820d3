"""No process sees a variable that may contain a secret, unless the run's models or the settings name it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from promptls.experiments.client import run_in_process
from promptls.experiments.run_protocol import RunRequest
from promptls.models.keys import variables_named_by
from promptls.models.local import LocalModel
from promptls.models.masking import key_mask
from promptls.models.model_names import find_model
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import Rendering
from promptls.rendering.worker import Limits, RenderWorker
from promptls.results_view.results_client import ResultsProcess
from promptls.security.processes import minimal_environment, restricted_environment
from promptls.text.errors import UserError

pytestmark = pytest.mark.usefixtures("real_starts")

PLANTED = {
    "PLANTED_SECRET": "planted-0123456789",
    "GITHUB_TOKEN": "ghp-planted-0123456789",
    "OPENAI_API_KEY": "sk-planted-0123456789",
    "OTHER_KEY": "other-planted-0123456789",
    "HTTPS_PROXY": "http://user:planted@proxy.example",
}
SECRETS = ["PLANTED_SECRET", "GITHUB_TOKEN", "OPENAI_API_KEY", "OTHER_KEY"]
METRIC = f"""\
import json, os
from pathlib import Path

def seen(response: str) -> float:
    names = [name for name in {sorted(PLANTED)} if name in os.environ]
    Path(__file__).with_name("seen.json").write_text(json.dumps(names))
    return 1.0
"""
PROMPT = """\
{#---
input_keys: [text]
FUNCTIONS
experiments:
  seen: {dataset: rows.csv, models: [echo], metrics: ["metrics.py:seen"]}
---#}
- name: question
  content: "{{ text }}FUNCTION"
"""
FUNCTIONS = """\
import os

def shown():
    return " ".join(name for name in os.environ if name in {})
""".replace("{}", repr(SECRETS))


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "metrics.py").write_text(METRIC, "utf-8")
    (tmp_path / "rows.csv").write_text("id,text\n1,one\n", "utf-8")
    (tmp_path / "t.yml.j2").write_text(PROMPT.replace("FUNCTIONS\n", "").replace("FUNCTION", ""), "utf-8")
    (tmp_path / "promptls.toml").write_text("", "utf-8")
    return tmp_path


def seen(project: Path) -> list[str]:
    return list(json.loads((project / "seen.json").read_text("utf-8")))


def environment_of(pid: int) -> dict[str, str]:
    if not Path("/proc/self/environ").exists():
        pytest.skip("the environment of another process is not to be seen here")
    pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(pair.decode().split("=", 1) for pair in pairs if b"=" in pair)


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "promptls", "run", "t.yml.j2", *words],
        cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


# -- a run ---------------------------------------------------------------------


async def test_the_metrics_of_a_run_in_the_editor_see_no_secret(project: Path) -> None:
    secrets = {"ANTHROPIC_API_KEY": "sk-from-the-editor", "OTHER_KEY": "also-from-the-editor"}
    await run_in_process(RunRequest(str(project / "t.yml.j2"), secrets=secrets), lambda _event: None)
    assert seen(project) == ["HTTPS_PROXY"]


def test_the_metrics_of_a_run_on_the_command_line_see_no_secret(project: Path) -> None:
    done = run(project)
    assert done.returncode == 0, done.stderr
    assert seen(project) == ["HTTPS_PROXY"]


def test_what_the_settings_list_is_visible_and_in_the_plan_but_no_key_of_a_provider(project: Path) -> None:
    (project / "promptls.toml").write_text('environment = ["PLANTED_SECRET", "OPENAI_API_KEY"]\n', "utf-8")
    done = run(project)
    assert done.returncode == 0, done.stderr
    assert seen(project) == ["HTTPS_PROXY", "PLANTED_SECRET"]
    assert "functions and metrics may read PLANTED_SECRET\n" in done.stdout


def test_a_variable_of_a_model_without_a_grant_is_not_visible(project: Path) -> None:
    (project / "promptls.toml").write_text(
        '[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
        'api_key_env = "GITHUB_TOKEN"\n'
    )
    # The file of the metric is run for a plan as well.
    (project / "metrics.py").write_text(METRIC + "seen('')\n", "utf-8")
    done = run(project, "--model", "office", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert seen(project) == ["HTTPS_PROXY"]


def test_the_models_of_a_run_name_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert variables_named_by([find_model("openai:m")]) == {"OPENAI_API_KEY"}
    assert variables_named_by([find_model("azure:m")]) == {"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"}
    assert "AWS_PROFILE" in variables_named_by([find_model("bedrock:m")])
    assert variables_named_by([find_model("echo"), find_model("local:smollm2")]) == frozenset()


# -- the other processes ----------------------------------------------------------


def job(project: Path, **more: Any) -> RenderJob:
    (project / "functions.py").write_text(FUNCTIONS, "utf-8")
    text = '- name: a\n  role: user\n  content: "seen: {{ shown() }}"\n'
    functions = str(project / "functions.py")
    return RenderJob(path=str(project / "f.yml.j2"), text=text, functions=functions, **more)


async def test_a_rendering_worker_sees_no_secret_but_what_a_job_gives(project: Path) -> None:
    worker = RenderWorker(Limits())
    try:
        shown = []
        for environment in ({}, {"PLANTED_SECRET": "value"}, {}):
            outcome = await worker.render(job(project, environment=environment))
            assert isinstance(outcome, Rendering)
            shown.append(outcome.parts[0].content)
    finally:
        await worker.close()
    assert shown == ["seen:", "seen: PLANTED_SECRET", "seen:"]


def test_functions_see_what_the_settings_list(project: Path) -> None:
    job(project)
    (project / "promptls.toml").write_text('environment = ["PLANTED_SECRET", "OPENAI_API_KEY"]\n', "utf-8")
    text = PROMPT.replace("FUNCTIONS", "functions: functions.py").replace("FUNCTION", " {{ shown() }}")
    (project / "t.yml.j2").write_text(text, "utf-8")
    done = run(project)
    assert done.returncode == 0, done.stderr
    (table,) = (project / "experiments").glob("*.csv")
    assert "one PLANTED_SECRET," in table.read_text("utf-8")


async def test_the_process_that_reads_results_sees_no_secret(tmp_path: Path) -> None:
    process = ResultsProcess()
    try:
        with pytest.raises(UserError):
            await process.ask("nothing", {"path": str(tmp_path)})
        assert process.pid is not None
        assert not PLANTED.keys() & environment_of(process.pid).keys()
    finally:
        await process.close()


async def test_the_process_of_a_local_model_sees_no_secret() -> None:
    pytest.importorskip("xllamacpp")
    model = LocalModel("smollm2")
    try:
        process = await model._running()
        assert not PLANTED.keys() & environment_of(process.pid).keys()
    finally:
        await model.close()


# -- hiding -------------------------------------------------------------------------


def test_a_minimal_environment_has_what_programs_need() -> None:
    found = minimal_environment(["OTHER_KEY"])
    assert PLANTED.keys() & found.keys() == {"OTHER_KEY"}
    assert found["PATH"] == os.environ["PATH"]


def test_what_is_hidden_is_masked_and_comes_back() -> None:
    with restricted_environment(["OTHER_KEY"]):
        assert PLANTED.keys() & os.environ.keys() == {"OTHER_KEY"}
        assert key_mask().mask(f"got {PLANTED['GITHUB_TOKEN']}") == "got [key]"
    assert {name: os.environ[name] for name in PLANTED} == PLANTED
