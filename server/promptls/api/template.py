"""Compiled templates: `PromptTemplate`, and the cache of compiled files."""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from types import CodeType
from typing import Any, Final

from jinja2 import Environment, Template
from jinja2.sandbox import SandboxedEnvironment

from promptls.api.rendered import Counting, PromptError, RenderedPrompt
from promptls.dialects.prompt_poet.environment import FolderLoader, make_environment
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.template_rendering import (
    RenderedText,
    RenderOptions,
    load_template,
    parse_parts,
    render_loaded,
)
from promptls.rendering.error_places import Culprit, culprit_of
from promptls.rendering.source_map.compiled_templates import render_mapped
from promptls.security.files import cached_by_file

MAX_FILES: Final = 1_000
"""Size of the LRU cache of compiled files."""


class CompiledFiles(FolderLoader):
    """A loader for the templates of a folder that caches compiled code by modification time and size.

    Only code is cached, not template objects: variables set by an imported file belong to one rendering.
    """

    def __init__(self, folder: Path) -> None:
        """Load templates from `folder`."""
        super().__init__(folder, {})

    def load(
        self,
        environment: Environment,
        name: str,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002 - the name is Jinja's
    ) -> Template:
        """Load the template `name` for Jinja; raises the errors of reading and compiling it."""
        path = self.path_of(name)
        if path.is_file():
            self.loaded.add(str(path))
        code = _compiled(path, self.folder, name, isinstance(environment, SandboxedEnvironment))
        return environment.template_class.from_code(environment, code, {} if globals is None else globals)


@cached_by_file(MAX_FILES)
def _compiled(_path: Path, folder: Path, name: str, sandboxed: bool) -> CodeType:
    """Return the code of the template `name` of a folder; raises the errors of reading and compiling it."""
    loader = FolderLoader(folder, {})
    environment = make_environment(loader, sandboxed=sandboxed)
    source, filename, _ = loader.get_source(environment, name)
    return environment.compile(source, name, filename)


_QUICK_SECONDS: Final = 0.3
"""Renderings that fail later than this are not repeated to find the line."""


class PromptTemplate:
    """A compiled prompt file, returned by `load`. It can be rendered by several threads concurrently."""

    def __init__(self, path: Path, options: RenderOptions, counting: Counting) -> None:
        """Create the template for the file at the absolute `path`, which is compiled on first use."""
        self.path = path
        """The absolute path of the template's file."""
        self._options = options
        self._counting = counting

    def __repr__(self) -> str:
        return f"<PromptTemplate {str(self.path)!r}>"

    def compile(self) -> None:
        """Compile the template, unless it is already up to date; raises PromptPoetError of kind `load`."""
        files = CompiledFiles(self.path.parent)
        load_template(make_environment(files, sandboxed=self._options.sandboxed), files, self.path.name)

    def render(self, data: Mapping[str, Any] | None = None, /, **inputs: Any) -> RenderedPrompt:
        """Render the prompt with these inputs, passed as keyword arguments, in the mapping `data`, or both.

        Values are deep-copied first, as in Prompt Poet, and may be functions. Keyword arguments override
        `data`; missing inputs render as empty text.

        Raises PromptError of kind `data` for the reserved names `token_limit` and
        `escape_special_characters`, and for values that cannot be copied; `load` if the template has changed
        and is no longer valid Jinja; `render` or `sandbox` if it fails on the data; `yaml` and
        `parts` if the rendered text is not a list of parts.
        """
        values = inputs if data is None else {**data, **inputs}
        started = time.perf_counter()
        try:
            rendered = self._text(values)
            parts = parse_parts(rendered.text, rendered.data, self._options)
        except PromptPoetError as error:
            # Rendering again would call functions again, which may have side effects.
            is_harmless = not any(map(callable, values.values()))
            if not is_harmless or time.perf_counter() - started > _QUICK_SECONDS:
                raise PromptError(error, self._counting.path) from error
            raise PromptError(error, self._counting.path, self._culprit(error, values)) from error
        return RenderedPrompt(parts, (), rendered.text, self._counting)

    def format(self, **inputs: Any) -> str:
        """Render the prompt as a single text; raises PromptError as `render` and `string` do."""
        return self.render(inputs).string

    def _culprit(self, error: PromptPoetError, data: Mapping[str, Any]) -> Culprit | None:
        """Find the template location that caused unreadable output, by rendering again with a source map."""
        if error.kind not in {"yaml", "parts"}:
            return None
        try:
            _, source_map = render_mapped(str(self.path), data, options=self._options)
        except PromptPoetError:
            return None
        return culprit_of(error, source_map)

    def _text(self, data: Mapping[str, Any]) -> RenderedText:
        files = CompiledFiles(self.path.parent)
        # An environment retains variables of imported files, which belong to a single rendering.
        environment = make_environment(files, sandboxed=self._options.sandboxed)
        return render_loaded(environment, files, self.path.name, data, self._options)
