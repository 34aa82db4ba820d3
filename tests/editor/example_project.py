"""The example project as the tests open it."""

from __future__ import annotations

import shutil
from pathlib import Path

PROMPT = "triage_v2.yml.j2"
ROWS = 4
"""Rows of the dataset; few, because the embedded model takes time for each."""

_EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support_triage"


def copy_example(folder: Path) -> None:
    """Copy the example project to a new folder, with a short dataset and without results of earlier runs."""
    shutil.copytree(_EXAMPLE, folder, ignore=shutil.ignore_patterns("experiments", ".vscode"))
    dataset = folder / "datasets" / "support_triage.csv"
    lines = dataset.read_text("utf-8").splitlines(keepends=True)
    dataset.write_text("".join(lines[: ROWS + 1]), "utf-8")
