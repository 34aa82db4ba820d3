"""Refactorings at any place of any text never fail, and rendering-preserving ones change no rendering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.template_rendering import render
from promptls.ide.refactor import offers
from promptls.lint.rule import apply_edits
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace
from support.example_counts import examples
from support.templates import DATA, templates
from support.texts import OWN

pytestmark = pytest.mark.thorough

MAIN = "/project/main.yml.j2"
SAME = frozenset(
    {"extract-section", "inline-section", "extract-macro", "wrap-in-if", "input-keys-form", "add-header"}
)
"""The refactorings that do not change what a prompt renders to."""


def workspace_of(text: str) -> Workspace:
    workspace = Workspace([Path("/project")])
    workspace.open(MAIN, text, 1)
    return workspace


def rendered(files: dict[str, str], data: dict[str, Any]) -> Any:
    try:
        prompt = render(MAIN, {**data, "condition": True}, unsaved=files)
    except PromptPoetError as failure:
        return failure.kind
    return [(part.name, part.role, part.content) for part in prompt.parts]


@examples(150)
@given(templates(), DATA, st.floats(0, 1), st.floats(0, 1))
def test_what_a_refactored_template_renders_to_stays(
    text: str, data: dict[str, Any], first: float, second: float
) -> None:
    start, end = sorted((round(first * len(text)), round(second * len(text))))
    before = rendered({MAIN: text}, data)
    for name, offer in offers(workspace_of(text).snapshot, MAIN, Span(start, end)):
        if name in SAME and not offer.reason and not isinstance(before, str):
            change = offer.change()
            files = {MAIN: apply_edits(text, change.edits), **change.new_files}
            assert rendered(files, data) == before, (name, files)


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_no_place_of_a_text_makes_a_refactoring_fail(text: str) -> None:
    for cut in (len(text), len(text) // 2, len(text) // 3):
        whole = text[:cut]
        snapshot = workspace_of(whole).snapshot
        for start in range(0, len(whole) + 1, 7):
            for end in (start, min(start + 40, len(whole))):
                for _, offer in offers(snapshot, MAIN, Span(start, end)):
                    change = offer.change()
                    assert all(0 <= edit.span.start <= edit.span.end <= len(whole) for edit in change.edits)
