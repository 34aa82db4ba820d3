"""A real VS Code in a real browser: code-server, driven through Chromium.

code-server and Chromium are installed once, into a cache outside of the repository. The extension is built if
its sources have changed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import launched
from code_server import CodeServer, running
from example_project import copy_example
from workbench import Workbench

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "test-artifacts" / "editor"
EXTENSION = ROOT / "vscode-client" / "promptls.vsix"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.editor)


@pytest.fixture(scope="session")
def code_server_command() -> Path:
    """Return the command that starts code-server, which is installed if necessary."""
    return Path(_last_line_of([ROOT / "scripts" / "install-code-server.sh"]))


@pytest.fixture(scope="session")
def extension() -> Path:
    """Return the extension's file, built from the current sources."""
    sources = [
        path
        for folder in (
            "vscode-client/src",
            "vscode-client/web/src",
            "vscode-client/icons",
            "vscode-client/walkthrough",
            "grammars",
            "server/promptls",
        )
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    ]
    sources += [
        *(ROOT / "vscode-client").glob("*.json"),
        ROOT / "vscode-client/.vscodeignore",
        ROOT / "vscode-client/build.mjs",
        ROOT / "vscode-client/web/build.mjs",
        ROOT / "vscode-client/requirements.txt",
        ROOT / "LICENSE",
        ROOT / "pyproject.toml",
    ]
    if not EXTENSION.exists() or EXTENSION.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        _last_line_of([ROOT / "scripts" / "build-extension.sh"])
    return EXTENSION


@pytest.fixture(scope="session")
def code_server(
    code_server_command: Path, extension: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CodeServer]:
    """Start a code-server whose extension uses the server of this Python environment."""
    settings = {"promptls.server.path": str(Path(sys.executable).with_name("promptls"))}
    home = tmp_path_factory.mktemp("code-server")
    with running(code_server_command, home, extension, machine_settings=settings) as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start one Chromium for all tests; each opens its own window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = launched(playwright)
        yield chromium
        chromium.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of the example project that the test may change."""
    folder = tmp_path / "support_triage"
    copy_example(folder)
    return folder


@pytest.fixture
def open_folder(
    browser: Browser, request: pytest.FixtureRequest
) -> Iterator[Callable[[CodeServer, Path], Workbench]]:
    """Return a function that opens a folder in a new window; a picture of it is taken at the end of the
    test.
    """
    opened: list[tuple[Workbench, CodeServer]] = []

    def open_it(server: CodeServer, folder: Path) -> Workbench:
        workbench = _opened(browser, server, folder)
        workbench.keep_pictures(ARTEFACTS, _file_name(request))
        opened.append((workbench, server))
        return workbench

    yield open_it
    for workbench, server in opened:
        workbench.screenshot("end")
        server.keep_logs(ARTEFACTS / f"{_file_name(request)}.log")
        workbench.page.close()


@pytest.fixture
def example(project: Path) -> Path:
    """Return the folder of `workbench`, which the test may change."""
    return project


@pytest.fixture
def workbench(
    code_server: CodeServer, example: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> Workbench:
    """Open VS Code with the example project."""
    return open_folder(code_server, example)


def _opened(browser: Browser, server: CodeServer, folder: Path) -> Workbench:
    workbench = Workbench(browser.new_page(viewport={"width": 1500, "height": 950}))
    workbench.open_folder(server.address, folder)
    return workbench


def _file_name(request: pytest.FixtureRequest) -> str:
    """Return the name of the test as a file name."""
    return re.sub(r"\W+", "_", request.node.name).strip("_")


def _last_line_of(command: list[Path]) -> str:
    """Return the last line that a script prints; its other output goes to the test's error output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"{command[0].name} failed with exit code {done.returncode}; its output says why.")
    return done.stdout.strip().splitlines()[-1]
