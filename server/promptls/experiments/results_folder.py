"""Where the results of a prompt's runs go, and what they are named after."""

from __future__ import annotations

import re
from pathlib import Path

from promptls.workspace.project_settings import ProjectFile, find_project


def results_folder(prompt: Path, project: ProjectFile | None = None) -> Path:
    """The folder of the results: in the project's root, or beside the prompt where there is no project."""
    found = project or find_project(prompt)
    return (found.root if found.path is not None else prompt.absolute().parent) / "experiments"


def prompt_stem(prompt: Path) -> str:
    """The prompt file's name without its endings, which names its runs: `triage_v2`."""
    return re.sub(r"\.ya?ml(\.j2)?$|\.j2$", "", prompt.name)
