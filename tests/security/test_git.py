"""Git runs in a hostile repository, and nothing that it configures is executed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from promptls.experiments.manifest import git_state
from promptls.preview.preview_answers import committed_prompt
from promptls.rendering.make import job_for
from promptls.security.git import is_dirty, run_git, run_git_async
from promptls.text.errors import UserError
from promptls.workspace.workspace import Workspace

pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name == "nt", reason="scripts need a shell")

PROMPT = "- name: a\n  role: user\n  content: committed\n"


class Repository:
    """A repository with a committed prompt, and a script that writes a canary file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.folder.mkdir()
        self.canary = folder / "canary"
        self.script = self.folder / "evil.sh"
        self.script.write_text(f"#!/bin/sh\necho ran \"$@\" >> '{self.canary}'\ncat\n", "utf-8")
        self.script.chmod(0o755)
        (self.folder / "p.yml.j2").write_text(PROMPT, "utf-8")
        self.git("init", "-q")
        self.git("add", "p.yml.j2")
        self.git("commit", "-qm", "one")

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
        done = subprocess.run(
            ["git", *who, "-C", str(self.folder), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def configure(self, key: str, value: str) -> None:
        self.git("config", key, value)

    def touch(self) -> None:
        """Change the file's time, so that git has to read its content."""
        os.utime(self.folder / "p.yml.j2", (1_000_000_000, 1_000_000_000))

    def attributes(self, text: str) -> None:
        (self.folder / ".gitattributes").write_text(text, "utf-8")


def fsmonitor(repository: Repository) -> None:
    repository.configure("core.fsmonitor", str(repository.script))


def clean_filter(repository: Repository) -> None:
    repository.attributes("* filter=evil\n")
    repository.configure("filter.evil.clean", str(repository.script))


def process_filter(repository: Repository) -> None:
    repository.attributes("* filter=evil\n")
    repository.configure("filter.evil.process", str(repository.script))


def included_filter(repository: Repository) -> None:
    repository.attributes("* filter=evil\n")
    (repository.folder / "more").write_text(f'[filter "evil"]\n\tclean = {repository.script}\n', "utf-8")
    repository.configure("include.path", "../more")


def worktree_filter(repository: Repository) -> None:
    repository.attributes("* filter=evil\n")
    repository.configure("extensions.worktreeConfig", "true")
    repository.git("config", "--worktree", "filter.evil.clean", str(repository.script))


def submodule(repository: Repository) -> None:
    inner = repository.folder / "inner"
    shutil.copytree(repository.folder / ".git", inner / ".git")
    shutil.copy(repository.folder / "p.yml.j2", inner)
    subprocess.run(["git", "-C", str(inner), "config", "core.fsmonitor", str(repository.script)], check=True)
    name = repository.git("rev-parse", "HEAD")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{name},inner")
    repository.git("commit", "-qm", "inner")


def hooks(repository: Repository) -> None:
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"):
        shutil.copy(repository.script, repository.folder / ".git" / "hooks" / name)


def promisor(repository: Repository) -> None:
    blob = repository.git("rev-parse", "HEAD:p.yml.j2")
    (repository.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repository.configure("extensions.partialClone", "evil")
    repository.configure("remote.evil.url", str(repository.folder))
    repository.configure("remote.evil.promisor", "true")
    repository.configure("remote.evil.uploadpack", str(repository.script))
    repository.configure("protocol.file.allow", "always")
    (repository.folder / "p.yml.j2").write_text(PROMPT + "\n", "utf-8")


def ssh(repository: Repository) -> None:
    promisor(repository)
    repository.configure("remote.evil.url", "ssh://localhost/x")
    repository.configure("core.sshCommand", str(repository.script))
    repository.configure("protocol.ssh.allow", "always")


def external_transport(repository: Repository) -> None:
    promisor(repository)
    repository.configure("remote.evil.url", f"ext::{repository.script}")
    repository.configure("protocol.ext.allow", "always")


def pager_and_differences(repository: Repository) -> None:
    repository.attributes("* diff=evil\n")
    for key in ("core.pager", "pager.log", "pager.status", "core.editor", "core.askPass", "gpg.program"):
        repository.configure(key, str(repository.script))
    for key in ("diff.external", "diff.evil.command", "diff.evil.textconv", "credential.helper"):
        repository.configure(key, str(repository.script))
    repository.configure("log.showSignature", "true")
    repository.configure("alias.log", f"!{repository.script}")
    repository.configure("alias.status", f"!{repository.script}")


def file_elsewhere(repository: Repository) -> None:
    fsmonitor(repository)
    clean_filter(repository)
    moved = repository.canary.parent / "moved"
    (repository.folder / ".git").rename(moved)
    (repository.folder / ".git").write_text(f"gitdir: {moved}\n", "utf-8")


ATTACKS = [
    fsmonitor,
    clean_filter,
    process_filter,
    included_filter,
    worktree_filter,
    submodule,
    hooks,
    promisor,
    ssh,
    external_transport,
    pager_and_differences,
    file_elsewhere,
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_of_a_repository_is_run(
    tmp_path: Path, attack: Callable[[Repository], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repository = Repository(tmp_path)
    attack(repository)
    repository.touch()
    repository.canary.unlink(missing_ok=True)  # what the preparation itself has set off

    state = git_state(repository.folder)
    assert state is not None
    assert len(state["commit"]) == 40
    prompt = repository.folder / "p.yml.j2"
    snapshot = Workspace([repository.folder]).snapshot
    is_missing = attack in {promisor, ssh, external_transport}
    with pytest.raises(UserError) if is_missing else contextlib.nullcontext():
        asyncio.run(committed_prompt(snapshot, job_for(snapshot, str(prompt), {})))
    assert not repository.canary.exists(), repository.canary.read_text("utf-8")


@pytest.mark.parametrize("attack", [clean_filter, process_filter, included_filter, worktree_filter])
def test_changes_are_unknown_where_the_repository_filters(
    tmp_path: Path, attack: Callable[[Repository], None]
) -> None:
    repository = Repository(tmp_path)
    assert is_dirty(repository.folder) is False
    attack(repository)
    assert is_dirty(repository.folder) is None


def test_changes_are_found_where_nothing_filters(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.touch()
    assert is_dirty(repository.folder) is False
    (repository.folder / "p.yml.j2").write_text("changed", "utf-8")
    assert is_dirty(repository.folder) is True
    assert is_dirty(tmp_path) is None


def test_git_is_not_looked_for_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(tmp_path)
    head = repository.git("rev-parse", "HEAD")
    shutil.copy(repository.script, repository.folder / "git")
    monkeypatch.chdir(repository.folder)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", os.environ["PATH"]]))
    assert run_git(repository.folder, "rev-parse", "HEAD").strip() == head
    assert not repository.canary.exists()


def test_variables_of_a_hook_do_not_lead_git_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(tmp_path)
    head = repository.git("rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(repository.script))
    assert run_git(repository.folder, "rev-parse", "HEAD").strip() == head


async def test_both_ways_of_asking_give_the_same(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    assert await run_git_async(repository.folder, "log", "-1", "--format=%s") == "one\n"
    assert run_git(repository.folder, "log", "-1", "--format=%s") == "one\n"
    with pytest.raises(UserError, match="lies in no git repository"):
        await run_git_async(tmp_path, "rev-parse", "HEAD")
    with pytest.raises(UserError, match="lies in no git repository"):
        run_git(tmp_path, "rev-parse", "HEAD")
