"""Formatting files of real projects does not change what they render to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, TemplateError, nodes

from promptls.format.frame import data
from promptls.format.prompt_file import format_text
from promptls.syntax.source import Source
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.workspace.disk import text_on_disk
from support.corpus import corpus


def tree(text: str) -> Any:
    """Return jinja2's tree of the text without line numbers; None if the text is invalid."""
    try:
        return _plain(Environment(autoescape=False).parse(text))
    except TemplateError:
        return None


def _plain(node: Any) -> Any:
    if isinstance(node, nodes.Node):
        return (type(node).__name__, *((name, _plain(getattr(node, name, None))) for name in node.fields))
    if isinstance(node, list | tuple):
        return [_plain(item) for item in node]
    return node


def yaml_data(text: str) -> list[Any]:
    return [data(chunk_yaml(chunk).roots) for chunk in Source.of(text).chunks]


@pytest.mark.parametrize("path", corpus("prompts", "not_prompts"))
def test_the_tags_of_a_file_mean_the_same_and_its_text_is_untouched(path: Path) -> None:
    text = text_on_disk(str(path)) or ""

    after = format_text(text, frame=False)

    assert tree(after) == tree(text)
    assert format_text(after, frame=False) == after


@pytest.mark.parametrize("path", corpus("prompts", "not_prompts"))
def test_the_yaml_of_a_file_gives_the_same_data_when_its_frame_is_laid_out(path: Path) -> None:
    tags_only = format_text(text_on_disk(str(path)) or "", frame=False)

    after = format_text(tags_only, frame=True)

    assert yaml_data(after) == yaml_data(tags_only)
    assert (tree(after) is None) == (tree(tags_only) is None)
    assert format_text(after, frame=True) == after
