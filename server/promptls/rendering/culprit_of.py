"""Which place of which template made a text that is no YAML, or no list of parts, by rendering again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptls.rendering.culprit import Culprit, find_culprit, offset_of_line
from promptls.rendering.trace import trace
from promptls.systems.prompt_poet.environment import CompiledTemplates
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.render import DEFAULT_OPTIONS, RenderOptions, render_text, template_data


def culprit_of(
    error: PromptPoetError,
    path: str,
    data: Mapping[str, Any],
    *,
    unsaved: Mapping[str, str] | None = None,
    options: RenderOptions = DEFAULT_OPTIONS,
    compiled: CompiledTemplates | None = None,
) -> Culprit | None:
    """What made the `error` that rendering the template at `path` with `data` ended with.

    The template runs twice more. None for failures of other stages, and where nobody can tell.
    """
    if error.kind not in {"yaml", "parts"} or error.rendered_line is None or error.cause == "RecursionError":
        return None
    unsaved = unsaved or {}
    try:
        rendered = render_text(path, data, unsaved=unsaved, options=options, compiled=compiled)
        stretches = trace(path, template_data(data, options), unsaved, rendered.text)
    except PromptPoetError:
        return None
    if stretches is None:
        return None
    offset = offset_of_line(rendered.text, error.rendered_line) if error.kind == "parts" else None
    return find_culprit(rendered.text, stretches, offset)
