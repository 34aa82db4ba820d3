# ruff: noqa: E501 - a mark stands with its message on one line
from __future__ import annotations

from dataclasses import replace

import pytest

from promptls.rendering.file_rendering import FileRendering, RowTokens
from promptls.rules.checking.renderings import check_rendering
from promptls.rules.rule import Finding
from support.cases import cases
from support.fixture import check_findings, check_fix, opened
from support.rendered import rendered

MAIN = "/project/main.yml.j2"


def example(data: str) -> str:
    """A header with one example, so that the data is somebody's."""
    return f"{{#---\ninput_keys: [x]\noutput_key: y\nexamples: [{{x: {data}, y: 1}}]\n---#}}\n"


FOUND = {
    "a value with a line break": example('"a\\nb: c"')
    + "- name: a\n  content: |\n    {{ x }}\n"
    + "    ^^^^^^^ rendered-yaml: with example 1, this value makes the rendered text no YAML: a line break in it ends the block\n",
    "a value that begins a mapping": example('"a: b"')
    + "- name: a\n  content: {{ x }}\n"
    + "           ^^^^^^^ rendered-yaml: with example 1, this value makes the rendered text no YAML: `a: b` (mapping values are not allowed in this context)\n",
    "a value with a quote": example('"it\'s"') + "- name: a\n  content: '{{ x }}'\n            ^^^^^^^ rendered-yaml\n",
    "one value of two": example("[one, 'two: three', four]")
    + "- name: a\n  role: {{ x[0] }}\n  content: {{ x[1] }} {{ x[2] }}\n           ^^^^^^^^^^ rendered-yaml\n",
    "a turn of a loop": example("[a, 'b: c', d]")
    + "{% for each in x %}\n- name: a\n  content: {{ each }}\n           ^^^^^^^^^^ rendered-yaml: with example 1, in turn 2 of `for each in x`, this value makes the rendered text no YAML: `b: c` (mapping values are not allowed in this context)\n{% endfor %}\n",
    "a turn of a loop in a loop": example("[[a, b], [c, 'd: e']]")
    + "{% for row in x %}\n{% for each in row %}\n- name: a\n  content: {{ each }}\n"
    "           ^^^^^^^^^^ rendered-yaml: with example 1, in turn 2 of `for row in x`, turn 2 of `for each in row`, this value makes the rendered text no YAML: `d: e` (mapping values are not allowed in this context)\n"
    "{% endfor %}\n{% endfor %}\n",
    "a value in a macro": example('"a: b"')
    + "{% macro part(text) %}\n- name: a\n  content: {{ text }}\n           ^^^^^^^^^^ rendered-yaml\n{% endmacro %}\n{{ part(x) }}\n",
    "an included file": "-- main.yml.j2 --\n" + example('"a: b"')
    + "- name: a\n  content: b\n{% include 'c.yml.j2' %}\n           ^^^^^^^^^^ rendered-yaml\n"
    "-- c.yml.j2 --\n- name: c\n  content: {{ x }}\n",
    "an include that is indented": "-- main.yml.j2 --\n- name: a\n  content: b\n  {% include 'c.yml.j2' %}\n             ^^^^^^^^^^ rendered-yaml: with placeholders, the rendered text is no YAML at its line 3, `- name: c`: while parsing a block mapping, did not find expected key; of what is included, only the first line is indented (`{% filter indent(4) %}` indents all)\n"
    "-- c.yml.j2 --\n- name: c\n  content: d\n- name: e\n  content: f\n",
    "a text of several lines that a content includes": "-- main.yml.j2 --\n- name: a\n  content: |\n    b\n    {% include 'c.yml.j2' %}\n               ^^^^^^^^^^ rendered-yaml: with placeholders, the rendered text is no YAML at its line 5, `two: three`: while parsing a block collection, did not find expected '-' indicator; of what is included, only the first line is indented (`{% filter indent(4) %}` indents all)\n    d\n"
    "-- c.yml.j2 --\none: two: three\ntwo: three\n",
    "an item that is no mapping, where there are no inputs": "{% set text = 'just a text' %}\n- name: a\n  content: b\n- {{ text }}\n  ^^^^^^^^^^ rendered-yaml\n",
    "an unknown key that a tag prints": example("colour")
    + "- name: a\n  content: b\n  {{ x }}: red\n  ^^^^^^^ rendered-yaml\n",
    "a document that is no list": example("0") + "{% if x %}\n- name: a\n  ^^^^ rendered-yaml\n  content: b\n{% endif %}\n",
    "a value without the shape that is expected": example("0")
    + "- name: a\n  content: {{ x.y.z }}\n           ^^^^^^^^^^^ failing-rendering\n",
    "a failure in an included file that is open": "-- main.yml.j2 --\n" + example("0")
    + "- name: a\n  content: b\n{% include 'c.yml.j2' %}\n           ^^^^^^^^^^ failing-rendering\n"
    "-- c.yml.j2 --\n- name: c\n  content: '{{ x.y.z }}'\n",
    "an error of syntax in an included file that is open": "-- main.yml.j2 --\n" + example("0")
    + "- name: a\n  content: b\n{% include 'c.yml.j2' %}\n"
    "-- c.yml.j2 --\n- name: c\n  content: '{{ x. }}'\n                ^ jinja-syntax\n",
    "a limit of the settings' own": "{#---\ntoken_limit: 3\n             ^ over-token-limit\n---#}\n- name: a\n  content: one two three four five\n",
    "a question below a number of its own": "- name: history\n  truncation_priority: 1\n  content: b\n"
    "- name: question\n  truncation_priority: 2\n                       ^ question-truncated-first: the question, 1 token, is cut before `history`, 1 token: the highest `truncation_priority` goes first\n  content: c\n",
    "a question that is all that may be cut": "- name: a\n  role: system\n  content: b\n- name: question\n  truncation_priority: 2\n"
    "                       ^ question-truncated-first: the question is the only part that may be cut\n  content: c\n",
    "a loop ahead of fixed text": "{% for each in turns %}\n^^^^^^^^^^^^^^^^^^^^^^^ unstable-prefix\n- name: a\n  content: b\n{% endfor %}\n"
    "- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "fixed text in the same part": "- name: c\n  content: |\n    Hello {{ name }}!\n          ^^^^^^^^^^ unstable-prefix: where `name` differs from one request to the next, the 1,101 tokens of fixed text behind it are not read from the provider's cache; ahead of it they would be\n    … 1,100 tokens of fixed text …\n",
    "fixed text in an included file": "- name: c\n  content: '{{ name | int }}'\n            ^^^^^^^^^^^^^^^^ unstable-prefix\n{% include 'long.yml.j2' %}\n"
    "-- long.yml.j2 --\n- name: long\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "a change in an included file": "{#---\ninput_keys: [name]\n---#}\n{% include 'short.yml.j2' %}\n^^^^^^^^^^^^^^^^^^^^^^^^^^^^ unstable-prefix\n- name: long\n  content: |\n    … 1,100 tokens of fixed text …\n"
    "-- short.yml.j2 --\n- name: short\n  content: '{{ name | int }}'\n",
    "a change, and fixed text, two includes deep": "{% include 'outer.yml.j2' %}\n^^^^^^^^^^^^^^^^^^^^^^^^^^^^ unstable-prefix\n{% include 'around.yml.j2' %}\n"
    "-- outer.yml.j2 --\n{% include 'short.yml.j2' %}\n-- short.yml.j2 --\n- name: short\n  content: '{{ name | int }}'\n"
    "-- around.yml.j2 --\n{% include 'long.yml.j2' %}\n-- long.yml.j2 --\n- name: long\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "a change in an included file, where nothing is declared": "{% include 'short.yml.j2' %}\n^^^^^^^^^^^^^^^^^^^^^^^^^^^^ unstable-prefix\n- name: long\n  content: |\n    … 1,100 tokens of fixed text …\n"
    "-- short.yml.j2 --\n- name: short\n  content: '{{ name | int }}'\n",
    "a name that is set from an input": "{% set hi = 'Dear ' ~ customer.name %}\n- name: a\n  content: '{{ hi | int }}'\n            ^^^^^^^^^^^^^^ unstable-prefix: where `customer` differs from one request to the next, the 1,101 tokens of fixed text behind it are not read from the provider's cache; ahead of it they would be\n"
    "- name: b\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "a condition ahead of fixed text": "- name: a\n  content: |\n    Hello. {% if vip %}You are a VIP.{% endif %}\n           ^^^^^^^^^^^^ unstable-prefix: this `if` on `vip` begins the prompt in more than one way: the provider's cache keeps the 1,100 tokens of fixed text behind it anew for each; ahead of it, once for all\n"
    "- name: b\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "a condition around a part, and a question at the end": "{% if vip %}\n^^^^^^^^^^^^ unstable-prefix\n- name: a\n  content: You are a VIP.\n{% endif %}\n"
    "- name: b\n  content: |\n    … 1,100 tokens of fixed text …\n- name: c\n  content: '{{ question | int }}'\n",
    "a condition in an included file": "{% include 'short.yml.j2' %}\n^^^^^^^^^^^^^^^^^^^^^^^^^^^^ unstable-prefix\n- name: long\n  content: |\n    … 1,100 tokens of fixed text …\n"
    "-- short.yml.j2 --\n- name: short\n  content: '{% if vip %}x{% endif %}'\n",
}  # fmt: skip

SILENT = {
    "a value that is escaped": example('"a\\nb: c"') + "- name: a\n  content: |\n    {{ escape_special_characters(x) }}\n",
    "a made-up value": "- name: a\n  content: {{ x }}\n  role: '{{ y }}'\n",
    "a made-up value that may bring its own indentation": "- name: a\n  content: |\n{{ x }}\n    c\n",
    "an error that YAML has without rendering": example("b") + "- name: {{ x }}\n  content: 'b\n             ^^ yaml-syntax\n",
    "a text beside the sign of its block": '- name: a\n  content: |\n    {{- "<s>" }}\n    ^^^ lost-line-break\n',
    "an unknown key that stands there": example("b") + "- name: {{ x }}\n  content: b\n  colour: red\n  ^^^^^^ unknown-part-key\n",
    "made-up data without the shape that is expected": "- name: a\n  content: '{{ x.y | sum }}'\n",
    "a filter that there is not": example("0") + "- name: a\n  content: '{% if x == 0 %}{{ x | nope }}{% endif %}'\n",
    "a limit that is kept": "{#---\ntoken_limit: 300\n---#}\n- name: a\n  truncation_priority: 1\n  role: system\n  content: one two\n",
    "a question in one run with the history": "- name: a\n  truncation_priority: 1\n  content: b\n- name: question\n  truncation_priority: 1\n  content: c\n",
    "documents behind the question": "- name: question\n  content: b\n{% for each in documents %}\n- name: document\n  truncation_priority: 2\n  content: c\n{% endfor %}\n"
    "- name: d\n  role: system\n  truncation_priority: 1\n  content: c\n",
    "fixed text ahead": "- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n    {{ escape_special_characters(name) }}\n",
    "a condition behind fixed text": "- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n{% if vip %}\n- name: a\n  content: b\n{% endif %}\n",
    "a condition that prints nothing": "{% if vip %}{% set n = 1 %}{% endif %}\n- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n    {{ n }}\n",
    "a condition on a priority": "- name: a\n  truncation_priority: {% if vip %}1{% else %}2{% endif %}\n  role: system\n  content: b\n- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "a condition on a constant": "{#---\ninput_keys:\n  vip: {const: true}\n---#}\n- name: a\n  content: '{% if vip %}x{% endif %}'\n- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "fixed text that only some requests have": "- name: a\n  content: '{{ name | int }}'\n{% if name %}\n- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n{% endif %}\n",
    "short fixed text": "- name: a\n  content: '{{ name | int }}'\n- name: c\n  content: |\n    … 1,000 tokens of fixed text …\n",
    "a file that is included only now and then": "- name: a\n  content: '{{ name | int }}'\n{% if name %}{% include 'long.yml.j2' %}{% endif %}\n"
    "-- long.yml.j2 --\n- name: long\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "an input in a name and a priority, which no model gets": "- name: a {{ who }}\n  truncation_priority: {{ rank }}\n  content: b\n- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "turns from the newest to the oldest, counted": "{% for each in messages | reverse %}\n- name: turn {{ loop.index }}\n  role: user\n  truncation_priority: {{ loop.index0 + 1 }}\n  content: '{{ each | int }}'\n{% endfor %}\n",
    "an input of one value": "{#---\ninput_keys:\n  name: {const: Ada}\n---#}\n- name: a\n  content: Hello {{ name }}\n- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n",
    "a call without an input": "- name: a\n  content: '{{ instructions() }}'\n- name: c\n  content: |\n    … 1,100 tokens of fixed text …\n",
}  # fmt: skip


@pytest.mark.parametrize("fixture", FOUND.values(), ids=FOUND)
def test_what_a_rendering_shows_is_found(fixture: str) -> None:
    rule = fixture.split("^ ")[1].split(":", maxsplit=1)[0].split("\n", maxsplit=1)[0]
    check_findings(fixture, rule, with_rendering=True)


@pytest.mark.parametrize("fixture", SILENT.values(), ids=SILENT)
def test_a_rendering_that_is_right_has_no_finding(fixture: str) -> None:
    snapshot, _ = opened(fixture)
    assert check_rendering(snapshot, MAIN, rendered(snapshot, MAIN)) == ()


PREFIXES = cases("unstable_prefix")


@pytest.mark.parametrize("fixture", PREFIXES.values(), ids=PREFIXES)
def test_the_beginning_of_a_prompt_ends_where_an_input_is_printed(fixture: str) -> None:
    check_findings(fixture, "unstable-prefix")


FIXES = {
    "a value": (
        example('"a\\nb: c"') + "- name: a\n  content: |\n    {{- x | trim }}\n",
        example('"a\\nb: c"') + "- name: a\n  content: |\n    {{- escape_special_characters(x | trim) }}\n",
        "Escape it",
    ),
    "a question": (
        "- name: a\n  truncation_priority: 1\n  content: b\n- name: c\n  truncation_priority: 2\n  content: d\n",
        "- name: a\n  truncation_priority: 1\n  content: b\n- name: c\n  content: d\n",
        "Never cut the question",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "title"), FIXES.values(), ids=FIXES)
def test_a_fix_makes_a_rendering_right(before: str, after: str, title: str) -> None:
    check_fix(before, after, title, with_rendering=True)


# -- rows -----------------------------------------------------------------------------------

LIMITED = "{#---\ntoken_limit: 4\ntruncation_step: 1\n---#}\n- name: a\n  content: one two\n"


def found_with(rows: RowTokens, text: str = LIMITED) -> tuple[Finding, ...]:
    snapshot, _ = opened(text)
    return check_rendering(snapshot, MAIN, replace(rendered(snapshot, MAIN), rows=rows))


def test_rows_over_the_limit_are_told() -> None:
    (finding,) = found_with(RowTokens("d.csv", rows=20, over=(3, 4), stuck=(4,), most=9))

    assert finding.severity == "warning"
    assert finding.message == (
        "2 of 20 rows of d.csv are over its limit of 4 tokens, the longest by 5, 1 even after truncation"
    )


def test_rows_that_truncation_brings_under_the_limit_are_a_remark() -> None:
    (finding,) = found_with(RowTokens("d.csv", rows=20, over=(3,), stuck=(), most=9))

    assert (finding.severity, finding.message) == (
        "information",
        "row 3 of d.csv is over its limit of 4 tokens, by 5; truncation brings it under",
    )


def test_rows_under_the_limit_are_fine() -> None:
    assert found_with(RowTokens("d.csv", rows=20, over=(), stuck=(), most=4)) == ()


def test_a_rendering_of_a_former_text_says_nothing() -> None:
    snapshot, _ = opened(LIMITED)
    old: FileRendering = rendered(snapshot, MAIN)
    edited, _ = opened(LIMITED.replace("4", "1"))

    assert check_rendering(edited, MAIN, old) == ()


def test_a_comment_silences_what_a_rendering_shows() -> None:
    text = example('"a: b"') + "- name: a\n  content: {{ x }} {# promptls: ignore[rendered-yaml] ours #}\n"
    snapshot, _ = opened(text)

    assert check_rendering(snapshot, MAIN, rendered(snapshot, MAIN)) == ()
