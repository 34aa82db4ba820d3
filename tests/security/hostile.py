"""A project whose Python writes a file when it is executed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptls.security.trust import TrustStore

_LEAVES = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
_PROMPT = """\
{#---
functions: functions.py
input_keys: [text]
experiments:
  main:
    dataset: rows.csv
    models: [echo]
    metrics: [metrics.py:right]
token_limit: 500
truncation_step: 10
encoding: cl100k_base
---#}
- name: question
  role: user
  content: '{{ shout(text) }}'
"""


@dataclass(frozen=True)
class Hostile:
    """The project, and the configuration of a user without any trust decision."""

    folder: Path
    configuration: Path

    @classmethod
    def at(cls, folder: Path, configuration: Path) -> Hostile:
        """Write the project."""
        folder.mkdir()
        (folder / ".git").mkdir()
        (folder / "functions.py").write_text(f"{_LEAVES}def shout(text):\n    return text.upper()\n")
        (folder / "metrics.py").write_text(f"{_LEAVES}def right(response):\n    return 1.0\n")
        (folder / "rows.csv").write_text("text\nhello\n")
        (folder / "prompt.yml.j2").write_text(_PROMPT)
        (folder / "plain.yml.j2").write_text("- {name: a, role: user, content: hello}\n")
        (folder / "notes.md").write_text("# Invoices\n\nAn invoice is due after thirty days.\n")
        return cls(folder, configuration)

    @property
    def store(self) -> TrustStore:
        """Return the store of the user's decisions."""
        return TrustStore(self.configuration / "trust.json")

    @property
    def prompt(self) -> Path:
        """Return a prompt whose functions and metrics write a file."""
        return self.folder / "prompt.yml.j2"

    @property
    def has_run(self) -> bool:
        """Return whether Python of the folder was executed."""
        return (self.folder / "ran").exists()

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables of a process of this user."""
        return {**os.environ, "PROMPTLS_CONFIG_DIR": str(self.configuration), "NO_COLOR": "1"}

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder, without a terminal."""
        return subprocess.run(
            promptls(words), cwd=self.folder, env=self.environment(), input="", capture_output=True,
            encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip


def promptls(words: Sequence[str]) -> list[str]:
    """Return the command line of promptls."""
    return [sys.executable, "-m", "promptls", *words]
