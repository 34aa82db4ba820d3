"""Refactorings at many places of prompts: rendering-preserving ones change no rendering."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.template_rendering import render
from promptls.ide.refactor import offers
from promptls.lint.rule import apply_edits
from promptls.rendering.samples import placeholder_sample
from promptls.text.positions import Span
from promptls.workspace.disk import text_on_disk
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace
from support.corpus import corpus

SAME = frozenset(
    {"extract-section", "inline-section", "extract-macro", "wrap-in-if", "input-keys-form", "add-header"}
)


def rendered(path: str, data: dict[str, Any], files: dict[str, str]) -> list[tuple[Any, Any, Any]] | None:
    try:
        prompt = render(path, data, unsaved=files)
    except PromptPoetError:
        return None
    return [(part.name, part.role, part.content) for part in prompt.parts]


def data_for(snapshot: Snapshot, path: str) -> dict[str, Any]:
    return {**placeholder_sample(snapshot, path).data, "condition": True}


@pytest.mark.parametrize("path", corpus("prompts", suffixes={".j2"}))
def test_a_refactored_prompt_gives_the_same_messages(path: Path) -> None:
    text = text_on_disk(str(path)) or ""
    workspace = Workspace([path.parent])
    workspace.open(str(path), text, 1)
    data = data_for(workspace.snapshot, str(path))
    before = rendered(str(path), data, {str(path): text})
    places = random.Random(len(text))
    for _ in range(6):
        start = places.randrange(len(text) + 1)
        end = min(len(text), start + places.choice([0, 0, 40, 200, 1000]))
        for name, offer in offers(workspace.snapshot, str(path), Span(start, end)):
            change = offer.change()
            if name in SAME and not offer.reason and before is not None:
                files = {str(path): apply_edits(text, change.edits), **change.new_files}
                assert rendered(str(path), data, files) == before, (name, start, end)
