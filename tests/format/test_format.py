from __future__ import annotations

import pytest

from promptls.format.prompt_file import format_edits, format_text
from promptls.syntax.source import Source
from promptls.text.positions import Span


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- name :  a\n  content:   |\n    x\n", "- name: a\n  content: |\n    x\n", id="keys"),
        pytest.param("- name: a   \n  content: b\t\n", "- name: a\n  content: b\n", id="ends of lines"),
        pytest.param(
            "-   name: a\n    content: |\n        {{ x | indent(8) }}\n",
            "- name: a\n  content: |\n        {{ x | indent(8) }}\n",
            id="part keys move, and the text under them stays",
        ),
        pytest.param(
            "- name: a\n  content: b\n\n\n\n{%if x%}\n\n\n- name: c\n  content: d\n{%endif%}\n",
            "- name: a\n  content: b\n\n{% if x %}\n\n- name: c\n  content: d\n{% endif %}\n",
            id="blank lines between parts",
        ),
        pytest.param("- name: a\n  content: b", "- name: a\n  content: b\n", id="the last line end"),
        pytest.param(
            "- name:  a\r\n  content: b  \r\n\r\n\r\n- name: c\r\n  content: d",
            "- name: a\r\n  content: b\r\n\r\n- name: c\r\n  content: d\r\n",
            id="line ends of two characters",
        ),
        pytest.param(
            "- name: a\n  sections:\n    -   name:  b\n        content:   c  \n",
            "- name: a\n  sections:\n    -   name: b\n        content: c\n",
            id="keys of sections",
        ),
        pytest.param(
            "instruction:   Answer.  \ninput_keys:  [ a,b ]\n\n\noutput_key: c\n",
            "instruction: Answer.\ninput_keys: [ a,b ]\n\noutput_key: c\n",
            id="a prompt object, whose lists in brackets stay",
        ),
        pytest.param(
            "{#---\nname: x\n---#}\n- name:   task\n  role :   system\n  content: hi\n",
            "{#---\nname: x\n---#}\n- name: task\n  role: system\n  content: hi\n",
            id="the first part after a header",
        ),
        pytest.param(
            "{#---\nname: x\n---#}\n{%- set a = 1 -%}\n-   name: task\n    role: system\n    content: hi\n",
            "{#---\nname: x\n---#}\n{%- set a = 1 -%}\n- name: task\n  role: system\n  content: hi\n",
            id="the first part after a header and tags that print nothing",
        ),
    ],
)
def test_the_frame_is_laid_out(before: str, after: str) -> None:
    assert format_text(before, frame=True) == after
    assert format_text(after, frame=True) == after


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- name: a\n  content: |\n    x   \n\n\n\n    y  :  z\n", id="the text of a block"),
        pytest.param(
            "- name: z\n  content: |\n    x\n{%- set a = 1 -%}\n- name:  a\n  content: b\n",
            id="a part that a trimming tag puts at the end of a text",
        ),
        pytest.param("- name: a\n  content: |+\n    x\n\n\n\n- name: b\n  content: c\n", id="kept line ends"),
        pytest.param('- name: a\n  content: "x  \n\n\n    y"\n', id="the text of a quoted scalar"),
        pytest.param("- name: a\n  content: x  \n    y\n", id="a plain text over two lines"),
        pytest.param("-   name: a\n    content: |2\n        x\n", id="a stated indentation"),
        pytest.param(
            "-   name: a\n{{ more_keys }}\n    content: b\n", id="keys beside others that Jinja prints"
        ),
        pytest.param(
            "- name: a\n  content: |\n    x\n\n\n\n{% include 'tail' %}\n- name: b\n  content: c\n",
            id="blank lines before an include that may go on with the text",
        ),
        pytest.param(
            "- name: a\n  content: |\n    x\n    {% for y in ys %}\n\n\n    {{ y }}\n    {% endfor %}\n",
            id="blank lines in a loop's body",
        ),
        pytest.param(
            "{% set text %}\n- name:   a\n\n\n\n- name:   b\n{% endset %}\n- name: c\n  content: d\n",
            id="a text that is used elsewhere",
        ),
        pytest.param("- name: a\n  content: b\n\n\n\n", id="the last lines, which an includer sees"),
        pytest.param("- hosts:   all\n  tasks:   []\n", id="a list that is none of parts"),
        pytest.param("- name:   a\n  content: 'b\n", id="a part whose YAML is broken"),
        pytest.param("- name: {{ x }}  \n  content: b\n", id="a line whose end Jinja may print"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_may_render_stays(text: str) -> None:
    assert format_text(text, frame=True) == text


def test_of_a_broken_text_what_is_sound_is_laid_out() -> None:
    text = "- name:  a\n  content: {{x}} {{y\n- name:  b\n  content: 'c\n- name:  d\n  content: {{z}}\n"

    assert format_text(text, frame=True) == (
        "- name: a\n  content: {{ x }} {{y\n- name:  b\n  content: 'c\n- name: d\n  content: {{ z }}\n"
    )


def test_edits_are_as_small_as_what_changes() -> None:
    edits = format_edits(Source.of("- name:  a\n  content: {{x}}\n"), frame=True)

    assert [(edit.span, edit.text) for edit in edits] == [
        (Span(6, 9), ": "),
        (Span(24, 24), " "),
        (Span(25, 25), " "),
    ]


def test_a_range_is_laid_out_and_nothing_around_it() -> None:
    text = "- name:  a\n  content: {{x}}\n-   name:  b\n    content: {{y}}\n"
    within = Span(text.index("{{x"), text.index("    content: {{y"))

    edits = format_edits(Source.of(text), frame=True, within=within)

    assert {text[edit.span.start - 3 : edit.span.end + 3] for edit in edits} == {
        " {{x}}",
        "{{x}}\n",
        "ame:  b\n ",
    }
