"""The command line as a process: with its output in pipes, or on a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

COMMAND = (sys.executable, "-m", "promptls")
PATIENCE = 120


def environment(**more: str) -> dict[str, str]:
    """Return the environment of this process without variables about the appearance of output."""
    unwanted = {"NO_COLOR", "FORCE_COLOR", "CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "PYTHONIOENCODING": "utf-8", "TERM": "xterm-256color", **more}


def piped(arguments: Sequence[str], folder: Path, stdin: bytes = b"", **more: str) -> tuple[int, str]:
    """Return the exit code and the two output streams of the command."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(**more),
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8")


def on_terminal(arguments: Sequence[str], folder: Path, **more: str) -> tuple[int, str]:
    """Return the exit code and the output of a command that runs on a terminal."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(**more),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    received = bytearray()
    try:
        while piece := _read(ours):
            received += piece
        return process.wait(PATIENCE), received.decode("utf-8")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says in this way that nobody writes any more
        return b""
