"""The templates that an expression certainly refers to."""

from __future__ import annotations

import pytest

from promptls.semantic.names.template_names import leading_references
from promptls.semantic.template import Template
from promptls.syntax.source import Source

HEADER = "{#---\ninput_keys:\n  kind: {enum: [a, b]}\n  other: {type: string}\n---#}\n"
KNOWN = {
    "a variable": ("{% set n = 'a' %}{% include n %}", ["a"]),
    "put together": ("{% set n = 'a' %}{% include 's/' ~ n ~ '.j2' %}", ["s/a.j2"]),
    "a loop over names": ("{% for n in ['a', 'b'] %}{% include n ~ '.j2' %}{% endfor %}", ["a.j2", "b.j2"]),
    "a loop over a list in a variable": (
        "{% set ns = ['a', 'b'] %}{% for n in ns %}{% include n %}{% endfor %}", ["a", "b"]
    ),
    "a choice in a variable": ("{% set n = 'a' if x else 'b' %}{% include n %}", ["a", "b"]),
    "a choice in the tag": ("{% include 'a' if x else 'b' ~ 'c' %}", ["a", "bc"]),
    "a mapping": ("{% set ns = {'x': 'a', 'y': 'b'} %}{% include ns[x] %}", ["a", "b"]),
    "constants that are compared": (
        "{% if kind in ['a', 'b'] %}{% include kind ~ '.j2' %}{% endif %}", ["a.j2", "b.j2"]
    ),
    "constants of a key": (
        "{% for m in ms %}{% if m.role == 'tool' %}{% include 's/' ~ m.role %}{% endif %}{% endfor %}",
        ["s/tool"],
    ),
    "what the header declares": (f"{HEADER}{{% include kind ~ '.j2' %}}", ["a.j2", "b.j2"]),
}  # fmt: skip
UNKNOWN = {
    "an input": "{% include kind %}",
    "an input put together": "{% include 's/' ~ kind ~ '.j2' %}",
    "a variable that is set in a branch": "{% if x %}{% set n = 'a' %}{% endif %}{% include n %}",
    "a list with an input": "{% for n in ['a', other] %}{% include n %}{% endfor %}",
    "a choice with an input": "{% set n = 'a' if x else other %}{% include n %}",
    "a filter": "{% set n = 'A' | lower %}{% include n %}",
    "constants that it is none of": "{% if kind != 'a' %}{% include kind %}{% endif %}",
    "constants of one of two values": ("{% if kind == 'a' or other == 'b' %}{% include kind %}{% endif %}"),
    "an input without constants": f"{HEADER}{{% include other ~ '.j2' %}}",
    "a tag that is being written": "{% include 'a' ~ \n",
}


def names(text: str) -> list[str | None]:
    return [each.name for each in leading_references(Template(Source.of(text)))]


@pytest.mark.parametrize(("text", "expected"), KNOWN.values(), ids=KNOWN)
def test_names_that_a_file_certainly_gives_are_known(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_other_names_are_not(text: str) -> None:
    assert names(text) == [None]


def test_an_edit_of_what_a_name_comes_from_is_seen() -> None:
    text = "{% for n in ['a', 'b'] %}\n{% include n %}\n{% endfor %}\n"
    assert names(text) == ["a", "b"]
    assert names(text.replace("'b'", "'c'")) == ["a", "c"]
    assert names(f"prose\n{text}") == ["a", "b"]
