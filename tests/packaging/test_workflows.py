"""The workflows are valid, their make targets exist, and all releases have the same version."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promptls import __version__

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize(
    ("schema", "files"),
    [("vendor.github-workflows", WORKFLOWS), ("vendor.dependabot", [ROOT / ".github" / "dependabot.yml"])],
    ids=["workflows", "dependabot"],
)
def test_a_file_is_what_its_schema_allows(schema: str, files: list[Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_linter_of_workflows_has_no_problem() -> None:
    files = [*WORKFLOWS, ROOT / "docs" / "ci" / "github-workflow.yml"]
    command = [Path(sys.executable).with_name("zizmor"), "--offline", "--config", ROOT / ".github/zizmor.yml"]
    done = subprocess.run([*command, *files], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_one_version() -> None:
    lock = json.loads((ROOT / "vscode-client" / "package-lock.json").read_text("utf-8"))
    texts = [
        (ROOT / "docs/editors/zed" / name).read_text("utf-8") for name in ("Cargo.toml", "extension.toml")
    ]
    versions = [match for text in texts for match in re.findall('^version = "(.+)"', text, re.MULTILINE)]
    plugin = json.loads((ROOT / "integrations/claude-code/.claude-plugin/plugin.json").read_text("utf-8"))
    versions += [lock["version"], lock["packages"][""]["version"], plugin["version"]]
    assert {*versions} == {__version__}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_make_target_exists(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    used = re.findall(r"run: make (.+)", workflow.read_text("utf-8"))
    assert {target for line in used for target in line.split()} <= targets
