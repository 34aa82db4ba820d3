"""Which commit a folder stands at, read by git itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

# Seconds after which a run goes on without knowing; a huge repository must not hold it up.
PATIENCE = 5.0


def git_state(folder: Path) -> dict[str, Any] | None:
    """`commit`, and `dirty`: whether files that git knows have changed since; None outside of git."""
    commit = _answer(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _answer(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changed is None else bool(changed)}


def _answer(folder: Path, *words: str) -> str | None:
    # Reading must not take the lock that the user's own git command may be waiting for.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - every word is a constant of this file
            ["git", *words],  # noqa: S607 - which git there is, the user's path says
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
