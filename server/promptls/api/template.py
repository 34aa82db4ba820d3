"""Compiled templates: `PromptTemplate`, and the caches of what was compiled and read."""

from __future__ import annotations

import datetime as dt
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from types import CodeType
from typing import Any, Final

from jinja2 import Environment, Template
from jinja2.sandbox import SandboxedEnvironment

from promptls.api.rendered import Counting, PromptError, RenderedPrompt
from promptls.dialects.prompt_poet import document
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


MAX_ITEMS: Final = 10_000
"""Size of the LRU cache of items."""
LONGEST_KEPT: Final = 4_000
"""The longest piece that is cached, in characters."""

_UNSURE: Final = re.compile("[\r\x85\u2028\u2029\ufeff]|\n-(?! )|\n\\.\\.\\.|(?<![A-Za-z0-9])&(?!\\s)")
_BLANK: Final = re.compile(r"(?: *(?:#[ -~]*)?\n)*")
_BETWEEN: Final = re.compile(r"(?<=\n)(?=- )")
_UNCHANGING: Final = frozenset({str, int, float, bool, type(None), dt.date, dt.datetime})

_lock = threading.Lock()
_cached_items: OrderedDict[str, Any] = OrderedDict()


def load_items(text: str) -> Any:
    """Parse the rendered `text` as YAML; the result is shared and must not be modified.

    Raises PromptPoetError of kind `yaml` with the location.
    """
    first = 0 if text.startswith("- ") else text.find("\n- ") + 1
    is_list = text.startswith("- ", first) and _BLANK.fullmatch(text, 0, first)
    if not is_list or _UNSURE.search(text):
        return document.load(text)
    pieces = _BETWEEN.split(text[first:])
    items = _items_known(pieces)
    # Only the last piece can lack a line ending, and it remains the last one.
    missing = [piece for piece in dict.fromkeys(pieces) if piece not in items]
    if missing:
        try:
            read = document.load("".join(missing))
        except PromptPoetError:
            return document.load(text)
        if not isinstance(read, list) or len(read) != len(missing):
            return document.load(text)
        items.update(zip(missing, read, strict=True))
        _items_keep(missing, items)
    if len(items) < len(pieces) and not all(map(_is_unchanging, items.values())):
        # Mutable values must not be shared within the result.
        return document.load(text)
    return [items[piece] for piece in pieces]


def _items_known(pieces: list[str]) -> dict[str, Any]:
    found = {}
    with _lock:
        for piece in pieces:
            if piece in _cached_items:
                _cached_items.move_to_end(piece)
                found[piece] = _cached_items[piece]
    return found


def _items_keep(pieces: list[str], items: dict[str, Any]) -> None:
    with _lock:
        for piece in pieces:
            item = items[piece]
            if len(piece) <= LONGEST_KEPT and _is_unchanging(item):
                _cached_items[piece] = item
        while len(_cached_items) > MAX_ITEMS:
            _cached_items.popitem(last=False)


def _is_unchanging(item: Any) -> bool:
    """Return whether the item's values are immutable."""
    return isinstance(item, dict) and all(type(value) in _UNCHANGING for value in item.values())


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
            parts = parse_parts(rendered.text, rendered.data, self._options, load_items)
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
