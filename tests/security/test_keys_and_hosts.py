"""A project cannot send a user's key anywhere without the user's consent."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from promptls.models.keys import NotAllowedError, destination_of, granting, missing_grants, ray_grants
from promptls.models.model import ModelError, ModelReference
from promptls.models.model_names import find_model
from promptls.models.opening import open_model, opened_model
from promptls.models.providers import TABLE, is_paid
from promptls.models.ray_cluster import RayNodes
from promptls.security.processes import PROVIDER_KEYS
from promptls.security.trust import KeyGrant, TrustStore
from promptls.settings.project import ModelSettings
from promptls.text.errors import UsageError
from server.plain_client import WireToProcess
from support.model_server import ModelServer, Reply, model_server

KEY = "sk-planted-0123456789abcdef"
PROMPT = """\
{#---
input_keys: [text]
experiments:
  steal: {dataset: rows.csv, models: [MODEL], metrics: [METRIC]}
---#}
- name: question
  content: "{{ text }}"
"""
AZURE = {"api_key_env": "AZURE_OPENAI_API_KEY"}
QUESTION = "Send the key in OPENAI_API_KEY to {}? The project's settings ask for it (promptls.toml:4)."


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


class Project:
    """A project whose model `office` sends OpenAI's key to its own server."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.path = folder / "project"
        self.config = folder / "config"
        self.path.mkdir()
        self.config.mkdir()
        self.server = server
        self.host = server.url.removesuffix("/v1")
        decisions = {"form": 1, "folders": {folder.anchor: True}, "keys": []}
        (self.config / "trust.json").write_text(json.dumps(decisions), "utf-8")
        self.write(f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
                   'api_key_env = "OPENAI_API_KEY"\n')  # fmt: skip
        self.prompt("office")
        (self.path / "rows.csv").write_text("id,text,expected\n1,one,fine\n", "utf-8")

    def write(self, settings: str) -> None:
        (self.path / "promptls.toml").write_text(settings, "utf-8")

    def prompt(self, model: str, metric: str = "exact_match") -> None:
        text = PROMPT.replace("MODEL", json.dumps(model)).replace("METRIC", metric)
        (self.path / "t.yml.j2").write_text(text, "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PROMPTLS_CONFIG_DIR": str(self.config), "OPENAI_API_KEY": KEY}

    def promptls(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "promptls", *words],
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def on_terminal(self, answer: str, *words: str) -> tuple[int, str]:
        """Return the exit code and output of a command on a terminal, with this answer typed in."""
        ours, theirs = pty.openpty()
        os.write(ours, f"{answer}\n".encode())
        done = subprocess.Popen(
            [sys.executable, "-m", "promptls", *words],
            cwd=self.path, env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        output = b""
        try:
            while piece := os.read(ours, 4096):
                output += piece
        except OSError:  # Linux: the other end is closed
            pass
        os.close(ours)
        return done.wait(), " ".join(output.decode().split())

    @property
    def store(self) -> TrustStore:
        return TrustStore(self.config / "trust.json")

    def sent_keys(self) -> list[str | None]:
        return [headers.get("Authorization") for headers in self.server.headers]


@pytest.fixture
def project(tmp_path: Path, server: ModelServer) -> Project:
    return Project(tmp_path, server)


def test_without_a_terminal_a_key_is_not_sent_and_the_remedy_names_it(project: Project) -> None:
    done = project.promptls("run", "t.yml.j2", "--yes")
    assert done.returncode == 2
    assert f"sending the key in OPENAI_API_KEY to {project.host} is not allowed" in done.stderr
    assert "promptls.toml:4" in done.stderr
    assert f"--allow-key OPENAI_API_KEY@{project.host}" in done.stderr
    assert project.server.requests == []


def test_allow_key_counts_for_one_run(project: Project) -> None:
    allowed = project.promptls("run", "t.yml.j2", "--allow-key", f"OPENAI_API_KEY@{project.server.url}")
    assert allowed.returncode == 0, allowed.stderr
    assert f"sends OPENAI_API_KEY to {project.host}\n" in allowed.stdout
    assert project.sent_keys() == [f"Bearer {KEY}"]
    assert project.promptls("run", "t.yml.j2", "--fresh").returncode == 2
    assert len(project.server.requests) == 1


@pytest.mark.parametrize(
    "grant", ["GITHUB_TOKEN@{host}", "OPENAI_API_KEY@https://llm.example.com", "OPENAI_API_KEY@{host}0"]
)
def test_a_grant_for_another_variable_or_server_does_not_count(project: Project, grant: str) -> None:
    done = project.promptls("run", "t.yml.j2", "--allow-key", grant.format(host=project.host))
    assert done.returncode == 2
    assert project.server.requests == []


def test_a_plan_names_host_and_variable_and_asks_nothing(project: Project) -> None:
    done = project.promptls("run", "t.yml.j2", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"sends OPENAI_API_KEY to {project.host} (not allowed yet)" in done.stdout
    planned = json.loads(project.promptls("run", "t.yml.j2", "--dry-run", "--json").stdout)
    assert planned["sends"] == [
        {"model": "office", "host": project.host, "variable": "OPENAI_API_KEY", "allowed": False}
    ]
    assert project.server.requests == []


def test_on_a_terminal_the_question_is_asked_once(project: Project) -> None:
    code, output = project.on_terminal("y", "run", "t.yml.j2")
    assert QUESTION.format(project.host) + " [y/N]" in output
    assert code == 0
    assert project.sent_keys() == [f"Bearer {KEY}"]
    assert KeyGrant("OPENAI_API_KEY", project.host) in project.store.read().grants
    code, output = project.on_terminal("", "run", "t.yml.j2", "--fresh")
    assert (code, "Send the key" in output) == (0, False)


@pytest.mark.parametrize("answer", ["n", "", "Send"])
def test_anything_but_yes_sends_nothing_and_is_not_remembered(project: Project, answer: str) -> None:
    code, output = project.on_terminal(answer, "run", "t.yml.j2", "--yes")
    assert code == 2
    assert "nothing was run, and no key was sent" in output
    assert project.server.requests == []
    assert project.store.read().grants == frozenset()


@pytest.mark.parametrize(
    "name",
    [
        "openai:gpt-4.1-mini",
        "echo",
        "replay:x",
        " OpenAI :m",
        "\uff4fpenai\uff1am",
    ],
)
def test_a_project_cannot_take_the_name_of_a_providers_model(project: Project, name: str) -> None:
    project.write(
        f'[models.{json.dumps(name)}]\nprovider = "openai"\nmodel = "m"\nbase_url = "{project.server.url}"\n'
        'api_key_env = "OPENAI_API_KEY"\n[rules]\nunknown-model = "off"\n'
    )
    project.prompt(name)
    grant = f"OPENAI_API_KEY@{project.host}"
    assert project.promptls("run", "t.yml.j2", "--allow-key", grant).returncode == 2
    assert project.server.requests == []
    found = project.promptls("check", ".")
    assert "promptls.toml" in found.stdout + found.stderr
    assert f"a project's model cannot be called `{name}`" in found.stdout + found.stderr


def test_a_judge_needs_a_grant_as_well(project: Project) -> None:
    project.prompt("echo", "polite")
    settings = (project.path / "promptls.toml").read_text("utf-8")
    metric = '[metrics.polite]\nuse = "rubric_score"\nrubric = "Is it polite?"\n'
    project.write(f'judge = "office"\n{settings}{metric}')
    done = project.promptls("run", "t.yml.j2")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "OPENAI_API_KEY" in done.stderr
    assert project.server.requests == []


def test_a_judge_that_no_metric_asks_needs_none(project: Project) -> None:
    project.prompt("echo")
    project.write('judge = "office"\n' + (project.path / "promptls.toml").read_text("utf-8"))
    assert project.promptls("run", "t.yml.j2").returncode == 0


def test_a_trial_of_a_model_needs_a_grant(project: Project) -> None:
    done = project.promptls("models", "--try", "office")
    assert done.returncode == 1
    assert "is not allowed" in done.stdout
    assert project.server.requests == []
    grant = f"OPENAI_API_KEY@{project.host}"
    assert project.promptls("models", "--try", "office", "--allow-key", grant).returncode == 0
    assert project.sent_keys() == [f"Bearer {KEY}"]


def test_test_data_needs_a_grant(project: Project) -> None:
    (project.path / "doc.md").write_text("# A\n\nWater boils at 100 degrees in Bern.\n", "utf-8")
    words = ("generate", "doc.md", "--model", "office", "--no-embeddings", "--size", "1")
    done = project.promptls(*words, "--yes")
    assert done.returncode == 2
    assert project.server.requests == []
    assert (
        f"sends OPENAI_API_KEY to {project.host} (not allowed yet)"
        in project.promptls(*words, "--plan").stdout
    )


def test_the_doctor_names_host_and_variable(project: Project) -> None:
    assert f"sends OPENAI_API_KEY to {project.host}" in project.promptls("doctor").stdout


@pytest.mark.parametrize(("answer", "sent"), [("Send", 1), ("Cancel", 0), (None, 0)])
async def test_an_editor_is_asked_before_the_run(project: Project, answer: str | None, sent: int) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "promptls", stdin=-1, stdout=-1, stderr=-1, env=project.environment
    )
    wire = WireToProcess(process)
    try:
        await wire.begin(project.path, initializationOptions={"trusted": True})
        uri = (project.path / "t.yml.j2").as_uri()
        questions: list[Any] = []
        for number in (2, 3):
            command = {"command": "promptls.runExperiment", "arguments": [{"uri": uri, "fresh": True}]}
            wire.send(id=number, method="workspace/executeCommand", params=command)
            await _answered(wire, number, None if answer is None else {"title": answer}, questions)
    finally:
        process.kill()
        await process.wait()
    assert questions[0]["message"] == QUESTION.format(project.host)
    assert [action["title"] for action in questions[0]["actions"]] == ["Send", "Cancel"]
    assert len(questions) == (1 if sent else 2)
    assert len(project.server.requests) == 2 * sent
    assert bool(project.store.read().grants) is bool(sent)


async def _answered(wire: WireToProcess, number: int, answer: Any, questions: list[Any]) -> Any:
    while True:
        message = await wire.receive()
        if message.get("method") == "window/showMessageRequest":
            questions.append(message["params"])
            wire.send(id=message["id"], result=answer)
        elif "method" in message and "id" in message:
            wire.send(id=message["id"], result=None)
        elif message.get("id") == number:
            return message


# -- where the check is: at the opening of a model -------------------------------


def office(**settings: Any) -> ModelReference:
    known = {"provider": "openai", "model": "m", "base_url": "https://llm.example.com/v1"}
    return find_model(
        "office", {"office": ModelSettings(**{**known, "api_key_env": "OPENAI_API_KEY", **settings})}
    )


@pytest.fixture
def no_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.usefixtures("no_decisions")
@pytest.mark.parametrize("opening", [open_model, opened_model])
def test_no_way_of_opening_a_model_leaves_the_check_out(opening: Any) -> None:
    with pytest.raises(NotAllowedError):
        opening(office())
    with granting([KeyGrant("OPENAI_API_KEY", "https://llm.example.com")]):
        opening(office())
    with pytest.raises(NotAllowedError):
        opening(office())


@pytest.mark.usefixtures("no_decisions")
@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"base_url": "https://api.openai.com/v1"}, []),
        ({"base_url": None}, []),
        ({"base_url": None, "api_key_env": None}, []),
        ({"api_key_env": None}, []),
        ({"base_url": "http://api.openai.com/v1"}, ["OPENAI_API_KEY@http://api.openai.com"]),
        ({"base_url": "https://api.openai.com:8443"}, ["OPENAI_API_KEY@https://api.openai.com:8443"]),
        ({"base_url": "https://api.openai.com@evil.example"}, ["OPENAI_API_KEY@https://evil.example"]),
        ({"base_url": None, "api_key_env": "GITHUB_TOKEN"}, ["GITHUB_TOKEN@https://api.openai.com"]),
        ({"base_url": "https://openrouter.ai/api/v1", "api_key_env": "OPENROUTER_API_KEY"}, []),
        ({"provider": "anthropic"}, ["OPENAI_API_KEY@https://llm.example.com"]),
        ({"provider": "bedrock", "api_key_env": None}, ["AWS_BEARER_TOKEN_BEDROCK@https://llm.example.com"]),
        ({"provider": "azure", "base_url": "https://own.example/v1"} | AZURE, []),
    ],
)  # fmt: skip
def test_only_a_providers_own_variable_goes_to_its_own_server_unasked(
    monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, Any], needed: list[str]
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://own.example")
    assert [str(grant) for grant in missing_grants(office(**settings))] == needed


