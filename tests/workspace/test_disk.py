from __future__ import annotations

from pathlib import Path

import pytest

from promptls.workspace.disk import is_below, prompt_paths
from promptls.workspace.workspace import Workspace


@pytest.mark.parametrize(
    "name",
    ["a.yml.j2", "deep/a.YAML.j2", "node_modules/a.yml.j2", ".hidden/a.yml.j2", "x/.y/z/a.yml.j2"],
)
def test_what_is_below_a_folder_is_what_a_scan_of_it_finds(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()

    assert is_below(str(path), [str(tmp_path)]) is (str(path) in prompt_paths(tmp_path))


def test_what_is_elsewhere_is_not_below(tmp_path: Path) -> None:
    assert not is_below(str(tmp_path / "ab" / "x.yml.j2"), [str(tmp_path / "a")])


@pytest.mark.parametrize("name", ["notes.txt", "node_modules/a.yml.j2"])
def test_a_file_that_no_scan_finds_is_no_part_of_the_workspace_once_it_is_closed(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{% include 'b.yml.j2' %}\n")
    workspace = Workspace([tmp_path])
    workspace.open(str(path), path.read_text(), 1)

    workspace.close(str(path))

    assert list(workspace.snapshot.graph.paths) == []


def test_a_file_that_was_away_for_a_moment_is_found_again(tmp_path: Path) -> None:
    entry, tail = tmp_path / "entry.yml.j2", tmp_path / "tail.yml.j2"
    entry.write_text("{% include 'tail.yml.j2' %}\n")
    tail.write_text("- name: a\n")
    workspace = Workspace([tmp_path])
    workspace.scan()

    tail.unlink()
    workspace.disk_changed()
    assert workspace.snapshot.includers(str(tail)) == frozenset()
    tail.write_text("- name: a\n")
    workspace.file_changed(str(tail))
    workspace.disk_changed()

    assert workspace.snapshot.includers(str(tail)) == {str(entry)}


def test_a_scan_reads_the_files_that_the_settings_include(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('include = ["prompts/*.j2"]\n', "utf-8")
    (tmp_path / "prompts").mkdir()
    for name in ("prompts/a.j2", "other.j2"):
        (tmp_path / name).write_text("- name: a\n  content: b\n", "utf-8")
    assert Workspace([tmp_path]).scan() == 1
