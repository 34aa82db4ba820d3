"""While a line is typed, the findings on all other lines stay."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from promptls.lint.runner import check
from promptls.workspace.workspace import Workspace

PATH = "/project/main.yml.j2"
TEXT = """\
{#---
input_keys: [text, mood]
---#}
{% set unread = 1 %}
{% macro never(b) %}{{ b }}{% endmacro %}
- name: a
  role: sytem
  content: |
    {{ txt }} {{ text }}
    {% if text %}
    x
    {% endif %}
    y
- name: here
  role: usr
  content: |
    Before.
    IN THE CONTENT
    After.
  truncation_priority: high
  IN THE PART
- name: c
  rol: user
  content: |
    {{ text | upper(1) }} \\n z
{% for text in [1] %}
- name: d
  content: "x "
{% endfor %}
"""
IN_CONTENT = "    IN THE CONTENT\n"
IN_PART = "  IN THE PART\n"


def findings(text: str, but_line: int) -> Counter[tuple[str, str]]:
    """Return the findings on all lines but one, without the numbers of further occurrences."""
    workspace = Workspace([Path("/project")])
    workspace.open(PATH, text, 1)
    source = workspace.snapshot.open_files[PATH].template.source
    return Counter(
        (finding.rule, finding.message.split(", and ")[0])
        for finding in check(workspace.snapshot, PATH)
        if source.line_column(finding.span.start).line != but_line
    )


@pytest.mark.parametrize(
    ("place", "typed"),
    [
        (IN_CONTENT, "{{ user.name | upper }}"),
        (IN_CONTENT, "{% if text %}x{% endif %}"),
        (IN_CONTENT, "{% for i in [1] %}{{ i }}{% endfor %}"),
        (IN_CONTENT, "plain: text"),
        (IN_CONTENT, "{# c #}"),
        (IN_CONTENT, "{% set q = {'a': 1} %}{{ q['a'] }}"),
        (IN_CONTENT, "\"quoted\" 'text'"),
        (IN_PART, "role: user"),
        (IN_PART, "expected_template_data_keys: [text]"),
        (IN_PART, "content: 'x'"),
        (IN_PART, "# note"),
    ],
)
def test_typing_a_line_takes_no_finding_from_another(place: str, typed: str) -> None:
    other = IN_PART if place == IN_CONTENT else IN_CONTENT
    text = TEXT.replace(other, "")
    line = text[: text.index(place)].count("\n")
    before = findings(text.replace(place, ""), -1)
    indent = place[: len(place) - len(place.lstrip())]

    for end in range(len(typed) + 1):
        assert findings(text.replace(place, f"{indent}{typed[:end]}\n"), line) == before


@pytest.mark.parametrize(
    "typed", ["token_limit: 20", "description: \"a 'b' c\"", "samples: [a, {b: c}]", "# note"]
)
def test_typing_a_key_of_the_header_takes_no_finding_from_another_line(typed: str) -> None:
    text = TEXT.replace(IN_CONTENT, "").replace(IN_PART, "")
    before = findings(text, -1)
    place = "---#}"
    line = text[: text.index(place)].count("\n")

    for end in range(len(typed) + 1):
        assert not before - findings(text.replace(place, f"{typed[:end]}\n{place}"), line)


@pytest.mark.parametrize(
    "typed", ['description: "a b"', "samples: x.yml", "experiments: {a: {dataset: d.csv}}"]
)
def test_typing_a_key_of_a_prompt_object_takes_no_finding_from_another_line(typed: str) -> None:
    place = "THE KEY\n"
    text = (
        "instruction: Answer {x}.\ninput_keys: [question]\noutput_key: answer\noutput_type: jsn\n"
        f"{place}examples:\n- {{question: a, answer: b, c: d}}\n"
    )
    before = findings(text.replace(place, ""), -1)
    assert len(before) == 3

    for end in range(len(typed) + 1):
        assert not before - findings(text.replace(place, f"{typed[:end]}\n"), 4)
