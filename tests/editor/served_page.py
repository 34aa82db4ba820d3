"""A running `promptls preview` or `promptls results`, which serves a page to a browser."""

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
class ServedPage:
    """The address of the page, and the process that serves it."""

    address: str
    process: subprocess.Popen[str]

    def interrupt(self) -> str:
        """Press Ctrl+C; return the last output of the command."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=20)
        return errors


@contextmanager
def served(file: Path, *options: str, command: str = "preview") -> Iterator[ServedPage]:
    """Serve the page of a file until the end of the block."""
    words = [sys.executable, "-m", "promptls", command, str(file), "--no-open", *options]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + (process.stderr.read() if process.stderr else "")
        yield ServedPage(found[0], process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(20)
