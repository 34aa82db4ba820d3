"""The official configurations of OpenCompass are read, checked and shown.

They are not part of this repository: set `PROMPTLS_OPENCOMPASS=/path/to/checkout` to a clone.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from promptls.convert.formats import convert
from promptls.programs.findings import findings_of_python
from promptls.rendering.execute import execute
from promptls.rendering.make import job_for
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.samples import evaluation_job, placeholder_sample
from promptls.text.errors import UserError
from promptls.workspace.configuration_files import ConfigurationFiles
from promptls.workspace.workspace import Workspace

CHECKOUT = Path(os.environ.get("PROMPTLS_OPENCOMPASS", "no checkout"))
EVERY = int(os.environ.get("PROMPTLS_OPENCOMPASS_EVERY", "1"))
"""The step between the files that are tried."""

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::SyntaxWarning"),
    pytest.mark.skipif(not CHECKOUT.is_dir(), reason="PROMPTLS_OPENCOMPASS names no checkout of OpenCompass"),
]
FOLDERS = {"datasets": "opencompass/configs/datasets/**/*.py", "examples": "examples/*.py"}


def configurations(folder: str) -> list[Path]:
    """Return the files that configure a dataset; others contain parts of prompts that these import."""
    files = sorted(CHECKOUT.glob(FOLDERS[folder]))[::EVERY]
    return [
        file for file in files if any(mark in file.read_text("utf-8") for mark in ("infer_cfg", "read_base"))
    ]


@cache
def read(file: Path) -> str | UserError:
    """Return the evaluation prompt of the first dataset, or the reason why it cannot be read."""
    text = file.read_text("utf-8-sig")
    files = ConfigurationFiles(str(file))
    try:
        return convert(text, str(file), "opencompass", "evaluation", files=files).text
    except UserError as error:
        return error


def shown(file: Path, text: str) -> Any:
    """Return the viewer's text of the first row."""
    path = f"{file}.yml.j2"
    workspace = Workspace([file.parent])
    workspace.open(path, text, 1)
    snapshot = workspace.snapshot
    evaluation = evaluation_job(snapshot, path)
    data = {} if evaluation.data.test or evaluation.data.examples else placeholder_sample(snapshot, path).data
    job = job_for(snapshot, path, data, with_stand_ins=True)
    return execute(job)


@pytest.mark.parametrize("folder", FOLDERS)
def test_at_least_95_percent_are_read(folder: str) -> None:
    files = configurations(folder)
    failed = {str(file): found for file in files if isinstance(found := read(file), UserError)}
    # A module that the checkout itself does not have is reported as such.
    missing = [file for file, error in failed.items() if "is not found" in str(error)]
    assert len(failed) - len(missing) <= 0.05 * len(files), failed


@pytest.mark.parametrize("folder", FOLDERS)
def test_at_least_95_percent_are_shown(folder: str) -> None:
    texts = {file: text for file in configurations(folder) if isinstance(text := read(file), str)}
    failed = {
        str(file): made.message
        for file, text in texts.items()
        if isinstance(made := shown(file, text), RenderFailure)
    }
    assert len(failed) <= 0.05 * len(texts), failed


@pytest.mark.parametrize("folder", FOLDERS)
def test_errors_are_rare(folder: str) -> None:
    files = configurations(folder)
    workspace = Workspace([CHECKOUT])
    wrong = {
        str(file): [finding.message for finding in found]
        for file in files
        if (
            found := [
                finding
                for finding in findings_of_python(workspace.snapshot, str(file)).findings
                if finding.severity == "error" and finding.rule != "unresolved-import"
            ]
        )
    }
    assert len(wrong) <= 0.02 * len(files), wrong
