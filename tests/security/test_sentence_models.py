"""A sentence model named in a prompt is loaded only from a cache, and only with trust."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from promptls.rendering.evaluation_asking import _refusal
from security.hostile import Hostile, promptls

# What versions before 6 do: a name that is a folder wins, and its Python is imported.
_PACKAGE = """
import json, os, runpy, tempfile
class SentenceTransformer:
    def __init__(self, name, **options):
        record = {"name": name, "cwd": os.getcwd(), "files": os.listdir(), **options}
        with open(os.environ["PROMPTLS_CALLS"], "a") as calls:
            calls.write(json.dumps(record) + "\\n")
        code = os.path.join(name, "modeling_evil.py")
        if os.path.isfile(code):
            runpy.run_path(code)
        if "absent" in name:
            raise OSError("not in the cache")
    def encode(self, texts, show_progress_bar=True):
        return [[float(len(text)), 1.0] for text in texts]
"""
_PROMPT = """\
reader_cfg: {{input_columns: [q], output_column: a}}
path: data
infer_cfg:
  ice_template: {{template: "{{q}}={{a}}"}}
  prompt_template: {{ice_token: "</E>", template: "</E>{{q}}={{a}}"}}
  retriever: {{type: TopkRetriever, sentence_transformers_model_name: {name}, ice_num: 1}}
  inferencer: {{type: GenInferencer}}
"""
_PATHS = (
    "./evil", "evil", "org/model", "../project/evil", "ABSOLUTE", "~/evil", "'.\\evil'", "'C:\\evil'",
    "C:evil", "data/../evil", "a/b/c", "'evil '", "''",
)  # fmt: skip


@dataclass(frozen=True)
class Prompt:
    """An evaluation prompt with a model, beside a folder with a model that contains Python."""

    hostile: Hostile
    packages: Path

    def name(self, model: str) -> None:
        """Write the prompt."""
        model = model.replace("ABSOLUTE", str(self.hostile.folder / "evil"))
        (self.hostile.folder / "nearest.yml.j2").write_text(_PROMPT.format(name=model))

    def install(self, version: str) -> None:
        """Install a package in place of sentence-transformers."""
        package = self.packages / "sentence_transformers"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(_PACKAGE)
        information = self.packages / f"sentence_transformers-{version}.dist-info"
        information.mkdir()
        text = f"Metadata-Version: 2.1\nName: sentence-transformers\nVersion: {version}\n"
        (information / "METADATA").write_text(text)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command that finds the package."""
        path = os.pathsep.join([str(self.packages), os.environ.get("PYTHONPATH", "")])
        environment = {
            **self.hostile.environment(), "PYTHONPATH": path, "PROMPTLS_CALLS": str(self._record),
        }  # fmt: skip
        return subprocess.run(
            promptls(words), cwd=self.hostile.folder, env=environment, input="", capture_output=True,
            encoding="utf-8", check=False,
        )  # fmt: skip

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Return how the package was called."""
        if not self._record.exists():
            return []
        return [json.loads(line) for line in self._record.read_text().splitlines()]

    @property
    def has_run(self) -> bool:
        """Return whether Python of a model was executed."""
        return any(self.hostile.folder.rglob("ran"))

    @property
    def _record(self) -> Path:
        return self.packages / "calls.jsonl"


@pytest.fixture
def prompt(hostile: Hostile, tmp_path: Path) -> Prompt:
    """Return an evaluation prompt; sentence-transformers is not installed yet."""
    data = hostile.folder / "data"
    data.mkdir()
    for name in ("train", "test"):
        (data / f"{name}.csv").write_text("q,a\none,1\nthree,3\n")
    for folder in ("evil", "org/model"):
        evil = hostile.folder / folder
        evil.mkdir(parents=True)
        (evil / "modeling_evil.py").write_text(
            "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
        )
    return Prompt(hostile, tmp_path / "packages")


def test_a_model_is_loaded_by_its_name_from_an_empty_folder(prompt: Prompt) -> None:
    prompt.install("6.0.1")
    prompt.name("sentence-transformers/all-mpnet-base-v2")

    done = prompt.command("render", "nearest.yml.j2", "--trust")

    assert done.returncode == 0, done.stderr
    (call,) = prompt.calls
    assert call.pop("cwd") != str(prompt.hostile.folder)
    assert call == {
        "name": "sentence-transformers/all-mpnet-base-v2",
        "files": [],
        "local_files_only": True,
        "trust_remote_code": False,
        "model_kwargs": {"use_safetensors": True},
    }


@pytest.mark.parametrize("command", ["check", "render"])
def test_without_trust_no_model_is_loaded(prompt: Prompt, command: str) -> None:
    prompt.install("6.0.1")
    prompt.name("all-mpnet-base-v2")

    done = prompt.command(command, "nearest.yml.j2")

    assert "sentence model of its TopkRetriever" in done.stderr
    assert prompt.calls == []


def test_a_path_is_no_name_of_a_model(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt.install("6.0.1")
    monkeypatch.syspath_prepend(prompt.packages)
    folder = prompt.hostile.folder
    monkeypatch.chdir(folder)
    assert _refusal("org/other", folder) is None
    for written in _PATHS:
        assert _refusal(yaml.safe_load(written.replace("ABSOLUTE", str(folder / "evil"))), folder), written


def test_a_path_is_no_model(prompt: Prompt) -> None:
    prompt.install("6.0.1")
    for name in ("evil", "org/model", "ABSOLUTE"):
        prompt.name(name)
        done = prompt.command("render", "nearest.yml.j2", "--trust")
        assert "sentence model" in done.stderr
    assert prompt.calls == []
    assert not prompt.has_run


def test_a_release_that_runs_python_of_models_is_not_used(prompt: Prompt) -> None:
    prompt.install("5.1.2")
    prompt.name("all-mpnet-base-v2")

    done = prompt.command("render", "nearest.yml.j2", "--trust")

    assert prompt.calls == []
    assert "sentence-transformers 5.1.2 may run Python of a model" in done.stderr
