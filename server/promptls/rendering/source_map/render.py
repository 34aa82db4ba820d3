"""A template and data to a text that knows where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptls.rendering.source_map.environment import mapping_environment
from promptls.rendering.source_map.pieces import MappedText
from promptls.rendering.source_map.rendered import RenderedMap
from promptls.systems.prompt_poet.environment import CompiledTemplates, FolderLoader
from promptls.systems.prompt_poet.render import DEFAULT_OPTIONS, RenderedText, RenderOptions, render_loaded


def render_mapped(
    path: str,
    data: Mapping[str, Any],
    *,
    unsaved: Mapping[str, str] | None = None,
    options: RenderOptions = DEFAULT_OPTIONS,
    compiled: CompiledTemplates | None = None,
) -> tuple[RenderedText, RenderedMap]:
    """What `render_text` gives, and its map; raises PromptPoetError as that does.

    `compiled` must not be shared with other environments.
    """
    loader = FolderLoader(Path(path).parent, unsaved or {})
    environment = mapping_environment(loader, sandboxed=options.sandboxed, compiled=compiled)
    rendered = render_loaded(environment, loader, Path(path).name, data, options)
    assert isinstance(rendered.text, MappedText)
    source_map = RenderedMap(rendered.text, rendered.data, loader.texts)
    return RenderedText(source_map.text, rendered.data, rendered.files), source_map
