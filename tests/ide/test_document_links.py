from __future__ import annotations

from pathlib import Path

from promptls.ide.navigation import document_links, link_at
from promptls.workspace.workspace import Workspace
from support.fixture import MAIN

TEXT = """\
{#---
samples: s.yml
functions: gone.py
experiments:
  first: {dataset: "d.csv", metrics: [exact_match, m.py:score]}
---#}
{% include "tail.yml.j2" %}
{% include "gone.yml.j2" %}
{% include ["gone.yml.j2", 'other.yml.j2'] %}
"""


def test_files_that_are_there_are_links(tmp_path: Path) -> None:
    for name in ("s.yml", "d.csv", "m.py", "tail.yml.j2", "other.yml.j2"):
        (tmp_path / name).write_text("")
    workspace = Workspace([tmp_path])
    path = str(tmp_path / MAIN)
    workspace.open(path, TEXT, 1)

    links = document_links(workspace.snapshot, path)

    written = [TEXT[link.span.start : link.span.end] for link in links]
    assert written == ["s.yml", "d.csv", "m.py:score", "tail.yml.j2", "other.yml.j2"]
    assert [Path(link.target).name for link in links] == [name.split(":")[0] for name in written]
    found = link_at(workspace.snapshot, path, TEXT.index("tail") + 1)
    assert found is not None
    assert found.target == str(tmp_path / "tail.yml.j2")
    assert found.tooltip == "Open tail.yml.j2"
