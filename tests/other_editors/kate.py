"""Kate without a window, with the configuration of docs/editors.

Kate cannot be controlled from outside. Its messages can be read, because the first `promptls` on its path is
a command that copies the server's messages into a pipe.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from real_editor import PATIENCE

SETTINGS = """\
[Kate Plugins]
lspclientplugin=true

[lspclient]
AllowedServerCommandLines={command}
"""
COMMAND = """\
#!/bin/sh
"{python}" -m promptls | tee "{pipe}"
"""


@contextmanager
def kate(command: str, docs: Path, prompt: Path, home: Path) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield the server's messages while Kate has the prompt open."""
    server = home / "bin" / "promptls"
    pipe = home / "messages"
    _configure(home, docs, server)
    os.mkfifo(pipe)
    server.write_text(COMMAND.format(python=sys.executable, pipe=pipe))
    server.chmod(0o755)
    environment = {
        **os.environ,
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PATH": f"{server.parent}{os.pathsep}{os.environ['PATH']}",
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_RUNTIME_DIR": str(home),
    }
    # Opened for writing as well, the pipe neither waits for the server nor ends before it.
    reader = os.open(pipe, os.O_RDWR)
    started = subprocess.Popen(
        ["dbus-run-session", "--", command, "--new", "--block", str(prompt)],
        cwd=prompt.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield _messages(reader)
    finally:
        os.killpg(started.pid, 9)
        started.wait()
        os.close(reader)


def _configure(home: Path, docs: Path, server: Path) -> None:
    settings = home / ".config" / "kate" / "lspclient"
    syntax = home / ".local" / "share" / "org.kde.syntax-highlighting" / "syntax"
    for folder in (settings, syntax, server.parent):
        folder.mkdir(parents=True)
    home.chmod(0o700)
    shutil.copy(docs / "kate.json", settings / "settings.json")
    shutil.copy(docs / "kate-prompt.xml", syntax)
    (home / ".config" / "katerc").write_text(SETTINGS.format(command=server))


def _messages(reader: int) -> Iterator[dict[str, Any]]:
    deadline = time.monotonic() + PATIENCE
    received = b""
    while True:
        header, end, rest = received.partition(b"\r\n\r\n")
        length = int(header.lower().split(b"content-length:")[1].split()[0]) if end else 0
        if end and len(rest) >= length:
            received = rest[length:]
            yield json.loads(rest[:length])
            continue
        ready, _, _ = select.select([reader], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            pytest.fail(f"the server said nothing more in {PATIENCE} seconds")
        received += os.read(reader, 65_536)
