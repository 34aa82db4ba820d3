"""Runs a case in a real editor."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "editors"
QUERIES = ROOT / "grammars" / "queries" / "neovim"
PATIENCE = 180
"""Seconds after which an editor is killed."""
LOG_LENGTH = 20_000
"""Characters of a log shown on failure."""


@dataclass(frozen=True, slots=True)
class Editor:
    """A real editor with one of the configurations of docs/editors."""

    command: list[str]
    cases: Path
    ending: str
    environment: dict[str, str]
    prompt: Path

    @property
    def text(self) -> str:
        """Return the prompt's text on disk."""
        return self.prompt.read_text("utf-8")

    def run(self, case: str) -> Any:
        """Return the result of the case; fails the test if the case fails."""
        answer = self.prompt.parent.parent / f"{case}.json"
        files = {
            "PROMPTLS_CASE": self.cases / f"{case}{self.ending}",
            "PROMPTLS_ANSWER": answer,
            "PROMPTLS_PROMPT": self.prompt,
        }
        environment = {**self.environment, **{name: str(path) for name, path in files.items()}}
        done = subprocess.run(
            self.command,
            cwd=self.prompt.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if not answer.exists():
            pytest.fail(f"the editor ended with exit code {done.returncode}:\n{done.stdout}\n{done.stderr}")
        read = json.loads(answer.read_text("utf-8"))
        if "failure" in read:
            pytest.fail(f"{read['failure']}\n{done.stderr}\n{self._log()}")
        return read["answer"]

    def _log(self) -> str:
        """Return the end of the log of Neovim and the server."""
        logs = sorted(Path(self.environment["HOME"]).rglob("lsp.log"))
        return "\n".join(log.read_text("utf-8", errors="replace")[-LOG_LENGTH:] for log in logs)


def installed(name: str) -> str:
    """Return the command of an editor, which is installed if necessary."""
    script = ROOT / "scripts" / f"install-{name}.sh"
    done = subprocess.run([script], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"{script.name} failed with exit code {done.returncode}; its output says why.")
    return done.stdout.strip().splitlines()[-1]
