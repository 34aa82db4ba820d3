"""A running `promptls preview` with a browser's page on it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServedPreview:
    """Where the page is, and the process behind it."""

    address: str
    process: subprocess.Popen[str]

    def interrupt(self) -> str:
        """Press Ctrl+C; returns what the command says at its end."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=20)
        return errors


@contextmanager
def served(file: Path, *options: str) -> Iterator[ServedPreview]:
    """The preview of a file, until the end of the block."""
    command = [sys.executable, "-m", "promptls", "preview", str(file), "--no-open", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + (process.stderr.read() if process.stderr else "")
        yield ServedPreview(found[0], process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(20)
