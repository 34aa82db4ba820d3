"""The folder that decides about the trust in a file: its project, and never the whole home folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types

from promptls.cli.main import main
from promptls.security.files import ANYWHERE, reading_within, scope_of
from promptls.security.trust import TrustStore
from promptls.server.capabilities import resolve_capabilities
from promptls.server.context import Context
from promptls.server.folder_trust import Trust
from promptls.text.positions import PositionEncoding
from promptls.workspace import settings
from promptls.workspace.settings import find_project, folder_to_trust
from promptls.workspace.workspace import Workspace

SECRET = "PLANTED-SECRET"
PROMPT = "- {name: a, role: user, content: 'hello'}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder that is a repository, as for configuration files in git."""
    folder = tmp_path / "home"
    (folder / ".git").mkdir(parents=True)
    (folder / "promptls.toml").write_text("")
    (folder / "secret.txt").write_text(SECRET)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(folder / ".config"))
    return folder


@pytest.fixture
def stranger(home: Path) -> Path:
    """Return a folder without a project below the home folder, whose prompts refer to files of the home
    folder.
    """
    folder = home / "downloads" / "stranger"
    folder.mkdir(parents=True)
    (folder / "link.j2").symlink_to(home / "secret.txt")
    (folder / "link.yml.j2").write_text("- {name: a, role: user, content: '{% include \"link.j2\" %}'}\n")
    (folder / "up.yml.j2").write_text(
        "{#---\nsamples: ../../secret.txt\n---#}\n- {name: a, role: user, content: '{{ x }}'}\n"
    )
    return folder


@pytest.mark.parametrize("package", ["", "opencompass"])
def test_a_copy_of_opencompass_is_a_project(tmp_path: Path, package: str) -> None:
    (tmp_path / package / "openicl").mkdir(parents=True)
    (tmp_path / package / "openicl" / "icl_prompt_template.py").touch()
    (configs := tmp_path / "configs" / "datasets").mkdir(parents=True)
    assert folder_to_trust(configs / "mmlu_gen.py") == tmp_path


@pytest.mark.parametrize("marker", [".git", "promptls.toml"])
def test_the_project_of_a_file_is_the_nearest(tmp_path: Path, marker: str) -> None:
    (tmp_path / "promptls.toml").write_text("")
    inner = tmp_path / "inner"
    (inner / "prompts").mkdir(parents=True)
    (inner / marker).touch()
    prompt = inner / "prompts" / "a.yml.j2"
    prompt.write_text(PROMPT)

    assert folder_to_trust(prompt) == folder_to_trust(inner / "prompts") == inner
    assert folder_to_trust(tmp_path) == tmp_path


def test_the_project_of_a_path_with_dots_is_around_the_file(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "promptls.toml").write_text("")
    prompt = tmp_path / "here" / ".." / "there" / "a.yml.j2"

    assert folder_to_trust(prompt) == find_project(prompt).root == tmp_path / "there"


def test_settings_around_a_repository_are_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('encoding = "outer"\n')
    (tmp_path / "repository" / ".git").mkdir(parents=True)

    assert find_project(tmp_path / "repository" / "a.yml.j2").path is None
    assert find_project(tmp_path / "a.yml.j2").settings.encoding == "outer"


def test_the_home_folder_is_no_project_around_others(home: Path, stranger: Path) -> None:
    assert folder_to_trust(stranger) == stranger
    assert folder_to_trust(stranger / "up.yml.j2") == stranger
    assert folder_to_trust(stranger.parent) == stranger.parent
    assert folder_to_trust(home) == home


def test_a_file_in_the_home_folder_is_trusted_alone(home: Path) -> None:
    prompt = home / "a.yml.j2"
    prompt.write_text(PROMPT)

    assert folder_to_trust(prompt) == prompt


def test_a_drive_is_no_project_around_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_is_repository", lambda folder: folder == Path(tmp_path.anchor))

    assert folder_to_trust(tmp_path) == tmp_path


@pytest.mark.skipif(os.name == "nt", reason="there are no such folders")
@pytest.mark.parametrize(("owner", "is_read"), [(0, True), (4242, False)])
def test_what_others_put_into_the_temporary_folder_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, is_read: bool
) -> None:
    (tmp_path / "promptls.toml").write_text('encoding = "planted"\n')
    (tmp_path / ".git").mkdir()
    (tmp_path / "mine").mkdir()
    tmp_path.chmod(stat.S_ISVTX | 0o777)
    real = Path.lstat
    monkeypatch.setattr(Path, "lstat", lambda path: os.stat_result((*real(path)[:4], owner, *real(path)[5:])))

    assert (find_project(tmp_path / "mine" / "a.yml.j2").path is not None) is is_read
    assert (folder_to_trust(tmp_path / "mine") == tmp_path) is is_read


