"""Loading prompt files: detection of the kind of file, compilation caches, `load` and `PromptTemplate`."""

from __future__ import annotations

import datetime as dt
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from types import CodeType
from typing import Any, Final, TypeAlias

from jinja2 import Environment, Template, TemplateNotFound
from jinja2.sandbox import SandboxedEnvironment

from promptls.api.rendered import Counting, Encode, PromptError, RenderedPrompt, counter
from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.environment import FolderLoader, make_environment
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import NO_LIMIT, PromptPart
from promptls.dialects.prompt_poet.template_rendering import (
    RenderedText,
    RenderOptions,
    load_template,
    parse_parts,
    render_loaded,
)
from promptls.dialects.prompt_poet.vocabulary import DEFAULT_MARKERS, Markers
from promptls.dialects.ragas.prompt_object import PromptObjectError
from promptls.dialects.ragas.saved_prompt import RagasPrompt, load_json, ragas_text, read_ragas
from promptls.rendering.error_places import Culprit, culprit_of
from promptls.rendering.source_map.compiled_templates import render_mapped
from promptls.security.files import Stamp, cached_by_file, stamp_of
from promptls.text.filenames import is_json_file, unpack_file

_OBJECT_KEY: Final = re.compile(r"^(?:instruction|metric_type)[ \t]*:", re.MULTILINE)
_EVALUATION_KEY: Final = re.compile(r"^(?:infer_cfg|ice_template|prompt_template)[ \t]*:", re.MULTILINE)
_ITEM: Final = re.compile(r"^- ", re.MULTILINE)
_TAG: Final = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)


def is_object_file(path: Path) -> bool:
    """Return whether the file is JSON, or has an `instruction` at its top level and no list of parts."""
    return is_json_file(path.name) or _holds(path, _OBJECT_KEY)


def is_evaluation_file(path: Path) -> bool:
    """Return whether the file has the templates of an evaluation prompt at its top level, and no parts."""
    return _holds(path, _EVALUATION_KEY)


@cached_by_file(2_000)
def _holds(path: Path, key: re.Pattern[str]) -> bool:
    try:
        text = _TAG.sub("", path.read_text("utf-8-sig"))
    except (OSError, ValueError):
        return False  # loading the template reports the problem
    return key.search(text) is not None and _ITEM.search(text) is None


MAX_FILES: Final = 1_000
"""Size of the LRU cache of compiled files."""

_Key: TypeAlias = tuple[str, str, bool]

_lock = threading.Lock()
_compiled_files: OrderedDict[_Key, tuple[Stamp, CodeType]] = OrderedDict()


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
        # The stamp is taken before the file is read, so that a concurrent change is noticed on the next load.
        stamp = stamp_of(path) if path.is_file() else None
        if stamp is None:
            raise TemplateNotFound(name)
        key = (str(path), name, isinstance(environment, SandboxedEnvironment))
        code = _known(key, stamp)
        if code is None:
            source, filename, _ = self.get_source(environment, name)
            code = environment.compile(source, name, filename)
            _keep(key, stamp, code)
        self.loaded.add(str(path))
        return environment.template_class.from_code(environment, code, {} if globals is None else globals)


def _known(key: _Key, stamp: Stamp) -> CodeType | None:
    with _lock:
        known = _compiled_files.get(key)
        if known is None or known[0] != stamp:
            return None
        _compiled_files.move_to_end(key)
        return known[1]


def _keep(key: _Key, stamp: Stamp, code: CodeType) -> None:
    with _lock:
        _compiled_files[key] = (stamp, code)
        while len(_compiled_files) > MAX_FILES:
            _compiled_files.popitem(last=False)


MAX_ITEMS: Final = 10_000
"""Size of the LRU cache of items."""
LONGEST_KEPT: Final = 4_000
"""The longest piece that is cached, in characters."""

_UNSURE: Final = re.compile("[\r\x85\u2028\u2029\ufeff]|\n-(?! )|\n\\.\\.\\.|(?<![A-Za-z0-9])&(?!\\s)")
_BLANK: Final = re.compile(r"(?: *(?:#[ -~]*)?\n)*")
_BETWEEN: Final = re.compile(r"(?<=\n)(?=- )")
_UNCHANGING: Final = frozenset({str, int, float, bool, type(None), dt.date, dt.datetime})

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
    """Return the cached items of the pieces."""
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


