"""What an edit replaces is freed at once, without the garbage collector, whose pauses users feel."""

from __future__ import annotations

import gc

import pytest

from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace

PATH = "/folder/main.yml.j2"
TEXT = (
    "{#---\ninput_keys: [user, turns]\n---#}\n"
    + "".join(
        f"- name: part {number}\n  role: user\n  content: |\n    Some prose.\n"
        f"    {{% if user == {number} %}}\n    Dear {{{{ user | title }}}},\n    {{% endif %}}\n"
        for number in range(30)
    )
    + "{% for turn in turns %}\n- name: turn\n  content: {{ turn.text }}\n{% endfor %}\n"
)
OBJECT = (
    "instruction: |\n  Answer {{ question }}.\ninput_keys: [question]\noutput_key: answer\nexamples:\n"
    + "".join(
        f"  - question: words {number}\n    answer: |\n      Some prose.\n"
        f"  - question: 'quoted {number}'\n    answr: {{{{ question }}}}\n"
        for number in range(30)
    )
    + "output_type: json\n"
)


@pytest.mark.parametrize(
    ("text", "place", "typed"),
    [
        *(
            (TEXT, *edit)
            for edit in (
                ("prose", "x"),
                ("title", "x"),
                (" title", "|"),
                (" }}", "}"),
                ("if user", "x"),
                ("- name", "x"),
            )
        ),
        *(
            (OBJECT, *edit)
            for edit in (
                ("prose", "x"),
                ("words", "x"),
                ("quoted", "'"),
                (" question }}", "|"),
                ("answr", "e"),
                ("  - question", "  - question: a\n    answer: b\n"),
                ("output_type", "x"),
            )
        ),
    ],
)
def test_edits_leave_no_cycles(text: str, place: str, typed: str) -> None:
    workspace = Workspace()
    workspace.open(PATH, text, 1)
    start = text.index(place, len(text) // 2)

    def edit_and_back(version: int) -> None:
        workspace.edit(PATH, version, [(Span(start, start), typed)])
        check(workspace.snapshot, PATH)
        workspace.edit(PATH, version + 1, [(Span(start, start + len(typed)), "")])
        check(workspace.snapshot, PATH)

    edit_and_back(2)  # what is loaded by a first use stays
    gc.collect()
    gc.disable()
    try:
        edit_and_back(4)
        garbage = gc.collect()
    finally:
        gc.enable()

    assert garbage == 0
