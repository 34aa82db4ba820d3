"""Findings in files of real projects."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from promptls.lint.runner import check
from promptls.semantic.kind import Kind
from promptls.workspace.disk import text_on_disk
from promptls.workspace.workspace import Workspace
from support.corpus import FILES, corpus
from support.soundness import assert_sound

LONGEST = 20_000
"""Longer files are only read once, without breaking them."""


def checked(path: Path, folder: Path) -> tuple[Kind, list[str]]:
    """Return the kind of a file in a workspace at `folder`, and its findings as text."""
    workspace = Workspace([folder])
    workspace.scan()
    text = text_on_disk(str(path))
    assert text is not None
    workspace.open(str(path), text, 1)
    findings = check(workspace.snapshot, str(path))
    source = workspace.snapshot.open_files[str(path)].template.source
    return workspace.snapshot.kind(str(path)), [
        f"{source.line_column(finding.span.start).line + 1}: {finding.rule}: {finding.message}"
        for finding in findings
        if finding.severity in {"error", "warning"}
    ]


@pytest.mark.parametrize("path", corpus("prompts/parts"))
def test_prompt_poet_templates_have_no_errors(path: Path) -> None:
    _, findings = checked(path, FILES / "prompts" / "parts")

    assert findings == []


@pytest.mark.parametrize("path", corpus("not_prompts"))
def test_a_file_that_is_no_prompt_is_left_alone(path: Path) -> None:
    kind, findings = checked(path, path.parent)

    assert (kind, findings) == (Kind.OTHER, [])


@pytest.mark.parametrize("path", corpus("prompts", "not_prompts"))
def test_a_file_is_read_whole_and_cut_off_anywhere(path: Path) -> None:
    text = text_on_disk(str(path))
    assert text is not None
    assert_sound(text)
    if len(text) <= LONGEST:
        places = random.Random(len(text)).sample(range(len(text) + 1), min(4, len(text) + 1))
        for place in places:
            assert_sound(text[:place])
            assert_sound(text[:place] + text[place + 1 :])
