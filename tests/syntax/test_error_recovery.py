"""Entries of a list item whose YAML is broken."""

from __future__ import annotations

import pytest

from promptls.syntax.chunk import cut
from promptls.syntax.yaml.error_recovery import recovered_item
from promptls.syntax.yaml.nodes import Scalar, key_text


def entries(text: str) -> list[tuple[str | None, str]]:
    """Return the keys of the item and the places of their values, `?` before unknown ones."""
    (chunk,) = cut(text, at_items=True)
    found = recovered_item(chunk)
    return [
        (
            key_text(entry),
            ("?" if isinstance(entry.value, Scalar) and not entry.value.tag else "")
            + text[entry.value.span.start : entry.value.span.end],
        )
        for entry in (found.entries if found else ())
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- name: a\n  content: 'b\n  role: c\n", [("name", "a"), ("content", "?'b"), ("role", "c")]),
        ("- name: a: b\n  role: c\n", [("name", "?a: b"), ("role", "c")]),
        ("- name: a\n  role c\n  content: d\n", [("name", "a"), ("content", "d")]),
        (
            "- name: a\n  content: |\n    b\n   c\n  role: d\n",
            [("name", "a"), ("content", "?|\n    b\n   c"), ("role", "d")],
        ),
        ("- name: {{ a }}\n  content: b: c\n", [("name", "{{ a }}"), ("content", "?b: c")]),
        ("-   name: a\n    role: [b\n", [("name", "a"), ("role", "?[b")]),
        ("- name: a\n  sections:\n    - name: b\n  rol", [("name", "a"), ("sections", "- name: b")]),
        ("a: b", []),
        ("- ", []),
    ],
)
def test_every_key_is_parsed_separately(text: str, expected: list[tuple[str, str]]) -> None:
    assert entries(text) == expected
