from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from promptls.cli.commands.check import FORMATS
from promptls.cli.main import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "ci.md").read_text("utf-8")
WORKFLOW = DOCS / "ci" / "github-workflow.yml"


def test_it_documents_every_report_format() -> None:
    assert set(re.findall(r"^\| `--format (\w+)`", PAGE, re.MULTILINE)) == set(FORMATS)


def test_it_documents_every_option_except_those_of_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["check", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert options - set(re.findall(r"--[a-z-]+", PAGE)) == {"--help", "--json", "--verbose"}


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGE)
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_the_hooks_that_it_names_are_there() -> None:
    hooks = {
        hook["id"] for hook in yaml.safe_load((DOCS.parent / ".pre-commit-hooks.yaml").read_text("utf-8"))
    }
    assert set(re.findall(r"- id: ([\w-]+)|hook `([\w-]+)`", PAGE)) == {
        ("promptls", ""),
        ("", "promptls-fix"),
        ("", "promptls-format"),
    }
    assert hooks == {"promptls", "promptls-fix", "promptls-format"}


def test_the_workflow_is_one_that_github_takes() -> None:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.github-workflows",
        WORKFLOW,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "command", re.findall(r"^\s*(?:- )?run: (promptls .+)$", WORKFLOW.read_text("utf-8"), re.MULTILINE)
)
def test_the_commands_of_the_workflow_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command.partition(">")[0])[1:]
    assert main(words) == 0
