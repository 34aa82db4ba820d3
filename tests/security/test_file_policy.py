"""Which files are read: regular ones, bounded, and inside the folder unless it is trusted."""

from __future__ import annotations

import ast
import ntpath
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.security.files import (
    FileScope,
    FileTooLargeError,
    NotRegularFileError,
    OutsideScopeError,
    is_file,
    is_folder,
    names_in,
    open_bytes,
    read_bytes,
    read_text,
    reading_within,
    scope_of,
    stamp_of,
)

SECRET = "PLANTED-SECRET"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a workspace, and a folder outside of it with a secret."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "inner").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (workspace / "inner" / "own.txt").write_text("own")
    return workspace, outside


@pytest.fixture
def untrusted(folders: tuple[Path, Path]) -> Iterator[tuple[Path, Path]]:
    scope = scope_of([folders[0]])
    with reading_within(lambda: scope):
        yield folders


def refuses(path: Path | str) -> bool:
    """Return whether nothing is revealed about the file at `path`."""
    with pytest.raises(OutsideScopeError):
        open_bytes(path)
    return not is_file(path) and stamp_of(path) is None and not is_folder(path) and names_in(path) == []


def test_files_inside_are_read(untrusted: tuple[Path, Path]) -> None:
    workspace, _ = untrusted

    assert read_text(workspace / "inner" / "own.txt") == "own"
    assert read_text(workspace / "inner" / ".." / "inner" / "own.txt") == "own"
    assert names_in(workspace) == ["inner"]


def test_absolute_and_climbing_paths_are_refused(untrusted: tuple[Path, Path]) -> None:
    workspace, outside = untrusted

    assert refuses(outside / "secret.txt")
    assert refuses(workspace / ".." / "outside" / "secret.txt")
    assert refuses("/proc/self/environ")
    assert refuses(f"{workspace}-beside/secret.txt")


def test_a_missing_file_outside_is_refused_like_one_that_is_there(untrusted: tuple[Path, Path]) -> None:
    _, outside = untrusted

    assert refuses(outside / "missing.txt")
    assert refuses(outside)


@pytest.mark.parametrize("target", ["../outside/secret.txt", "{outside}/secret.txt", "/proc/self/environ"])
def test_a_link_that_leads_outside_is_refused(untrusted: tuple[Path, Path], target: str) -> None:
    workspace, outside = untrusted
    link = workspace / "link.txt"
    link.symlink_to(target.format(outside=outside))

    assert refuses(link)


def test_a_folder_link_that_leads_outside_is_refused(untrusted: tuple[Path, Path]) -> None:
    workspace, outside = untrusted
    (workspace / "folder").symlink_to(outside, target_is_directory=True)
    (workspace / "chain").symlink_to("folder")

    assert refuses(workspace / "folder" / "secret.txt")
    assert refuses(workspace / "chain" / "secret.txt")


def test_a_link_that_stays_inside_is_followed(untrusted: tuple[Path, Path]) -> None:
    workspace, _ = untrusted
    (workspace / "link.txt").symlink_to("inner/own.txt")
    (workspace / "inner" / "back").symlink_to("..")

    assert read_text(workspace / "link.txt") == "own"
    assert read_text(workspace / "inner" / "back" / "inner" / "own.txt") == "own"


def test_links_in_a_circle_end(untrusted: tuple[Path, Path]) -> None:
    workspace, _ = untrusted
    (workspace / "one").symlink_to("two")
    (workspace / "two").symlink_to("one")

    assert refuses(workspace / "one")


def test_a_workspace_that_is_a_link_itself_is_read(folders: tuple[Path, Path], tmp_path: Path) -> None:
    workspace, outside = folders
    (tmp_path / "shortcut").symlink_to(workspace, target_is_directory=True)
    scope = scope_of([tmp_path / "shortcut"])
    with reading_within(lambda: scope):
        assert read_text(tmp_path / "shortcut" / "inner" / "own.txt") == "own"
        assert read_text(workspace / "inner" / "own.txt") == "own"
        assert refuses(outside / "secret.txt")


