"""Renames that begin in a program and in a data set of a real VS Code, beside another extension's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from code_server import CodeServer, running
from example_project import PROMPT
from packed_extension import packed
from playwright.sync_api import Locator, expect
from workbench import Workbench

RIVAL = Path(__file__).with_name("rival_renames")
DATASET = "support_triage.csv"
_TRIES = 10


@pytest.fixture(scope="module")
def shared(
    code_server_command: Path, extension: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CodeServer]:
    """A code-server with another extension that renames in Python."""
    home = tmp_path_factory.mktemp("rival")
    others = [packed(RIVAL, home / "rival-renames.vsix")]
    settings = {"promptls.server.path": str(Path(sys.executable).with_name("promptls"))}
    with running(
        code_server_command, home / "code", extension, machine_settings=settings, others=others
    ) as server:
        yield server


@pytest.fixture
def window(
    shared: CodeServer, project: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> Workbench:
    """The example project with the server at work."""
    workbench = open_folder(shared, project)
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    return workbench


def rename_box(window: Workbench, place: tuple[int, int], name: str) -> Locator:
    """The box in which a name of the active editor is changed, once it shows `name`.

    An extension that comes into play at that moment may be asked first for a second.
    """
    box = window.page.locator(".rename-input")
    for _ in range(_TRIES):
        window.go_to(*place)
        window.page.keyboard.press("F2")
        expect(box).to_be_visible()
        try:
            expect(box).to_have_value(name, timeout=1_000)
        except AssertionError:
            window.page.keyboard.press("Escape")
            expect(box).to_be_hidden()
        else:
            break
    expect(box).to_have_value(name)
    return box


def place_of(path: Path, words: str) -> tuple[int, int]:
    """The line and the column, from 1, of the middle of some words."""
    lines = path.read_text("utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if words in line)
    return number, lines[number - 1].index(words) + len(words) // 2 + 1


def test_a_metric_is_renamed_from_its_python_file_and_other_names_by_others(
    window: Workbench, project: Path
) -> None:
    window.open_file("metrics.py")
    place = place_of(project / "metrics.py", "priority_accuracy(")
    box = rename_box(window, place, "priority_accuracy")
    box.fill("same_priority")
    window.page.keyboard.press("Enter")
    expect(window.line("def same_priority(")).to_be_visible()

    rename_box(window, place_of(project / "metrics.py", "def answer"), "rival answer")
    window.page.keyboard.press("Escape")

    window.open_file(PROMPT)
    expect(window.line("metrics.py:same_priority")).to_be_visible()
    window.screenshot("header")


def test_a_column_is_renamed_from_its_data_set(window: Workbench, project: Path) -> None:
    window.open_file(DATASET)
    box = rename_box(window, place_of(project / "datasets" / DATASET, "text"), "text")
    box.fill("ticket")
    window.page.keyboard.press("Enter")
    expect(window.line("id,ticket,labels")).to_be_visible()
    window.open_file(PROMPT)
    expect(window.line("ticket: {type: string")).to_be_visible()
    expect(window.line("- ticket: Nothing loads")).to_be_visible()
