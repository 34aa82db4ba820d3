from __future__ import annotations

from pathlib import Path

from promptls.ide.preview_parts import part_lines, preview_markdown
from support.fixture import MAIN, opened
from support.rendered import rendered

PATH = str(Path("/project") / MAIN)


def test_parts_lead_to_their_lines_where_that_is_sure() -> None:
    text = (
        "- name: a\n  content: x\n{% if y %}\n- name: b\n  content: x\n{% endif %}\n- name: c\n  content: x\n"
    )
    snapshot, _ = opened(text)
    rendering = rendered(snapshot, PATH).rendering
    assert rendering is not None

    lines = part_lines(snapshot, PATH, rendering)

    assert {part.name: lines.get(part.index) for part in rendering.parts} == {
        name: line
        for name, line in {"a": 0, "b": 3, "c": 6}.items()
        if name in {p.name for p in rendering.parts}
    }


def test_the_page_has_every_part_with_role_and_tokens() -> None:
    snapshot, _ = opened("- name: a\n  role: system\n  content: |\n    ```\n    one\n")

    page = preview_markdown(rendered(snapshot, PATH))

    assert "## a (system, 3 tokens)\n\n````\n```\none\n````" in page


def test_the_page_says_where_it_does_not_render() -> None:
    snapshot, _ = opened("- name: a\n  content: '{{ 1 / 0 }}'\n")

    page = preview_markdown(rendered(snapshot, PATH))

    assert "**It does not render.**" in page
    assert f"{PATH}:2: " in page
