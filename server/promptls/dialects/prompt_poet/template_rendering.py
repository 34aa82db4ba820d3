"""Rendering of a template and data to a prompt: Jinja, then YAML, then parts. Source: Prompt Poet 0.0.52."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, Template

from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.environment import CompiledTemplates, FolderLoader, make_environment
from promptls.dialects.prompt_poet.failures import PromptPoetError, load_failure, render_failure
from promptls.dialects.prompt_poet.prompt_parts import NO_LIMIT, ItemError, PromptPart, build_parts
from promptls.dialects.prompt_poet.vocabulary import DEFAULT_MARKERS, RESERVED_INPUTS, Markers, escape
from promptls.text.format import shorten


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """The options of a caller of Prompt Poet besides the data, with their defaults."""

    token_limit: int = NO_LIMIT
    """The value of `token_limit` in the template."""
    markers: Markers = DEFAULT_MARKERS
    allow_token_overrides: bool = False
    sandboxed: bool = True


DEFAULT_OPTIONS = RenderOptions()


@dataclass(frozen=True, slots=True)
class RenderedText:
    """The output of Jinja for a template, before it is parsed as YAML."""

    text: str
    data: Mapping[str, Any]
    """The data passed to the template, including reserved names."""
    files: frozenset[str]
    """The absolute paths of all template files used."""


@dataclass(frozen=True, slots=True)
class RenderedParts:
    """A rendered template: the output of Jinja, and the parts in it."""

    text: str
    parts: tuple[PromptPart, ...]
    files: frozenset[str]
    """The absolute paths of all template files used."""


def render(
    path: str,
    data: Mapping[str, Any],
    *,
    unsaved: Mapping[str, str] | None = None,
    options: RenderOptions = DEFAULT_OPTIONS,
    compiled: CompiledTemplates | None = None,
) -> RenderedParts:
    """Render the template at `path` with `data`.

    `unsaved` maps absolute paths to unsaved texts. Raises PromptPoetError at the first stage that fails.
    """
    rendered = render_text(path, data, unsaved=unsaved, options=options, compiled=compiled)
    return RenderedParts(rendered.text, parse_parts(rendered.text, rendered.data, options), rendered.files)


def render_text(
    path: str,
    data: Mapping[str, Any],
    *,
    unsaved: Mapping[str, str] | None = None,
    options: RenderOptions = DEFAULT_OPTIONS,
    compiled: CompiledTemplates | None = None,
) -> RenderedText:
    """Return the output of Jinja; raises PromptPoetError for the stages up to it."""
    loader = FolderLoader(Path(path).parent, unsaved or {})
    environment = make_environment(loader, sandboxed=options.sandboxed, compiled=compiled)
    return render_loaded(environment, loader, Path(path).name, data, options)


def render_loaded(
    environment: Environment,
    loader: FolderLoader,
    name: str,
    data: Mapping[str, Any],
    options: RenderOptions,
) -> RenderedText:
    """Render like `render_text`, with the template `name` of a `loader` in a single-use `environment`."""
    template = load_template(environment, loader, name)
    values = template_data(data, options)
    try:
        text = template.render(values)
    except Exception as error:
        raise render_failure(error, environment, loader) from error
    return RenderedText(text, values, frozenset(loader.loaded))


def load_template(environment: Environment, loader: FolderLoader, name: str) -> Template:
    """Return the compiled template `name`; raises PromptPoetError of kind `load`."""
    try:
        return environment.get_template(name)
    except Exception as error:
        raise load_failure(error, environment, loader, name) from error


def template_data(data: Mapping[str, Any], options: RenderOptions = DEFAULT_OPTIONS) -> dict[str, Any]:
    """Return a deep copy of `data` with the names that Prompt Poet adds.

    Raises PromptPoetError of kind `data` for reserved names, names that are not strings, and values
    that cannot be copied.
    """
    try:
        values = copy.deepcopy(dict(data))
    except Exception as error:
        raise PromptPoetError(
            "data",
            f"The template data cannot be copied, as Prompt Poet does before it renders: {error}. "
            "Pass plain values and functions.",
            cause=type(error).__name__,
        ) from error
    for name in values:
        if not isinstance(name, str):
            raise PromptPoetError(
                "data",
                f"The template data has the key {shorten(name)}, which is not a name.",
                cause="TypeError",
            )
        if name in RESERVED_INPUTS:
            raise PromptPoetError(
                "data", f"`{name}` is a name that Prompt Poet sets itself: rename this input."
            )
    values["token_limit"] = options.token_limit
    values["escape_special_characters"] = partial(escape, markers=options.markers)
    return values


def parse_parts(
    text: str,
    values: Mapping[str, Any],
    options: RenderOptions = DEFAULT_OPTIONS,
    load: Callable[[str], Any] = document.load,
) -> tuple[PromptPart, ...]:
    """Return the parts in the rendered `text`; raises PromptPoetError of kind `yaml` or `parts`.

    `load` returns the data of a YAML text, like `document.load`; the data is not modified.
    """
    loaded = load(text)
    try:
        return build_parts(
            loaded, values, markers=options.markers, allow_token_overrides=options.allow_token_overrides
        )
    except ItemError as error:
        failure, place = error.failure, document.place_of_item(text, error.index, error.key)
        if place is not None:
            failure.rendered_line = place.line
            failure.rendered_column = place.column if error.key is not None else None
            failure.excerpt = document.excerpt(text, place.line)
        raise failure from error
    except PromptPoetError as failure:
        failure.rendered_line = document.first_line(text)
        raise
