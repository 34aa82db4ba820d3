"""Renderings with source maps, compared with those without."""

from __future__ import annotations

from typing import Any

from promptls.dialects.prompt_poet.template_rendering import render_text
from promptls.rendering.source_map.compiled_templates import render_mapped
from promptls.rendering.source_map.mapping import RenderedMap, Segment

FOLDER = "/project"
PATH = f"{FOLDER}/main.yml.j2"


def mapped(text: str, data: dict[str, Any], **files: str) -> RenderedMap:
    """Return the source map of a text that is rendered with files beside it."""
    unsaved = {PATH: text, **{f"{FOLDER}/{name}": its for name, its in files.items()}}
    rendered, source_map = render_mapped(PATH, data, unsaved=unsaved)
    assert rendered.text == render_text(PATH, data, unsaved=unsaved).text
    return source_map


def check(text: str, segments: list[Segment], files: dict[str, str]) -> None:
    """Check that every character has a segment, and that verbatim segments equal the template's text."""
    assert "".join(text[each.start : each.end] for each in segments) == text
    for each in segments:
        source = files[each.path][each.first : each.last]
        assert source
        if each.verbatim:
            assert source.replace("\r\n", "\n") == text[each.start : each.end]
