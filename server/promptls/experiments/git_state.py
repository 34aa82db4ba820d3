"""Which commit a folder is at, read by git itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptls.security.git import is_dirty, run_git
from promptls.text.errors import UserError


def git_state(folder: Path) -> dict[str, Any] | None:
    """`commit`, and `dirty`: whether files that git knows have changed since; None outside of git.

    `dirty` is None if git does not say in time, or only with a program that the repository names.
    """
    try:
        commit = run_git(folder, "rev-parse", "HEAD").strip()
    except UserError:
        return None
    return {"commit": commit, "dirty": is_dirty(folder)}