def load(  # noqa: PLR0913 - each is an independent option
    path: str | os.PathLike[str],
    *,
    encoding: str | Encode = "o200k_base",
    token_limit: int = NO_LIMIT,
    truncation_step: int | None = None,
    allow_token_overrides: bool = False,
    markers: Markers = DEFAULT_MARKERS,
    sandboxed: bool = True,
    ragas_version: str | None = None,
) -> PromptTemplate:
    """Load and compile the parts template in the file at `path`; it renders exactly as in Prompt Poet.

    A prompt object, in YAML or in JSON saved by Ragas, renders to a single message, as in Ragas;
    `ragas_version`, such as `0.1.21`, is its release if the file does not specify one.

    An evaluation prompt is returned as an `EvaluationPrompt`, which renders rows as OpenCompass does.

    `path` is relative to the current working directory. Included files are resolved
    from the file's folder. Compiled files are cached by path, modification time and size: an
    unchanged file is compiled only once, and a changed file is used by
    the next rendering.

    Declarations in the file's header only affect editors and the command line; for Prompt Poet and
    for this function, the header is a comment.

    `encoding` is used to count tokens: the name of an encoding or of a model, or a function from a text to
    its token ids. `token_limit`, in tokens, is available to the template as `token_limit` and is the limit
    for `truncate`, which removes steps of `truncation_step` tokens; -1 means no limit. With
    `allow_token_overrides`, parts may preset their token ids. `markers` are placeholders for spaces
    and line breaks in contents. Templates are rendered in Jinja's sandbox;
    `sandboxed=False` disables it. Time and memory are not limited.

    Raises PromptError of kind `load` if the file does not exist, is not UTF-8 or is not valid Jinja, and
    of kind `tokens` for an unknown encoding.
    """
    options = RenderOptions(token_limit, markers, allow_token_overrides, sandboxed)
    absolute = os.path.normpath(Path(path).absolute())
    try:
        count = counter(encoding)
        counting = Counting(absolute, encoding, count, allow_token_overrides, token_limit, truncation_step)
        file = Path(absolute)
        if is_object_file(file):
            template: PromptTemplate = PromptObjectFile(file, options, counting, ragas_version)
        elif is_evaluation_file(file):
            from promptls.api.evaluation import EvaluationPrompt

            template = EvaluationPrompt(file, options, counting)
        else:
            template = PromptTemplate(file, options, counting)
        template.compile()
    except PromptPoetError as error:
        raise PromptError(error, absolute) from error
    return template


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


class PromptObjectFile(PromptTemplate):
    """A prompt object in YAML with Jinja, or in a JSON file saved by Ragas."""

    def __init__(
        self, path: Path, options: RenderOptions, counting: Counting, ragas_version: str | None
    ) -> None:
        """Create the prompt object for the file at the absolute `path`, which is read on first use."""
        super().__init__(path, options, counting)
        self._ragas_version = ragas_version

    def compile(self) -> None:
        """Read the file if it has changed since it was last read; raises PromptPoetError of kind `load`."""
        if not is_json_file(self.path.name):
            super().compile()
            return
        self._check(self._json_text())

    def render(self, data: Mapping[str, Any] | None = None, /, **inputs: Any) -> RenderedPrompt:
        """Render the prompt with these inputs, as a single part with the role `user`.

        Raises PromptError of kind `load` if Ragas would reject the object, `data` if an input has no
        value, and the errors of `PromptTemplate.render` for its Jinja. Undeclared inputs are ignored.
        """
        values = inputs if data is None else {**data, **inputs}
        try:
            text = self._json_text() if is_json_file(self.path.name) else self._text(values).text
            prompt = self._check(text)
            content = ragas_text(prompt, values)
        except PromptPoetError as error:
            raise PromptError(error, self._counting.path) from error
        except PromptObjectError as error:
            failure = PromptPoetError("data", str(error), path=str(self.path))
            raise PromptError(failure, self._counting.path) from error
        part = PromptPart(name=prompt.name or "prompt", content=content)
        return RenderedPrompt((part,), (), text, self._counting)

    def _json_text(self) -> str:
        try:
            return unpack_file(self.path.name, self.path.read_bytes()).decode("utf-8-sig")
        except (OSError, ValueError) as error:
            raise PromptPoetError(
                "load", f"The file cannot be read: {error}.", cause=type(error).__name__, path=str(self.path)
            ) from error

    def _check(self, text: str) -> RagasPrompt:
        try:
            loaded = load_json(text) if is_json_file(self.path.name) else document.load(text)
            return read_ragas(loaded, self._ragas_version)
        except PromptObjectError as error:
            raise PromptPoetError("load", str(error), path=str(self.path)) from error
