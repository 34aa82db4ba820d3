"""The composite action for GitHub: its steps do what a job expects."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
WRONG_ROLE = "- name: a\n  role: usr\n  content: b\n"

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")


def used(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step of the action like GitHub, with the inputs of a job."""
    values = {name: given.get("default", "") for name, given in ACTION["inputs"].items()} | inputs
    step = ACTION["runs"]["steps"][-1]
    environment = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text)
        for name, text in step["env"].items()
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={**os.environ, **environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "a.yml.j2").write_text(WRONG_ROLE, "utf-8")
    return tmp_path


def test_a_finding_annotates_its_line_and_fails_the_job(folder: Path) -> None:
    done = used(folder)
    assert done.returncode == 1
    assert re.match(r"::warning .*file=prompts/a\.yml\.j2,line=2,", done.stdout)


def test_a_report_for_code_scanning_is_written_as_well(folder: Path) -> None:
    done = used(folder, sarif="promptls.sarif", **{"fail-on": "error"})
    assert done.returncode == 0, done.stderr
    (run,) = json.loads((folder / "promptls.sarif").read_text("utf-8"))["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["unknown-role"]


def test_inputs_are_no_code(folder: Path) -> None:
    used(folder, paths="prompts $(touch made) ; touch made", arguments="--no-render")
    assert not (folder / "made").exists()


def test_the_action_is_what_its_schema_allows_and_no_linter_objects() -> None:
    for command in (
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"],
        [Path(sys.executable).with_name("zizmor"), "--offline", "--config", ROOT / ".github/zizmor.yml"],
    ):
        done = subprocess.run([*command, ROOT / "action.yml"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