def test_the_folder_of_git_is_refused(untrusted: tuple[Path, Path]) -> None:
    workspace, _ = untrusted
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").write_text("AUTHORIZATION: basic TOKEN")

    assert refuses(workspace / ".git" / "config")
    for name in (".GIT", ".git.", ".git ", ".git. .", "GIT~1", ".g\u200cit", "\ufeff.git"):
        assert not scope_of([workspace]).allows(workspace / name / "config")
    assert scope_of([workspace]).allows(workspace / ".github" / "config")
    assert scope_of([workspace]).allows(workspace / ".gitignore")


def test_a_trusted_folder_reads_everywhere(folders: tuple[Path, Path]) -> None:
    _, outside = folders

    assert read_text(outside / "secret.txt") == SECRET


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "/dev/null"])
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such devices")
def test_a_device_is_refused_even_with_trust(path: str) -> None:
    with pytest.raises(NotRegularFileError):
        read_bytes(path)
    assert stamp_of(path) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_refused_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(NotRegularFileError):
        read_bytes(tmp_path / "pipe")


def test_a_large_file_is_refused_with_its_limit(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1001)

    with pytest.raises(FileTooLargeError, match=r"larger than 0\.001 MB"):
        read_bytes(tmp_path / "large", limit=1000)
    assert len(read_bytes(tmp_path / "large", limit=1001)) == 1001


@given(
    st.lists(
        st.sampled_from(
            ["..", ".", "inner", "outside", "secret.txt", "link", "", "~", "...", "own.txt", "\0", "C:"]
        ),
        max_size=8,
    ),
    st.booleans(),
)
def test_no_spelling_of_a_path_leads_outside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], is_absolute: bool
) -> None:
    base = tmp_path_factory.getbasetemp() / "spellings"
    workspace = base / "workspace"
    if not base.exists():
        (workspace / "inner").mkdir(parents=True)
        (base / "outside").mkdir()
        (base / "outside" / "secret.txt").write_text(SECRET)
        (workspace / "own.txt").write_text("own")
        (workspace / "link").symlink_to("../outside")
        (workspace / "inner" / "link").symlink_to("../..")
    path = "/".join([str(workspace), *parts]) if is_absolute else str(workspace.joinpath(*parts))
    scope = scope_of([workspace])
    with reading_within(lambda: scope):
        try:
            content = read_text(path)
        except OSError:
            content = ""
    assert content in {"", "own"}


