from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.navigation import Calls, call_item, incoming, macro_named, outgoing
from promptls.workspace.snapshot import Snapshot
from support.fixture import opened

ROOT = Path("/project")
FILES = """\
-- main.yml.j2 --
{% import 'tools.yml.j2' as tools %}
{% from 'tools.yml.j2' import greet as hello, twice %}
- name: a
  content: "{{ tools.greet() }}{{ hello() }}{{ hello() }}{{ other() }}"
{% macro both() %}{{ twice() }}{% include 'part.yml.j2' %}{% endmacro %}
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: x
-- tools.yml.j2 --
{% macro greet() %}hi{% endmacro %}
{% macro twice() %}{{ greet() }}{{ greet() }}{% endmacro %}
"""


def shown(snapshot: Snapshot, found: tuple[Calls, ...], path: str = "") -> list[str]:
    lines = []
    for calls in found:
        template = snapshot.template(path or calls.item.path)
        assert template is not None
        places = [template.source.line_column(span.start).line + 1 for span in calls.places]
        lines.append(f"{calls.item.kind} {calls.item.name} {places}")
    return lines


@pytest.mark.parametrize(
    ("file", "words", "item"),
    [
        ("main.yml.j2", "tools.|greet", "macro greet"),
        ("main.yml.j2", "{{ |hello() }}{{ hello", "macro greet"),
        ("main.yml.j2", "import |greet", "macro greet"),
        ("main.yml.j2", "as |tools", "file tools.yml.j2"),
        ("main.yml.j2", "'pa|rt.yml.j2' %}\n", "file part.yml.j2"),
        ("main.yml.j2", "macro |both", "macro both"),
        ("main.yml.j2", "co|ntent", "file main.yml.j2"),
        ("part.yml.j2", "|b", "file part.yml.j2"),
    ],
)
def test_a_place_leads_to_its_macro_or_file(file: str, words: str, item: str) -> None:
    snapshot, files = opened(FILES)
    before, _, behind = words.partition("|")
    offset = files[file].text.index(before + behind) + len(before)

    found = call_item(snapshot, str(ROOT / file), offset)

    assert found is not None
    assert f"{found.kind} {found.name}" == item


def test_callers_of_a_macro_are_listed_by_macro_and_file() -> None:
    snapshot, _ = opened(FILES)
    item = macro_named(snapshot, str(ROOT / "tools.yml.j2"), "greet", 0)
    assert item is not None

    assert shown(snapshot, incoming(snapshot, item)) == ["file main.yml.j2 [4, 4, 4]", "macro twice [2, 2]"]


def test_whom_a_macro_calls() -> None:
    snapshot, _ = opened(FILES)
    main = str(ROOT / "main.yml.j2")
    item = macro_named(snapshot, main, "both", 0)
    assert item is not None

    assert shown(snapshot, outgoing(snapshot, item), main) == ["macro twice [5]", "file part.yml.j2 [5]"]


def test_call_hierarchy_of_a_file_has_its_includers_and_its_calls_outside_of_macros() -> None:
    snapshot, _ = opened(FILES)
    main = str(ROOT / "main.yml.j2")
    part = call_item(snapshot, str(ROOT / "part.yml.j2"), 0)
    entry = call_item(snapshot, main, snapshot.template(main).source.text.index("content"))
    assert part is not None
    assert entry is not None

    assert shown(snapshot, incoming(snapshot, part)) == ["macro both [5]", "file main.yml.j2 [6]"]
    assert shown(snapshot, outgoing(snapshot, entry), main) == [
        "file tools.yml.j2 [1, 2]",
        "macro greet [4, 4, 4]",
        "file part.yml.j2 [6]",
    ]
    assert incoming(snapshot, entry) == ()
