from __future__ import annotations

import pytest

from promptls.format.prompt_file import edits_after_brace, edits_after_newline
from promptls.lint.rule import apply_edits
from promptls.syntax.source import Source


def typed(marked: str, *, newline: bool) -> str:
    """Return the text after the edits for typing at `|`; `|` in the result is the cursor."""
    offset = marked.index("¦")
    text = marked.replace("¦", "")
    source = Source.of(text)
    edits = edits_after_newline(source, offset) if newline else edits_after_brace(source, offset)
    return apply_edits(text, edits)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- name: a\n  content: {{x|trim}}¦ b\n", "- name: a\n  content: {{ x | trim }} b\n"),
        ("{%if x%}¦\n", "{% if x %}\n"),
        ("{{ x }¦\n", "{{ x }\n"),
        ("{{ {'a':1}¦\n", "{{ {'a':1}\n"),
        ("{% if a %}\n{% for b in c %}x{% end %}¦\n", "{% if a %}\n{% for b in c %}x{% endfor %}\n"),
        (
            "{% if a %}\n- name: b\n  content: c\n{%- end -%}¦\n",
            "{% if a %}\n- name: b\n  content: c\n{%- endif -%}\n",
        ),
        ("{% if a %}x{%end%}¦\n", "{% if a %}x{% endif %}\n"),
        ("{% end %}¦\n", "{% end %}\n"),
        ("{% if a %}\n  x\n{%endif%}¦\n{% endif %}\ny\n", "{% if a %}\n  x\n{% endif %}\ny\n"),
        (
            "{% if a %}{% if b %}\n{% endif %}¦\n{% endif %}\n",
            "{% if a %}{% if b %}\n{% endif %}\n{% endif %}\n",
        ),
        ("{% if a %}\n{% endif %}¦\n{% endfor %}\n", "{% if a %}\n{% endif %}\n{% endfor %}\n"),
    ],
)
def test_a_closed_tag_is_spaced_and_its_end_named(before: str, after: str) -> None:
    assert typed(before, newline=False) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- name: a\n¦\n", "- name: a\n  \n", id="keys of a part"),
        pytest.param("- name: a\n  role: user\n¦", "- name: a\n  role: user\n  ", id="the next key"),
        pytest.param(
            "- name: a\n  content: |\n  ¦\n", "- name: a\n  content: |\n    \n", id="the text of a block"
        ),
        pytest.param(
            "- name: a\n  content: >-2\n¦\n", "- name: a\n  content: >-2\n    \n", id="a header with a digit"
        ),
        pytest.param(
            "- name: a\n  content: |\n      use this: |\n¦\n",
            "- name: a\n  content: |\n      use this: |\n      \n",
            id="text that looks like a key",
        ),
        pytest.param(
            "- name: 'a\n  content: |\n    use this:\n¦\n",
            "- name: 'a\n  content: |\n    use this:\n    \n",
            id="text in broken YAML",
        ),
        pytest.param(
            "- name: a\n  sections:\n¦\n", "- name: a\n  sections:\n    \n", id="below a key without value"
        ),
        pytest.param(
            "- name: a\n  content: |\n    b\n¦    c\n",
            "- name: a\n  content: |\n    b\n    c\n",
            id="not empty",
        ),
        pytest.param(
            "- name: a\n  content: |\n    {% if b %}\n¦\n- name: c\n  content: d\n",
            "- name: a\n  content: |\n    {% if b %}\n    \n    {% endif %}\n- name: c\n  content: d\n",
            id="the end tag that is due",
        ),
        pytest.param(
            "- name: a\n  content: |\n    {% if b %}\n    ¦\n    {% endif %}\n",
            "- name: a\n  content: |\n    {% if b %}\n    \n    {% endif %}\n",
            id="an end tag that stands there",
        ),
        pytest.param("{#---\n¦}", "{#---\n", id="a brace that the editor closed in a header"),
        pytest.param("{#---\n¦}\n", "{#---\n\n---#}\n", id="the end of a header in place of a brace"),
        pytest.param(
            "{#---\n¦\n- name: a\n  content: b\n",
            "{#---\n\n---#}\n- name: a\n  content: b\n",
            id="the end of a header above parts",
        ),
        pytest.param("{#---\n¦\n---#}\n", "{#---\n\n---#}\n", id="a header that is closed"),
        pytest.param("{#---\n  ¦\n---#}", "{#---\n\n---#}", id="a header that the editor indented"),
        pytest.param("{% if a %}\n¦", "{% if a %}\n", id="no line for the end tag"),
        pytest.param("{# a\n   b\n¦\n#}", "{# a\n   b\n\n#}", id="inside a comment"),
    ],
)
def test_a_new_line_is_indented_as_what_it_continues(before: str, after: str) -> None:
    assert typed(before, newline=True) == after


def test_an_end_tag_is_inserted_below_the_last_line_of_an_editor_that_keeps_its_cursor() -> None:
    text = "- name: a\n  content: |\n    {% if b %}\n    "
    edits = edits_after_newline(Source.of(text), len(text), keeps_cursor=True)
    assert apply_edits(text, edits) == f"{text}\n    {{% endif %}}"
