"""What promptls says of real files, where a developer keeps them beside the checkout."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from promptls.meaning.kind import Kind
from promptls.rules.checking.check import check
from promptls.workspace.disk import read_text
from promptls.workspace.workspace import Workspace
from support.soundness import assert_sound

pytestmark = pytest.mark.oracle
SUFFIXES = {".j2", ".jinja2", ".yaml", ".yml", ".sls"}
LONGEST = 20_000
"""Longer files are read once, and not broken."""


def _corpus() -> Path | None:
    for parent in Path(__file__).resolve().parents:
        folder = parent / "shared" / "corpus"
        if folder.is_dir():
            return folder
    return None


CORPUS = _corpus()


def files(*below: str) -> list[Any]:
    """The files of the corpus below the folders, as parameters; one that is skipped where there is none."""
    if CORPUS is None:
        return [pytest.param(None, marks=pytest.mark.skip(reason="the real files are not here"))]
    found = sorted(
        path
        for folder in below
        for path in (CORPUS / folder).rglob("*")
        if path.is_file() and path.suffix in SUFFIXES
    )
    return [pytest.param(path, id=str(path.relative_to(CORPUS))) for path in found]


def checked(path: Path, folder: Path) -> tuple[Kind, list[str]]:
    """The kind of a file, read from a workspace at `folder`, and its findings as text."""
    workspace = Workspace([folder])
    workspace.scan()
    text = read_text(str(path))
    assert text is not None
    workspace.open(str(path), text, 1)
    findings = check(workspace.snapshot, str(path))
    source = workspace.snapshot.open_files[str(path)].template.source
    return workspace.snapshot.kind(str(path)), [
        f"{source.place(finding.span.start).line + 1}: {finding.rule}: {finding.message}"
        for finding in findings
        if finding.severity in {"error", "warning"}
    ]


@pytest.mark.parametrize("path", files("prompts/prompt_poet"))
def test_the_templates_of_prompt_poet_itself_have_no_errors(path: Path) -> None:
    assert CORPUS is not None
    repository = (
        CORPUS / "prompts" / "prompt_poet" / path.relative_to(CORPUS / "prompts" / "prompt_poet").parts[0]
    )

    _, findings = checked(path, repository)

    assert findings == []


@pytest.mark.parametrize("path", files("not_prompts"))
def test_a_file_that_is_no_prompt_is_left_alone(path: Path) -> None:
    kind, findings = checked(path, path.parent)

    assert (kind, findings) == (Kind.OTHER, [])


@pytest.mark.parametrize("path", files("prompts", "not_prompts", "ragas"))
def test_a_real_file_is_read_whole_and_cut_off_anywhere(path: Path) -> None:
    text = read_text(str(path))
    assert text is not None
    assert_sound(text)
    if len(text) <= LONGEST:
        places = random.Random(len(text)).sample(range(len(text) + 1), min(4, len(text) + 1))
        for place in places:
            assert_sound(text[:place])
            assert_sound(text[:place] + text[place + 1 :])


@pytest.mark.skipif(CORPUS is None, reason="the real files are not here")
def test_the_one_mistake_in_the_history_of_prompt_poet_is_found() -> None:
    assert CORPUS is not None
    folder = CORPUS / "prompts" / "prompt_poet_history"
    found = {
        (path.name, finding.split(": ")[0], finding.split(": ")[1])
        for path in sorted(folder.rglob("*.j2"))
        for finding in checked(path, path.parent)[1]
    }

    assert found == {("11416ac8-locate_2.yml.j2", "21", "jinja-syntax")}
