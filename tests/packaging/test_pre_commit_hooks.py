"""The hooks, installed and run by pre-commit in a repository that uses this one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOUND = "- name: question\n  role: user\n  content: Hello.\n"
WRONG_ROLE = "- name: question\n  role: usr\n  content: Hello.\n"
CONFIGURATION = """\
repos:
  - repo: {hooks}
    rev: {revision}
    hooks:
      - id: {hook}
"""

pytestmark = [pytest.mark.install, pytest.mark.skipif(not shutil.which("git"), reason="needs git")]


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with the current content of this checkout."""
    folder = tmp_path_factory.mktemp("hooks")
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if name.startswith(("server/", ".pre-commit-hooks")) or name in {
            "hatch_build.py",
            "pyproject.toml",
            "README.md",
            "LICENSE",
        }:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "hooks")
    return folder


@pytest.fixture(scope="module")
def hook_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of pre-commit's environments, created once for all tests."""
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture
def project(tmp_path: Path, hooks: Path, hook_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRE_COMMIT_HOME", str(hook_home))
    git(tmp_path, "init", "--quiet")
    return tmp_path


def commit(project: Path, hooks: Path, hook: str) -> subprocess.CompletedProcess[str]:
    """Run the hook over everything that is staged, like a commit."""
    text = CONFIGURATION.format(hooks=hooks, revision=git(hooks, "rev-parse", "HEAD"), hook=hook)
    (project / ".pre-commit-config.yaml").write_text(text)
    git(project, "add", "--all")
    command = [sys.executable, "-m", "pre_commit", "run", "--color", "never"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def test_the_hook_lets_sound_prompts_pass_and_leaves_other_files_alone(project: Path, hooks: Path) -> None:
    (project / "a.yml.j2").write_text(SOUND)
    (project / "notes.yml").write_text("role: usr\n")
    (project / "site.yml.j2").write_text("- hosts: all\n  tasks: []\n")
    done = commit(project, hooks, "promptls")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


def test_the_hook_stops_a_commit_and_says_why(project: Path, hooks: Path) -> None:
    (project / "prompts").mkdir()
    (project / "prompts" / "a.yml.j2").write_text(WRONG_ROLE)
    done = commit(project, hooks, "promptls")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "prompts/a.yml.j2:2:9: warning unknown-role" in done.stdout


def test_the_fixing_hook_mends_the_file_and_asks_to_stage_it(project: Path, hooks: Path) -> None:
    (project / "a.yml.j2").write_text(WRONG_ROLE)
    done = commit(project, hooks, "promptls-fix")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "files were modified by this hook" in done.stdout
    assert (project / "a.yml.j2").read_text() == SOUND
    assert commit(project, hooks, "promptls-fix").returncode == 0
