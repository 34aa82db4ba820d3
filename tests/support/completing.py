"""Requests completion at the cursor of a fixture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptls.ide.completion import CompletionList, complete
from support.fixture import opened
from support.rendered import rendered

ROOT = Path("/project")
HEADER = """\
{#---
input_keys:
  user:
    type: object
    description: Who asks.
    properties: {name: {type: string}, tone: {enum: [kind, firm]}}
  turns: {type: array}
output_key: answer
output_type: json
---#}
"""


SCHEMA = "output_schema: {properties: {p: {enum: [P0, P1]}, tags: {items: {enum: [x]}}}}\n"

INCLUDES = """\
-- main.yml.j2 --
- name: a
  content: x
%s
-- sections/tail.yml.j2 --
- name: tail
  content: y
-- macros.yml.j2 --
{# Greets somebody. #}
{%% macro greet(name, mark='!') %%}Hi {{ name }}{{ mark }}{%% endmacro %%}
{%% set sign = '?' %%}
{%% macro _own() %%}{%% endmacro %%}
"""


def completions(
    fixture: str, *, trigger: str = "", render: bool = False
) -> tuple[CompletionList | None, str, Any, str]:
    """Return the completion at the cursor, with the file's text, the snapshot and the path."""
    snapshot, files = opened(fixture)
    name, marked = next((name, file) for name, file in files.items() if file.cursor is not None)
    path = str(ROOT / name)
    latest = rendered(snapshot, path) if render else None
    return complete(snapshot, path, marked.cursor, latest, trigger), marked.text, snapshot, path


def labels(fixture: str, *, trigger: str = "", render: bool = False) -> list[str]:
    """Return the labels offered at the cursor."""
    found = completions(fixture, trigger=trigger, render=render)[0]
    return [item.label for item in found.items] if found else []


def in_content(text: str) -> str:
    """Return a template with the text in a content."""
    return f"{HEADER}- name: a\n  content: |\n    {text}\n- name: b\n  content: y\n"


def in_header(text: str) -> str:
    """Return a template with the text at the end of its header."""
    return HEADER.replace("---#}", f"{text}---#}}") + "- name: a\n  content: '{{ user }} {{ extra }}'\n"
