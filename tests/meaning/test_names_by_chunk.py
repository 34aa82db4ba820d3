"""Names are resolved chunk by chunk and kept; the outcome is that of going over the whole file."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.meaning.names import file_names
from promptls.meaning.scopes import Resolver
from promptls.syntax.source import Source

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yml.j2"))
TEXTS = {
    "a loop over parts": "{% for t in turns %}\n- name: {{ loop.index }}\n  content: {{ t.x }} {{ y }}\n"
    "- name: b\n  content: {{ t }}\n{% else %}\n- name: c\n  content: {{ t }}\n{% endfor %}\n{{ t }}\n",
    "set at the top, read below": "{% set a = b %}\n- name: x\n  content: {{ a }}\n"
    "{% if c %}\n{% set d = 1 %}\n- name: y\n  content: {{ d }}\n{% endif %}\n"
    "- name: z\n  content: {{ d }}\n",
    "a macro that reads what comes": "{% macro m(p) %}\n- name: {{ p }}\n  content: {{ late }} {{ q }}\n"
    "{% endmacro %}\n{% set late = 1 %}\n- name: x\n  content: {{ m(r) }}\n",
    "imports": "{% from 'm.j2' import a, b as c with context %}\n- name: x\n  content: {{ a(c) }} {{ b }}\n"
    "{% if a %}\n- name: y\n  content: {{ a }}{% for a in z %}{{ a }}{% endfor %}\n{% endif %}\n",
    "blocks that nobody closes": "{% for a in b %}\n- name: x\n  content: {{ a }}\n"
    "{% if c %}\n- name: {{ a }}\n",
    "blocks that nobody opens": "- name: x\n  content: {{ a }}\n{% endfor %}\n- name: {{ a }}\n{% else %}\n",
}


@pytest.mark.parametrize("text", [*TEXTS.values(), *(path.read_text("utf-8") for path in EXAMPLES)])
def test_names_by_chunk_are_those_of_the_whole_file(text: str) -> None:
    source = Source.of(text)
    resolver = Resolver()
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        resolver.take(chunk, start)
    resolver.bind_late()

    names = file_names(source)

    assert [(each.name, each.span, each.how, each.certain) for each in names.readings] == [
        (each.name, each.span, each.how, each.certain) for each in resolver.readings
    ]
    assert [each.binding and each.binding.name for each in names.readings] == [
        each.binding and each.binding.name for each in resolver.readings
    ]
    assert sorted(names.bindings) == sorted(resolver.bindings)
