"""Where the results of a prompt's runs go, and what they are named after."""

from __future__ import annotations

import re
from pathlib import Path

from promptls.workspace.settings import ProjectFile, find_project

MAX_MANIFEST_BYTES = 200_000_000
"""The size above which a manifest is not read."""


def results_folder(prompt: Path, project: ProjectFile | None = None) -> Path:
    """Return the folder for results: in the project's root, or beside a prompt without a project."""
    found = project or find_project(prompt)
    return (found.root if found.path is not None else prompt.absolute().parent) / "experiments"


def prompt_stem(prompt: Path) -> str:
    """Return the prompt file's name without its endings, which names its runs: `triage_v2`."""
    return re.sub(r"\.ya?ml(\.j2)?$|\.j2$", "", prompt.name)
