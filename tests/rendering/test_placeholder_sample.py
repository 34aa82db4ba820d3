"""The placeholder sample of a file and everything that it includes."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.rendering.samples import placeholder_sample
from promptls.workspace.workspace import Workspace

INCLUDE = '{% include "below.yml.j2" %}\n'


@pytest.mark.parametrize(
    ("main", "below", "data"),
    [
        (INCLUDE, "{{ a }}", {"a": "<a>"}),
        ("{% set a = 1 %}\n" + INCLUDE, "{{ a }}", {}),
        ("{% set m = turns %}\n" + INCLUDE, "{{ m.said }}", {"turns": {"said": "<turns.said>"}}),
        (INCLUDE + "{{ a }}", "{% for b in a %}{{ b }}{% endfor %}", {"a": ["<a 1>", "<a 2>"]}),
        (INCLUDE, "{#---\ninput_keys: {a: {enum: [x, y]}}\n---#}\n{{ a }}", {"a": "x"}),
        ("{#---\ninput_keys: {a: {type: integer}}\n---#}\n" + INCLUDE, "{{ a }}", {"a": 1}),
        (INCLUDE, "{{ fetch(a) }}", {"a": "<a>"}),
        (INCLUDE, "- name: a\n  role: {{ who }}\n  content: {{ role }}\n", {"role": "<role>", "who": "user"}),
        (
            "{% for t in turns %}\n- name: a\n  role: {{ t.role | lower }}\n  content: x\n{% endfor %}\n",
            "",
            {"turns": [{"role": "user"}, {"role": "assistant"}]},
        ),
    ],
)
def test_it_has_a_value_for_each_input(
    tmp_path: Path, main: str, below: str, data: dict[str, object]
) -> None:
    (tmp_path / "below.yml.j2").write_text(below)
    workspace = Workspace([tmp_path])
    path = str(tmp_path / "main.yml.j2")
    workspace.open(path, main, 1)

    assert placeholder_sample(workspace.snapshot, path).data == data


def test_there_is_none_for_what_the_functions_file_gives(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text("def fetch(x):\n    return x\n")
    workspace = Workspace([tmp_path])
    path = str(tmp_path / "main.yml.j2")
    workspace.open(
        path, "{#---\nfunctions: functions.py\n---#}\n- name: a\n  content: '{{ fetch }} {{ b }}'\n", 1
    )

    assert placeholder_sample(workspace.snapshot, path).data == {"b": "<b>"}
