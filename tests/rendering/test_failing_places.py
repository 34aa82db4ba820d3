"""The place of a failed rendering: file, line, loop iteration and value."""

from __future__ import annotations

from typing import Any

import pytest

from promptls.rendering.execute import execute
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure

FOLDER = "/project"
HISTORY = [{"text": "fine"}, {"text": "broken\nline"}, {}]


def failure(text: str, data: dict[str, Any], **files: str) -> RenderFailure:
    unsaved = {f"{FOLDER}/{name}": its for name, its in files.items()}
    outcome = execute(RenderJob(f"{FOLDER}/main.yml.j2", text, data, unsaved=unsaved))
    assert isinstance(outcome, RenderFailure)
    return outcome


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            "- name: a\n  content: |\n{% for m in history %}\n    {{ m.text }}\n{% endfor %}\n",
            ("main.yml.j2", 3),
            "in iteration 2 of `for m in history` because of the value 'broken\\nline'",
        ),
        (
            "{% for m in history %}\n- name: b\n  content: '{{ m.text.a.b }}'\n{% endfor %}\n",
            ("main.yml.j2", 2),
            "in iteration 1 of `for m in history` where `m` is {'text': 'fine'}",
        ),
        (
            "{% for m in history %}{% include 'part' %}{% endfor %}",
            ("part", 1),
            "in iteration 3 of `for m in history` where `m` is {}",
        ),
        (
            "{% macro f(m) %}\n{{ m.text + 1 }}{% endmacro %}{% for m in history %}{{ f(m) }}{% endfor %}",
            ("main.yml.j2", 1),
            "in iteration 1 of `for m in history`",
        ),
        (
            "{% for m in history %}\n- name: a\n  {{ 'con' if loop.last else 'content' }}: x\n{% endfor %}",
            ("main.yml.j2", 2),
            "in iteration 3 of `for m in history`",
        ),
        (
            "{% for m in history %}{% for key in m %}{{ m[key].__class__ }}{% endfor %}{% endfor %}",
            ("main.yml.j2", 0),
            "in iteration 1 of `for m in history`, iteration 1 of `for key in m` where `key` is 'text'",
        ),
        (
            "- name: a\n  content: b\n- name: c\n  content: {{ '[' * 3000 }}x\n",
            ("main.yml.j2", 3),
            "nested more than 500 deep",
        ),
        (
            "- name: a\n  content: b\n- &x\n  name: c\n  content: *x\n",
            ("main.yml.j2", 2),
            "Part 2 contains itself, or expands to millions of values, through its YAML aliases",
        ),
        (
            "- name: a\n  content:\n  - &a [" + "1," * 99 + "]\n"
            "  - &b [" + "*a," * 99 + "]\n  - &c [" + "*b," * 99 + "]\n  - [" + "*c," * 99 + "]\n",
            ("main.yml.j2", 0),
            "Part 1 contains itself, or expands to millions of values, through its YAML aliases",
        ),
        (
            "- name: a\n  content: x\n{% include 'main.yml.j2' %}",
            ("main.yml.j2", 2),
            "never ends: a file includes itself",
        ),
        (
            "- name: a\n  content: {{ " + "[" * 150 + "]" * 150 + " }}",
            ("main.yml.j2", 1),
            "nests brackets or blocks too deeply for Jinja",
        ),
        (
            "\n\n{{ history" + " | list" * 3000 + " }}",
            ("main.yml.j2", 2),
            "nests brackets or blocks too deeply for Jinja",
        ),
        (
            "\n" + "{% for x in history %}" * 25 + "{% endfor %}" * 25,
            ("main.yml.j2", 1),
            "nests its blocks too deeply for Python",
        ),
        (
            "- name: a\n  content: b\n  {{ history[0].text }}: c\n",
            ("main.yml.j2", 2),
            (
                "unknown key `fine`: a part may have name, content, role, truncation_priority, sections, "
                "expected_template_data_keys, tokens. It happened because of the value 'fine'"
            ),
        ),
        ("- name: a\n  content: b\n  contents: c\n", ("main.yml.j2", 2), "did you mean `content`?"),
        (
            "- name: a\n  content: {{ '2024-02-' ~ 31 }}\n",
            ("main.yml.j2", 1),
            (
                "'2024-02-31' cannot be read as what it looks like (day is out of range for month). "
                "Put it in quotes. It happened because of the value '2024-02-31'"
            ),
        ),
        (
            "- name: a\n  content: '{{ history[0].text ~ surrogate }}'\n",
            ("main.yml.j2", 1),
            "It happened because of the value 'fine\\ud800'",
        ),
        ("\n{{ history[0].text }}", ("main.yml.j2", 1), "The rendered document is a text, not a list"),
        ("- name: a\n  content: b\n---\n- x\n", ("main.yml.j2", 2), "take out the `---`"),
        ("\n{% include 'deep' %}", ("deep", 2), "nests brackets or blocks too deeply for Jinja"),
        ("\n\n{% macro m(x, x) %}{% endmacro %}", ("main.yml.j2", 2), "A name is given twice"),
        ("\n{{ 10 ** 5000 }}", ("main.yml.j2", 1), "A number has too many digits for Python"),
        (
            "- name: {{ escape_special_characters(5) }}",
            ("main.yml.j2", 0),
            "accepts only text ('int' object has no attribute 'replace')",
        ),
    ],
)
def test_a_failure_names_its_place_its_turn_and_its_value(
    text: str, place: tuple[str, int], words: str
) -> None:
    part = "- name: b\n  content: {{ 1 // (m | length) }}\n"
    deep = "\n\n{{ " + "[" * 150 + "]" * 150 + " }}"
    found = failure(
        text, {"history": HISTORY, "surrogate": "\ud800"}, part=part, deep=deep, **{"main.yml.j2": text}
    )
    assert words in found.message
    assert (found.path, found.line) == (f"{FOLDER}/{place[0]}", place[1])


def test_a_failure_in_an_included_file_names_the_include() -> None:
    found = failure("\n\n{% include 'part' %}", {}, part="- name: {{ missing.x }}")
    assert (found.path, found.line, found.include_line) == (f"{FOLDER}/part", 0, 2)


@pytest.mark.parametrize(
    ("text", "data", "remedy"),
    [
        (
            "{% for m in history %}\n- name: b\n  content: {{ m.text.upper }}\n{% endfor %}\n",
            {"history": '[{"text": "fine"}]'},
            (
                "`history` is a list written as JSON in a text. To read cells of a dataset as JSON, declare "
                "`history: {type: array}` in `input_keys`."
            ),
        ),
        (
            "- name: b\n  content: {{ user.name.first }}\n",
            {"topic": "[1", "user": '{"name": {"first": "Ann"}}'},
            (
                "`user` is a mapping written as JSON in a text. To read cells of a dataset as JSON, declare "
                "`user: {type: object}` in `input_keys`."
            ),
        ),
    ],
)
def test_a_failure_because_of_json_in_a_text_names_the_declaration_that_reads_it(
    text: str, data: dict[str, Any], remedy: str
) -> None:
    assert remedy in failure(text, data).message


def test_a_failure_because_of_a_text_without_json_does_not() -> None:
    found = failure("- name: b\n  content: {{ user.name.first }}\n", {"user": "Ann", "other": "{}x"})
    assert "JSON" not in found.message