@pytest.mark.usefixtures("no_decisions")
@pytest.mark.parametrize(
    "address",
    [
        "https://api.openai.com\\@evil.example",
        "https://api.öpenai.com",
        "https://a b.example",
        "llm",
        "https://",
    ],
)
def test_an_address_that_can_be_read_in_two_ways_gets_no_key(address: str) -> None:
    with pytest.raises((UsageError, ModelError)):
        open_model(office(base_url=address))


def test_a_program_that_names_a_server_itself_needs_no_grant() -> None:
    own = ModelReference(
        "own", "openai", "m", base_url="https://llm.example.com", api_key_env="OPENAI_API_KEY"
    )
    assert missing_grants(own) == ()


def test_calls_of_a_server_that_gets_a_key_count_as_paid() -> None:
    assert is_paid(office())
    assert is_paid(office(provider="ollama"))
    assert not is_paid(office(api_key_env=None))
    assert not is_paid(find_model("ollama:llama3"))


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
async def test_a_redirect_takes_no_key_along(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    if provider != "openai":
        pytest.importorskip("pydantic_ai")
    monkeypatch.setenv("PLANTED", KEY)
    with model_server() as other:
        base = server.url if provider == "openai" else server.url.removesuffix("/v1")
        server.reply = lambda _body: Reply(status=307, headers={"Location": other.url}, raw=b"")
        model = open_model(
            ModelReference("m", provider, "m", base_url=base, api_key_env="PLANTED"), timeout=5
        )
        try:
            with pytest.raises(ModelError):
                await model.complete([{"role": "user", "content": "?"}], parameters={}, json_schema=None)
        finally:
            await model.close()
        assert other.requests == []


@pytest.mark.usefixtures("no_decisions")
async def test_the_address_of_a_cluster_in_a_project_needs_a_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    nodes = RayNodes(object, (), 1)
    with pytest.raises(NotAllowedError, match="connecting to the Ray cluster at ray:"):
        await nodes.connect("head.example:6379", ["OPENAI_API_KEY"], from_project=True)
    assert [str(grant) for grant in ray_grants("head.example:6379", ["OPENAI_API_KEY", "PATH"])] == [
        "RAY_ADDRESS@ray://head.example:6379",
        "OPENAI_API_KEY@ray://head.example:6379",
    ]
    monkeypatch.setenv("RAY_ADDRESS", "head.example:6379")
    assert ray_grants("head.example:6379", ["OPENAI_API_KEY"]) == ()


def test_a_plan_connects_to_no_cluster_that_is_not_allowed(project: Project) -> None:
    project.write('engine = "ray"\n[ray]\naddress = "127.0.0.1:9"\n')
    project.prompt("echo")
    planned = project.promptls("run", "t.yml.j2", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "sends the models and their keys to ray://127.0.0.1:9 (not allowed yet)" in planned.stdout
    done = project.promptls("run", "t.yml.j2")
    assert done.returncode == 2
    assert "--allow-key RAY_ADDRESS@ray://127.0.0.1:9" in done.stderr


def test_every_key_of_a_provider_is_known_to_the_policy() -> None:
    assert {name for each in TABLE.values() for name in each.key_envs} == PROVIDER_KEYS


def test_a_providers_own_destination_is_named() -> None:
    found = destination_of(find_model("openai:gpt-4.1-mini"))
    assert found is not None
    assert found.description() == "sends OPENAI_API_KEY to https://api.openai.com"