def test_a_windows_device_is_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scope = scope_of([tmp_path])
    monkeypatch.setattr("promptls.security.files._IS_WINDOWS", True)

    assert not scope.allows(tmp_path / "NUL")
    assert not scope.allows(tmp_path / "con.txt")
    assert not scope.allows(tmp_path / "file.txt:stream")
    assert scope.allows(tmp_path / "console.txt")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the policy with Windows paths, and the paths that it accesses; `link` leads to a server."""
    accessed: list[str] = []

    def readlink(path: str) -> str:
        accessed.append(path)
        if path.endswith("link"):
            return "\\\\?\\UNC\\evil\\share"
        raise OSError

    system = SimpleNamespace(path=ntpath, sep="\\", readlink=readlink, fspath=os.fspath)
    monkeypatch.setattr("promptls.security.files.os", system)
    monkeypatch.setattr("promptls.security.files.Path", PureWindowsPath)
    monkeypatch.setattr("promptls.security.files._IS_WINDOWS", True)
    return accessed


@pytest.mark.parametrize(
    "name",
    [
        r"\\evil\share\a.csv", "//evil/share/a.csv", r"\\?\UNC\evil\share\a.csv", r"\\.\pipe\a",
        r"\\.\PHYSICALDRIVE0",
        r"..\outside\a.csv", r"D:\a.csv", r"\a.csv", r"a\..\..\outside\a.csv", r"C:\worked\a.csv",
    ],
)  # fmt: skip
def test_a_path_of_windows_that_leads_outside_is_not_accessed(windows: list[str], name: str) -> None:
    scope = FileScope((r"C:\work",))

    assert not scope.allows(ntpath.join(r"C:\work", name))
    assert windows == []


@pytest.mark.parametrize(
    "name", [r"link\a.csv", r"inner\link", "NUL", r"a\con.csv", r"a.csv:stream", r"a\COM1 .x"]
)
def test_links_to_servers_and_devices_of_windows_are_not_followed(windows: list[str], name: str) -> None:
    resolved = FileScope((r"C:\work",)).resolve(ntpath.join(r"C:\work", name))

    assert resolved is None or resolved.startswith("C:\\work\\")
    assert all(path.startswith("C:\\work\\") for path in windows)


def test_a_path_of_windows_inside_is_allowed(windows: list[str]) -> None:
    scope = FileScope((r"C:\Work",))

    assert scope.allows(r"c:\work\data\a.csv")
    assert scope.allows(r"C:/work/data/a.csv")
    assert windows


def test_nothing_is_allowed_without_roots() -> None:
    assert not FileScope(()).allows(__file__)


ROOMS = Path(__file__).resolve().parents[2] / "server" / "promptls"
OWN_FILES = {
    # What these read is the package's own, the process's own, or named by the user's program.
    "docgen", "tokens", "pytest_plugin", "api", "security", "embeddings",
    "results_view/html_report.py", "server/port_access.py", "cli/pages/page_server.py", "rendering/worker.py",
    "cli/arguments.py", "cli/chosen_files.py", "cli/commands/render.py",
    "cli/commands/convert.py", "cli/checked.py", "experiments/python/program_runner.py",
    "experiments/python/ray_function_worker.py", "lint/rules/__init__.py",
}  # fmt: skip


def direct_reads(module: Path) -> list[int]:
    """Return the lines of a module that read a file without checking the policy."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in {"read_text", "read_bytes"}
    ]


ANALYSIS = ("workspace", "semantic", "syntax", "dialects", "lint", "ide", "format", "preview", "convert")
LOOKS = {
    *("resolve", "exists", "is_file", "is_dir", "stat", "lstat", "iterdir", "glob", "rglob", "realpath"),
    *("walk", "scandir", "listdir", "isfile", "isdir", "getsize", "getmtime", "samefile", "readlink"),
}
OWN_LOOKS = {
    # Folders of the workspace and files that the user has opened; folders that the scope allows; own files.
    "workspace/settings.py", "workspace/disk.py", "workspace/python_calls.py", "lint/fixes/misspellings.py",
    "lint/analysis/unresolved_templates.py", "ide/completion/yaml_values.py", "ide/rename.py",
    "preview/preview_answers.py", "lint/rule.py", "lint/rules/__init__.py",
}  # fmt: skip


def looks_at_files(module: Path) -> list[int]:
    """Return the lines of a module that access a file, which on Windows may be on a foreign server."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS
        if ast.unparse(node.func.value) not in {"ast", "nodes"}  # trees, not folders
        if not (node.args and node.func.attr in {"resolve", "exists"})  # those of a snapshot, of a scope
    ]


def test_paths_that_a_folder_names_are_not_looked_at_otherwise() -> None:
    found = {
        name: lines
        for package in ANALYSIS
        for module in sorted((ROOMS / package).rglob("*.py"))
        if (name := module.relative_to(ROOMS).as_posix()) not in OWN_LOOKS
        if (lines := looks_at_files(module))
    }

    assert found == {}


def test_no_thread_of_the_server_forgets_what_may_be_read() -> None:
    modules = sorted((ROOMS / "server").rglob("*.py"))

    assert [module.name for module in modules if "run_in_executor" in module.read_text("utf-8")] == []


def test_files_that_a_folder_names_are_read_in_one_way() -> None:
    found = {
        name: lines
        for module in sorted(ROOMS.rglob("*.py"))
        if (name := module.relative_to(ROOMS).as_posix()) not in OWN_FILES
        if name.split("/")[0] not in OWN_FILES
        if (lines := direct_reads(module))
    }

    assert found == {}
