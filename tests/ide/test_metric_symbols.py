"""A metric is one symbol in the headers that use it and in the Python files that define and use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.navigation import definition_steps
from promptls.ide.rename import rename_steps
from promptls.ide.symbols import occurrences, symbol_at
from promptls.text.errors import UserError
from promptls.text.steps import finish
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace

PROMPT = """\
{#---
input_keys: [text]
experiments:
  main: {dataset: rows.csv, metrics: ["metrics.py:right", metrics.py:other, right]}
---#}
- name: a
  content: "{{ text }}"
"""
METRICS = '''\
"""Größen."""
from promptls import discrete_metric


@discrete_metric(allowed_values=["pass", "fail"])
def right(response): return "pass"


@discrete_metric(allowed_values=["pass", "fail"])
def other(response): return "ß" + right(response)
'''
CALLER = """\
from metrics import right
from promptls import experiment


@experiment()
def run(row): right(row)
"""


def opened(folder: Path, files: dict[str, str]) -> Snapshot:
    workspace = Workspace([folder])
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
        workspace.file_changed(str(folder / name))
    workspace.scan_calls()
    return workspace.snapshot


FILES = {"a.yml.j2": PROMPT, "b.yml.j2": PROMPT, "metrics.py": METRICS, "caller.py": CALLER}


def place(folder: Path) -> tuple[str, int]:
    return str(folder / "a.yml.j2"), PROMPT.index("right") + 2


def test_a_metric_leads_to_its_function(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, FILES)

    (target,) = finish(definition_steps(snapshot, *place(tmp_path)))

    assert (Path(target.path).name, target.span.start) == ("metrics.py", METRICS.index("right("))


def test_a_metric_has_places_in_headers_and_programs(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, FILES)
    symbol = symbol_at(snapshot, *place(tmp_path))
    assert symbol is not None

    found = [(Path(each.path).name, each.span.start, each.use) for each in occurrences(snapshot, symbol)]

    assert found == [
        ("a.yml.j2", PROMPT.index("right"), "read"),
        ("b.yml.j2", PROMPT.index("right"), "read"),
        ("caller.py", CALLER.index("right"), "read"),
        ("caller.py", CALLER.rindex("right"), "read"),
        ("metrics.py", METRICS.index("right"), "declaration"),
        ("metrics.py", METRICS.rindex("right"), "read"),
    ]


def test_a_metric_is_renamed_in_headers_and_programs(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, FILES)

    edits = finish(rename_steps(snapshot, *place(tmp_path), "exact"))

    texts = dict(FILES)
    for edit in sorted(edits, reverse=True):
        name = Path(edit.path).name
        texts[name] = texts[name][: edit.span.start] + edit.text + texts[name][edit.span.end :]
    assert texts["a.yml.j2"] == texts["b.yml.j2"] == PROMPT.replace("py:right", "py:exact")
    assert texts["metrics.py"] == METRICS.replace("right", "exact")
    assert texts["caller.py"] == CALLER.replace("right", "exact")
    assert not any(edit.needs_review for edit in edits)


@pytest.mark.parametrize(
    ("new", "reason"), [("other", "is taken"), ("class", "keyword of Python"), ("a b", "is not a name")]
)
def test_a_metric_does_not_take_a_name_that_cannot_be(new: str, reason: str, tmp_path: Path) -> None:
    snapshot = opened(tmp_path, FILES)

    with pytest.raises(UserError) as refused:
        finish(rename_steps(snapshot, *place(tmp_path), new))

    assert reason in refused.value.message


@pytest.mark.parametrize(
    "files",
    [
        {"a.yml.j2": PROMPT},
        {"a.yml.j2": PROMPT, "metrics.py": "def (:"},
        {"a.yml.j2": PROMPT, "metrics.py": "right = 1\n"},
    ],
    ids=["no file", "a broken file", "no function"],
)
def test_what_leads_to_no_function_is_no_symbol(files: dict[str, str], tmp_path: Path) -> None:
    assert symbol_at(opened(tmp_path, files), *place(tmp_path)) is None
