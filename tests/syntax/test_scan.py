from __future__ import annotations

import pytest

from promptls.syntax.jinja.scanner import Tag, scan


def tags(text: str) -> list[Tag]:
    return list(scan(text, 0, next_start=lambda _offset: len(text), missing=set()).tags)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a {{ b }} c", ["{{ b }}"]),
        ("{% if x %}{# y #}{{ z }}", ["{% if x %}", "{# y #}", "{{ z }}"]),
        ("{{ '}}' }}", ["{{ '}}' }}"]),
        ('{{ "\\"}}" }}', ['{{ "\\"}}" }}']),
        ("{{ {'a': {'b': 1}} }}", ["{{ {'a': {'b': 1}} }}"]),
        ("{% set a = {'b': {}} %}", ["{% set a = {'b': {}} %}"]),
        ("{{ 'it''s' }}", ["{{ 'it''s' }}"]),
        ("{%- if x -%}{{- y -}}{#- z -#}", ["{%- if x -%}", "{{- y -}}", "{#- z -#}"]),
        ("{% raw %}{{ a }}{% endraw %}", ["{% raw %}{{ a }}{% endraw %}"]),
        ("{# {{ a }} {% b %} #}", ["{# {{ a }} {% b %} #}"]),
        ("{{ a\n  | b }}", ["{{ a\n  | b }}"]),
        ("{ { a } }", []),
    ],
)
def test_tags_are_found_as_jinja_finds_them(text: str, found: list[str]) -> None:
    assert [tag.text for tag in tags(text)] == found
    assert not any(tag.unclosed for tag in tags(text))


@pytest.mark.parametrize(
    ("text", "first", "delimiter"),
    [
        ("{{ a\n{{ b }}", "{{ a", "}}"),
        ("{% if a\nb %}c\n{{ d }}", "{% if a\nb %}", ""),
        ("{{ a {% if b %}", "{{ a", "}}"),
        ("{{ a %}", "{{ a %}", "}}"),
        ("{% if a }} b", "{% if a }}", "%}"),
        ("{# a\n{{ b }}", "{#", "#}"),
        ("{{ 'a }}\n{{ b }}", "{{ 'a }}", ""),
    ],
)
def test_an_unclosed_tag_leaves_the_next_one_alone(text: str, first: str, delimiter: str) -> None:
    found = tags(text)

    assert (found[0].text, found[0].unclosed) == (first, delimiter)
    assert [tag.text for tag in found[1:]] == [
        tag for tag in ("{{ b }}", "{{ d }}", "{% if b %}") if tag in text
    ]


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        ("a: |\n    {% raw %}\n    {{ b | }}\n  c: {{ d }}\n", ["{{ d }}"]),
        ("  a: '{% raw %} {{ b }}'\n  c: {{ d }}\n", ["{{ d }}"]),
        ("{% raw %}\n{{ b }}\n- c: {{ d }}\n", ["{{ d }}"]),
        ("{% raw %} {{ b }}\n  {{ c }}", []),
    ],
)
def test_an_unclosed_raw_block_takes_the_text_that_is_indented_like_it(text: str, behind: list[str]) -> None:
    (raw, *others) = tags(text)

    assert (raw.text, raw.unclosed) == ("{% raw %}", "{% endraw %}")
    assert [tag.text for tag in others] == behind


def test_dashes_trim_white_space() -> None:
    (tag,) = tags("a {{- b -}} c")

    assert (tag.trims_before, tag.trims_after) == (True, True)
    assert tag.text[tag.inner_start : tag.inner_end] == " b "


def test_the_body_of_a_raw_block_is_literal_text() -> None:
    text = "{% raw -%}  {{ a }}  {%- endraw %}"
    (tag,) = tags(text)

    assert text[tag.body.start : tag.body.end] == "{{ a }}"
