"""No rule about renderings fails on any text, and every span lies in the text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from promptls.lint.runner import check_rendering
from promptls.semantic.kind import Kind
from support.example_counts import THOROUGH
from support.fixture import opened
from support.rendered import rendered
from support.soundness import errors_raised
from support.texts import OWN

PATH = "/project/main.yml.j2"
RICH = """\
{#---
input_keys: [x, turns]
output_key: y
token_limit: 20
truncation_step: 2
examples: [{x: "a\\nb: c", turns: [one, "two: three"], y: 1}]
---#}
{% macro m(t) %}<{{ t }}>{% endmacro %}
- name: a
  role: system
  content: |
    Hi {{ x }} {{ m(x) }} and more of it.
{% for t in turns %}
- name: turn
  truncation_priority: {{ loop.index }}
  content: {{ t }}
{% endfor %}
- name: q
  truncation_priority: 5
  content: "{{ x | length }}"
"""


def broken(text: str, step: int) -> Iterator[str]:
    yield from (text[:end] for end in range(0, len(text), step))
    yield from (text[:start] + text[start + 3 :] for start in range(0, len(text), step))


@pytest.mark.parametrize("text", [RICH, *OWN.values()], ids=["rich", *OWN])
def test_the_rendering_of_every_broken_text_is_judged(text: str) -> None:
    step = 5 if text is RICH else 29
    for piece in broken(text, step if THOROUGH else 2 * step + 1):
        snapshot, _ = opened(piece)
        if snapshot.kind(PATH) not in {Kind.PARTS, Kind.OBJECT}:
            continue
        with errors_raised():
            findings = check_rendering(snapshot, PATH, rendered(snapshot, PATH))
        for finding in findings:
            edits = [edit.span for fix in finding.fixes for edit in fix.edits]
            for span in (finding.span, *edits):
                assert 0 <= span.start <= span.end <= len(piece), finding
