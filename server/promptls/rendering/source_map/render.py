"""Rendering of a template and data to a text with a source map."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptls.dialects.prompt_poet.render import DEFAULT_OPTIONS, RenderedText, RenderOptions, render_loaded
from promptls.rendering.source_map.environment import mapping_environment
from promptls.rendering.source_map.mapped_text import MappedText
from promptls.rendering.source_map.rendered import RenderedMap
from promptls.rendering.source_map.templates import CompiledGroups, MappedLoader


def render_mapped(
    path: str,
    data: Mapping[str, Any],
    *,
    unsaved: Mapping[str, str] | None = None,
    options: RenderOptions = DEFAULT_OPTIONS,
    compiled: CompiledGroups | None = None,
) -> tuple[RenderedText, RenderedMap]:
    """Return the result of `render_text`, and its source map; raises PromptPoetError likewise.

    `compiled` caches the code of templates; use separate ones with and without the sandbox.
    """
    loader = MappedLoader(Path(path).parent, unsaved or {}, compiled)
    environment = mapping_environment(loader, sandboxed=options.sandboxed)
    rendered = render_loaded(environment, loader, Path(path).name, data, options)
    assert isinstance(rendered.text, MappedText)
    source_map = RenderedMap(rendered.text, rendered.data, loader.texts)
    return RenderedText(source_map.text, rendered.data, rendered.files), source_map
