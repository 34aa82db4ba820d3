"""Previews of templates that call functions without an implementation."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.rendering.execute import execute
from promptls.rendering.make import job_for
from promptls.rendering.outcome import Rendering
from promptls.rendering.samples import placeholder_sample
from promptls.workspace.workspace import Workspace


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("{{ shorten(text) }}", "<text>"),
        ("{{ now() }}", "<now>"),
        ("{{ shorten(shorten) }}", "<shorten>"),
        ("{{ shorten(text).strip() | upper }}", "<TEXT>"),
        ("{% for m in fitting(history, 3) %}{{ m.author }}: {{ m['text'] }} {% endfor %}",
         "<history 1.author>: <history 1.text> <history 2.author>: <history 2.text> "),
        ("{{ lines(text) | join(', ') }}", "<text 1>, <text 2>"),
        ("{{ persona(user).name }} {{ persona(user).greet('you') }}", "<user.name> <user.greet>"),
        ("{% for m in history %}{{ m.text }} {% endfor %}{{ fitting(history) | length }}",
         "<history 1.text> <history 2.text> 2"),
    ],
)  # fmt: skip
def test_a_preview_shows_what_the_call_is_used_for(tmp_path: Path, content: str, shown: str) -> None:
    workspace = Workspace([tmp_path])
    path = str(tmp_path / "main.yml.j2")
    workspace.open(path, f"- name: a\n  role: user\n  content: |-\n    {content}|\n", 1)
    sample = placeholder_sample(workspace.snapshot, path)

    made = execute(job_for(workspace.snapshot, path, sample.data, with_stand_ins=True))

    assert isinstance(made, Rendering), made
    assert made.parts[0].content == f"{shown}|"
