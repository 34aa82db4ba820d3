"""Formatting generated templates does not change what they render to with generated data."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import Environment

from promptls.format.prompt_file import format_edits, format_text
from promptls.lint.rule import apply_edits
from promptls.syntax.source import Source
from promptls.text.positions import Span
from support.example_counts import examples
from support.templates import DATA, templates

pytestmark = pytest.mark.thorough

ENVIRONMENT = Environment()


def rendered(text: str, data: dict[str, Any]) -> Any:
    """Return the rendering of a prompt with this text: the data of its YAML, or the kind of the error."""
    try:
        return yaml.load(ENVIRONMENT.from_string(text).render(data), Loader=yaml.CSafeLoader)
    except Exception as error:  # noqa: BLE001 - data may break a template in any way, and then it stays broken
        return type(error)


@examples(300)
@given(templates(), DATA)
@example(
    "- name: a\n  content: |\n    {{-a}}\n\n\n{% if b%}\n- name: b\n  content: c{% endif %}",
    {"a": "\n", "b": 1},
)
def test_what_a_generated_template_renders_to_stays(text: str, data: dict[str, Any]) -> None:
    after = format_text(text, frame=True)

    before = rendered(text, data)
    if not isinstance(before, type):  # where data breaks a template, it may break it at another place
        assert rendered(after, data) == before
    assert format_text(after, frame=True) == after


@examples(100)
@given(templates(), DATA, st.floats(0, 1), st.floats(0, 1))
def test_what_a_template_laid_out_in_a_range_renders_to_stays(
    text: str, data: dict[str, Any], first: float, second: float
) -> None:
    start, end = sorted((round(first * len(text)), round(second * len(text))))

    edits = format_edits(Source.of(text), frame=True, within=Span(start, end))

    assert all(start <= edit.span.start <= edit.span.end <= end for edit in edits)
    before = rendered(text, data)
    if not isinstance(before, type):
        assert rendered(apply_edits(text, edits), data) == before


@examples(200)
@given(templates(), DATA)
def test_tags_alone_leave_the_rendered_text_as_it_is(text: str, data: dict[str, Any]) -> None:
    after = format_text(text, frame=False)

    def as_text(template: str) -> Any:
        try:
            return ENVIRONMENT.from_string(template).render(data)
        except Exception as error:  # noqa: BLE001 - as above
            return type(error)

    assert as_text(after) == as_text(text)


@examples(200)
@given(st.text(alphabet="{}%#-+|>:'\" \n\tab[](),=.~", max_size=60))
def test_any_text_can_be_formatted_and_twice_is_once(text: str) -> None:
    after = format_text(text, frame=True)

    assert "".join(after.split()) == "".join(text.split())
    assert format_text(after, frame=True) == after
