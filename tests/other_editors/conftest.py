"""Real editors other than VS Code, without a window, each with its configuration from docs/.

A case is a file in the editor's own language. `neovim/drive.lua`, `emacs/drive.el` and `vim/drive.vim`
run it on the prompt of a small project, and pass on its result.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from editor_project import make_project
from real_editor import DOCS, Editor, installed

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.editor)


CONFIGURATIONS = ("neovim.lua", "neovim-0.8.lua", "vim-ale.vim", "emacs-eglot.el", "emacs-lsp-mode.el")


@pytest.fixture(params=CONFIGURATIONS)
def editor(request: pytest.FixtureRequest, tmp_path: Path) -> Editor:
    """Start each editor with each of its configurations, in the small project."""
    prompt = make_project(tmp_path / "project")
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "NVIM", "PROMPTLS_"))
    }
    environment |= {
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        # The server of this environment is the one that the configuration finds.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PROMPTLS_HOME": str(home),
        "PROMPTLS_CONFIG_DIR": os.environ["PROMPTLS_CONFIG_DIR"],
    }
    configuration = DOCS / request.param
    if configuration.suffix == ".lua":
        drive = f"luafile {HERE / 'neovim' / 'drive.lua'}"
        command = [installed("neovim"), "--headless", "-n", "-i", "NONE", "-u", str(configuration)]
        return Editor([*command, str(prompt), "-c", drive], HERE / "neovim", ".lua", environment, prompt)
    if configuration.suffix == ".vim":
        plugins = home / ".vim" / "plugin"
        plugins.mkdir(parents=True)
        shutil.copy(configuration, plugins / "promptls.vim")
        # As Debian has it, ALE is there for those who ask for it.
        (home / ".vimrc").write_text("set nocompatible\npackadd! ale\n")
        command = [installed("vim"), "--not-a-term", "-T", "dumb", "-n", "-i", "NONE", str(prompt)]
        drive = f"source {HERE / 'vim' / 'drive.vim'}"
        return Editor([*command, "-c", drive], HERE / "vim", ".vim", environment, prompt)
    environment["PROMPTLS_CLIENT"] = configuration.stem.removeprefix("emacs-")
    command = [installed("emacs"), "--batch", "--load", str(configuration)]
    drive = str(HERE / "emacs" / "drive.el")
    return Editor([*command, "--load", drive], HERE / "emacs", ".el", environment, prompt)
