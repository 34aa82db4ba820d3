"""Hints about a recurring habit are shown at the first place in a file."""

from __future__ import annotations

from pathlib import Path

from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace

PATH = "/project/main.yml.j2"
PART = "- name: part {n}\n  content: |\n    {{{{ text }}}}{note}\n"
NOTE = " {# promptls: ignore[unescaped-multiline-input] ours #}"


def hints(text: str, settings: dict[str, object] | None = None) -> list[tuple[int, str]]:
    """Return the line and message of each finding of the rule about line breaks."""
    workspace = Workspace([Path("/project")])
    workspace.set_editor_settings(settings)
    workspace.open(PATH, text, 1)
    return found_in(workspace)


def found_in(workspace: Workspace) -> list[tuple[int, str]]:
    source = workspace.snapshot.open_files[PATH].template.source
    return [
        (source.line_column(finding.span.start).line, finding.message)
        for finding in check(workspace.snapshot, PATH)
        if finding.rule == "unescaped-multiline-input"
    ]


def parts(number: int, note: str = "") -> str:
    return "".join(PART.format(n=n, note=note if n == 0 else "") for n in range(number))


MESSAGE = "a line break in `text` would end this block"


def test_the_first_of_many_positions_is_reported() -> None:
    assert hints(parts(200)) == [(2, MESSAGE)]


def test_every_position_is_reported_at_higher_severities() -> None:
    found = hints(parts(3), {"rules": {"unescaped-multiline-input": "warning"}})

    assert found == [(2, MESSAGE), (5, MESSAGE), (8, MESSAGE)]


def test_a_place_that_is_suppressed_hides_no_other() -> None:
    assert hints(parts(2, NOTE)) == [(5, MESSAGE)]


def test_the_first_place_moves_with_an_edit() -> None:
    workspace = Workspace([Path("/project")])
    text = parts(50)
    workspace.open(PATH, text, 1)
    found_in(workspace)
    place = text.index("text")

    workspace.edit(PATH, 2, [(Span(place, place + 4), "'b'")])

    assert found_in(workspace) == [(5, MESSAGE)]
