from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.document_symbols import match, named_symbols
from support.fixture import MAIN, opened

PATH = str(Path("/project") / "prompts" / MAIN)


def test_files_parts_macros_blocks_and_inputs_have_names() -> None:
    snapshot, files = opened("""\
-- prompts/main.yml.j2 --
{#---
input_keys: [text]
---#}
{% macro bold(x) %}{{ x }}{% endmacro %}
- name: greeting
  sections:
    - {name: first, content: "{{ text }} {{ tone }}"}
{% block rules %}
- name: rule
  content: "{{ bold(1) }}"
{% endblock %}
""")
    text = files["prompts/main.yml.j2"].text

    found = named_symbols(snapshot, PATH)

    assert [f"{thing.kind} {thing.name} in {thing.container}" for thing in found] == [
        "file main.yml.j2 in prompts",
        "input text in prompts/main.yml.j2",
        "macro bold in prompts/main.yml.j2",
        "part greeting in prompts/main.yml.j2",
        "section first in greeting",
        "block rules in prompts/main.yml.j2",
        "part rule in prompts/main.yml.j2",
        "input tone in prompts/main.yml.j2",
    ]
    assert all(text[thing.span.start : thing.span.end] == thing.name for thing in found[1:])


def test_files_that_are_no_prompts_have_no_names() -> None:
    snapshot, _ = opened("-- prompts/main.yml.j2 --\n- name: install\n  apt: x\n")

    assert named_symbols(snapshot, PATH) == ()


@pytest.mark.parametrize(
    ("query", "best", "worse"),
    [
        ("greet", "greet", "greeting"),
        ("greet", "greeting", "my greeting"),
        ("sysin", "system instructions", "sessions inside"),
        ("si", "system instructions", "asia"),
        ("TRI", "triage", "string"),
    ],
)
def test_better_matches_score_more(query: str, best: str, worse: str) -> None:
    first, second = match(query, best), match(query, worse)

    assert first is not None
    assert second is None or first > second


@pytest.mark.parametrize(("query", "name"), [("xyz", "greeting"), ("gg", "gree"), ("tg", "gt")])
def test_what_lacks_a_letter_does_not_match(query: str, name: str) -> None:
    assert match(query, name) is None


def test_nothing_typed_matches_everything() -> None:
    assert match("", "anything") == 0
