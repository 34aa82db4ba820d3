"""The language servers that are compared with promptls, and their installation."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

PEERS_FOLDER = Path.home() / ".cache" / "promptls" / "benchmark-peers"


class Server(NamedTuple):
    """A language server: its command, and the language id of its documents."""

    name: str
    command: list[str]
    language: str = "yaml-jinja"


PROMPTLS = Server("promptls", [sys.executable, "-m", "promptls", "server"])
EMPTY = Server("empty", [sys.executable, str(Path(__file__).with_name("empty_server.py"))])


def peers() -> list[Server]:
    """Return the other servers; the first time, they are installed, which takes a minute and needs the
    network.
    """
    return [_jinja_lsp(), _yaml_language_server()]


def _jinja_lsp() -> Server:
    folder = PEERS_FOLDER / "jinja-lsp"
    program = folder / "bin" / "jinja-lsp"
    if not program.exists():
        venv.create(folder, with_pip=True)
        pip = str(folder / "bin" / "pip")
        subprocess.run([pip, "install", "--quiet", "jinja-lsp==0.4.2"], check=True)
    return Server("jinja-lsp", [str(program), "lsp"], "jinja")


def _yaml_language_server() -> Server:
    folder = PEERS_FOLDER / "yaml-language-server"
    program = folder / "node_modules" / ".bin" / "yaml-language-server"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm") or "npm"
        subprocess.run(
            [npm, "install", "--silent", "--prefix", str(folder), "yaml-language-server"], check=True
        )
    return Server("yaml-language-server", [str(program), "--stdio"], "yaml")
