"""At every place of every text, whole or truncated, completion and signature help answer, and replace only
the word.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptls.ide.completion import CompletionList, complete
from promptls.ide.completion.documentation import documentation
from promptls.ide.signature_help import signature_help
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace
from support.accepting import accepted, filled
from support.corpus import corpus
from support.example_counts import THOROUGH
from support.texts import OWN, example_texts

PATH = "/project/main.yml.j2"
STEP = 1 if os.environ.get("PROMPTLS_LONG_TESTS") else 5 if THOROUGH else 11
TEXTS = {**OWN, **example_texts()}


def opened(text: str) -> Snapshot:
    workspace = Workspace([Path("/project")])
    workspace.open(PATH, text, 1)
    return workspace.snapshot


def assert_keeps_to_the_word(text: str, offset: int, found: CompletionList) -> None:
    insert, replace = found.insert, found.replace
    assert 0 <= insert.start <= insert.end == offset <= replace.end <= len(text)
    assert insert.start == replace.start
    word = text[replace.start : replace.end]
    assert "\n" not in word
    assert "\r" not in word
    assert not any(mark in word for mark in ("{{", "}}", "{%", "%}", "#}")), word
    for item in found.items:
        assert item.label
        after = accepted(text, found, item)
        assert after.startswith(text[: insert.start])
        assert after.endswith(text[replace.end :])
        assert "${" not in filled(item.snippet)


def look(snapshot: Snapshot, text: str, offset: int) -> None:
    signature_help(snapshot, PATH, offset)
    found = complete(snapshot, PATH, offset)
    if found is None:
        return
    assert_keeps_to_the_word(text, offset, found)
    for item in (found.items[0], found.items[-1]):
        documentation(snapshot, PATH, item.label, found.source, found.path, offset)


@pytest.mark.parametrize("name", TEXTS)
def test_every_place_of_a_text_is_answered(name: str) -> None:
    text = TEXTS[name]
    snapshot = opened(text)
    for offset in range(0, len(text) + 1, STEP):
        look(snapshot, text, offset)


@pytest.mark.parametrize("name", TEXTS)
def test_every_beginning_of_a_text_is_answered_at_its_end(name: str) -> None:
    text = TEXTS[name]
    for end in range(0, len(text) + 1, STEP):
        look(opened(text[:end]), text[:end], end)


@pytest.mark.parametrize("name", TEXTS)
def test_a_position_is_mapped_even_if_the_rest_of_its_line_is_gone(name: str) -> None:
    text = TEXTS[name]
    for offset in range(0, len(text) + 1, STEP * 2):
        line_end = min(found if (found := text.find("\n", offset)) >= 0 else len(text), len(text))
        cut = text[:offset] + text[line_end:]
        look(opened(cut), cut, offset)


@pytest.mark.parametrize("path", corpus("prompts"))
def test_prompts_of_projects_are_answered_everywhere(path: Path) -> None:
    text = path.read_bytes().decode()
    step = max(len(text) // 60, 1)
    snapshot = opened(text)
    for offset in range(0, len(text) + 1, step):
        look(snapshot, text, offset)
        look(opened(text[:offset]), text[:offset], offset)