def test_settings_that_lead_out_of_their_folder_make_no_project(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text("")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "promptls.toml").symlink_to("../elsewhere.toml")

    assert folder_to_trust(tmp_path / "inner" / "a.yml.j2") == tmp_path / "inner"
    with reading_within(lambda: scope_of([tmp_path / "inner"])):
        assert find_project(tmp_path / "inner" / "a.yml.j2").path is None


def test_a_path_that_may_not_be_read_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside" / ".git").mkdir(parents=True)
    monkeypatch.setattr(Path, "is_dir", lambda _path: pytest.fail("looked at"))

    with reading_within(lambda: scope_of([tmp_path / "inside"])):
        assert folder_to_trust(tmp_path / "outside" / "a" / "b.j2") == tmp_path / "outside" / "a"


# -- the command line -------------------------------------------------------------


@pytest.mark.parametrize("where", ["there", "home"])
@pytest.mark.parametrize("words", [["check"], ["render"], ["tokens"], ["contract"], ["check", "--json"]])
@pytest.mark.parametrize("name", ["link.yml.j2", "up.yml.j2"])
def test_a_command_on_a_download_reads_nothing_else_of_the_home_folder(
    home: Path, stranger: Path, where: str, words: list[str], name: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(stranger if where == "there" else home)

    with reading_within(lambda: ANYWHERE):
        main([*words, name if where == "there" else f"downloads/stranger/{name}"])

    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err


def test_the_home_folder_is_read_if_it_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "a.yml.j2").write_text("- {name: a, role: user, content: '{% include \"secret.txt\" %}'}\n")
    monkeypatch.chdir(home)

    with reading_within(lambda: ANYWHERE):
        assert main(["check", "."]) == 0
        assert main(["render", "--string", "a.yml.j2"]) == 1

    assert "secret.txt" in capsys.readouterr().err


def test_trust_in_the_home_folder_says_what_it_includes(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trust", str(home)]) == 0
    assert "note: this includes everything in it, such as downloads" in capsys.readouterr().err


def test_a_file_in_the_home_folder_can_be_trusted(home: Path) -> None:
    (home / "a.yml.j2").write_text(PROMPT)

    assert main(["trust", str(home / "a.yml.j2")]) == 0
    assert TrustStore().decision([home / "a.yml.j2"]) is True
    assert TrustStore().decision([home / "downloads"]) is None


# -- the server -------------------------------------------------------------------


def trust_in(root: Path, options: Any = None) -> tuple[Trust, Workspace]:
    workspace = Workspace([root])
    server: Any = SimpleNamespace(protocol=None)
    context = Context(
        server, workspace, resolve_capabilities(types.ClientCapabilities()), PositionEncoding.UTF16
    )
    trust = Trust(context, options)
    trust.refresh()
    return trust, workspace


def open_in(trust: Trust, workspace: Workspace, path: Path) -> None:
    workspace.open(str(path), path.read_text(), 1)
    trust.on_did_open(str(path))


def test_the_home_folder_is_no_workspace(home: Path, stranger: Path) -> None:
    trust, workspace = trust_in(home)
    open_in(trust, workspace, stranger / "link.yml.j2")

    assert workspace.snapshot.file_scope == scope_of([stranger])
    assert not workspace.snapshot.trusts(str(stranger / "link.yml.j2"))


def test_a_client_that_decides_on_trust_may_have_it_open(home: Path) -> None:
    _, workspace = trust_in(home, {"trusted": True})

    assert workspace.snapshot.file_scope == ANYWHERE


def test_a_file_outside_depends_on_its_project(tmp_path: Path, home: Path) -> None:
    project = home / "project"
    (project / "prompts" / "vendor" / ".git").mkdir(parents=True)
    (project / "promptls.toml").write_text("")
    for folder in (project / "prompts", project / "prompts" / "vendor"):
        (folder / "a.yml.j2").write_text(PROMPT)
    (tmp_path / "workspace").mkdir()
    TrustStore().decide(project, trusted=True)
    TrustStore().decide(project / "prompts" / "vendor", trusted=False)
    trust, workspace = trust_in(tmp_path / "workspace")

    open_in(trust, workspace, project / "prompts" / "a.yml.j2")
    open_in(trust, workspace, project / "prompts" / "vendor" / "a.yml.j2")

    assert workspace.snapshot.trusts(str(project / "prompts" / "a.yml.j2"))
    assert not workspace.snapshot.trusts(str(project / "prompts" / "vendor" / "a.yml.j2"))
    assert not workspace.snapshot.trusts(str(home / "b.yml.j2"))
