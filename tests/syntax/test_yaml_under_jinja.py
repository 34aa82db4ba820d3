from __future__ import annotations

import pytest

from promptls.semantic.template import Template
from promptls.syntax.chunk import cut
from promptls.syntax.projection import project
from promptls.syntax.source import Source


def errors(text: str) -> list[tuple[str, str]]:
    """Return the marked text and the message of each YAML error."""
    return [
        (text[problem.span.start : problem.span.end], problem.message)
        for problem in Template(Source.of(text)).syntax_problems
        if problem.language == "yaml"
    ]


RIGHT = {
    "keys in branches": "- name: a\n  {% if x %}\n  content: b\n  {% else %}\n  content: c\n  {% endif %}\n",
    "a value in exclusive branches": "- name: {% if x %}a{% else %}b{% endif %}\n  content: c\n",
    "a whole value": "- name: {{ a }}\n  content: {{ b }}\n",
    "an expression on a line of its own": "- name: a\n  content: b\n{{ more_parts }}\n",
    "an expression on a line in a block scalar": "- name: a\n  content: |\n{{ text | indent(4) }}\n    b\n",
    "two expressions on a block's first line": "- name: a\n  content: |\n    {{ b }} {{ c }}\n    d\n",
    "a space after an expression on the first line": "- name: a\n  content: |\n    {{ b }} \n    d\n",
    "deeper lines below a text's first expression":
        "- name: a\n  content: |\n    {{ b }}\n\n      - c\n    d\n",
    "deeper lines below an expression in an `if`":
        "- name: a\n  content: >- # why\n  {% if b %}\n    {{ b }}\n  {% endif %}\n      - c\n    d\n",
    "deeper lines below a first expression, and one between parts":
        "- name: a\n  content: |\n    {{ b }}\n      - c\n    d\n{{ more_parts }}\n",
    "a macro": "{% macro m() %}\n: [ no yaml\n{% endmacro %}\n- name: a\n  content: b\n",
    "a filter block": "{% filter upper %}\n: [ no yaml\n{% endfilter %}\n- name: a\n  content: b\n",
    "a block that is set": "{% set a %}: [ {% endset %}\n- name: a\n  content: b\n",
    "quotes in branches": '- name: {% if x %}"{% endif %}a{% if x %}"{% endif %}\n  content: b\n',
    "an anchor in another chunk": "- name: a\n  content: &c b\n- name: d\n  content: *c\n",
    "a raw block": "- name: a\n  content: |\n    {% raw %}{{ b }}{% endraw %}\n",
    "a loop over parts": "{% for x in y %}\n- name: a\n  content: {{ x }}\n{% endfor %}\n",
    "a comment with YAML in it": "{# a: [b #}\n- name: a\n  content: b\n",
    "trimmed white space": "- name: a\n  content: b\n  {%- if x %}\n  role: user\n  {%- endif %}\n",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_yaml_that_jinja_completes_has_no_errors(name: str) -> None:
    assert errors(RIGHT[name]) == []


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("- name: a\n  content: |\n    b\n  role user\n", "role user", "expected `:` after this key"),
        ("- name: a: b\n", ": b", "`: ` is not allowed here"),
        ("- name: 'a\n  content: b\n", "'a", "a quoted value that is not closed"),
        ("- name: a\n\tcontent: b\n", "\tcontent: b", "a tab cannot indent YAML"),
        ("- name: a\n  content: |\n    b\n   {{ c }}\n      d\n   e\n", "e", "expected"),
        ("- name: a\n  content: |\n    {{ b }}\n   c\n", "c", "expected"),
        ("- name: @a\n", "@a", "this character cannot begin a value"),
        ("- name: a\n  content: *nowhere\n", "*nowhere", "no anchor `&nowhere` is defined"),
        ("- name: a\n{% if x %}\n  content: b: c\n{% endif %}\n", ": c", "`: ` is not allowed here"),
    ],
)
def test_a_yaml_error_is_reported_at_its_position(text: str, place: str, message: str) -> None:
    (found,) = errors(text)

    assert (found[0], found[1][: len(message)]) == (place, message)


def test_an_error_in_one_part_leaves_its_other_keys_and_the_other_parts_readable() -> None:
    text = "- name: a\n  content: b: c\n- name: d\n  content: e\n"
    template = Template(Source.of(text))

    assert [placed.part.name for placed in template.parts] == ["a", "d"]
    assert len(errors(text)) == 1


def test_every_place_of_a_projection_leads_back_to_its_character() -> None:
    text = "- name: {{a}}\n  {%- if b %}\n  content: c{#d#}e\n  {% endif -%}\n  role: {% raw %}{{{% endraw %}"
    for chunk in cut(text, at_items=True):
        projection = project(chunk)
        for offset, character in enumerate(projection.text):
            origin = projection.origin(offset)
            inside = any(
                tag.kind == "output" and tag.span.start <= origin < tag.span.end for tag in chunk.tags
            )
            assert inside or chunk.text[origin] == character


def test_an_edit_keeps_the_chunks_that_it_leaves_alone() -> None:
    source = Source.of("- name: a\n  content: b\n- name: c\n  content: d\n- name: e\n  content: f\n")
    edited = source.edited(source.line_span(3)._replace(start=source.line_span(3).end), "!")

    assert edited.chunks[0] is source.chunks[0]
    assert edited.chunks[1] is not source.chunks[1]
    assert edited.chunks[2] is source.chunks[2]
