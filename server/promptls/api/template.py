"""Whether a file holds a prompt object or an evaluation prompt, as far as a look at its lines can tell."""

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

from promptls.api.error import PromptError
from promptls.api.rendered import Counting, Encode, RenderedPrompt, counter
from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.cleanup import DEFAULT_MARKERS, Markers
from promptls.dialects.prompt_poet.environment import FolderLoader, make_environment
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.render import (
    RenderedText,
    RenderOptions,
    load_template,
    parse_parts,
    render_loaded,
)
from promptls.dialects.prompt_poet.truncation import NO_LIMIT
from promptls.rendering.failures import Culprit, culprit_of
from promptls.rendering.source_map.render import render_mapped
from promptls.security.files import Stamp, kept_by_file, stamp_of
from promptls.text.packed import is_json_file

_OBJECT_KEY: Final = re.compile(r"^(?:instruction|metric_type)[ \t]*:", re.MULTILINE)
_EVALUATION_KEY: Final = re.compile(r"^(?:infer_cfg|ice_template|prompt_template)[ \t]*:", re.MULTILINE)
_ITEM: Final = re.compile(r"^- ", re.MULTILINE)
_TAG: Final = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)


def is_object_file(path: Path) -> bool:
    """Return whether the file is JSON, or has an `instruction` at its top level and no list of parts."""
    return is_json_file(path.name) or _holds(path, _OBJECT_KEY)


def is_evaluation_file(path: Path) -> bool:
    """Return whether the file has an evaluation prompt's templates at its top level, and no list of parts."""
    return _holds(path, _EVALUATION_KEY)


@kept_by_file(2_000)
def _holds(path: Path, key: re.Pattern[str]) -> bool:
    try:
        text = _TAG.sub("", path.read_text("utf-8-sig"))
    except (OSError, ValueError):
        return False  # loading the template says what is wrong with it
    return key.search(text) is not None and _ITEM.search(text) is None


KEPT_FILES: Final = 1_000
"""How many compiled files are kept, those that were used last."""

_Key: TypeAlias = tuple[str, str, bool]

_lock = threading.Lock()
_kept: OrderedDict[_Key, tuple[Stamp, CodeType]] = OrderedDict()


class CompiledFiles(FolderLoader):
    """Templates of one folder by name, compiled once as long as time and size of their files stay.

    Only code is kept, never a template: what an imported file sets belongs to one rendering.
    """

    def __init__(self, folder: Path) -> None:
        """Look in `folder`."""
        super().__init__(folder, {})

    def load(
        self,
        environment: Environment,
        name: str,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002 - the name is Jinja's
    ) -> Template:
        """Return the template `name`, as Jinja asks for it; raises what compiling and reading it raises."""
        path = self.path_of(name)
        # Looked at before the file is read: a change in between is seen the next time.
        stamp = _stamp(path)
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


def _stamp(path: Path) -> Stamp | None:
    return stamp_of(path) if path.is_file() else None


def _known(key: _Key, stamp: Stamp) -> CodeType | None:
    with _lock:
        known = _kept.get(key)
        if known is None or known[0] != stamp:
            return None
        _kept.move_to_end(key)
        return known[1]


def _keep(key: _Key, stamp: Stamp, code: CodeType) -> None:
    with _lock:
        _kept[key] = (stamp, code)
        while len(_kept) > KEPT_FILES:
            _kept.popitem(last=False)


KEPT_ITEMS: Final = 10_000
"""How many items are kept, those that were used last."""
LONGEST_KEPT: Final = 4_000
"""The longest piece that is kept, in characters."""

_UNSURE: Final = re.compile("[\r\x85\u2028\u2029\ufeff]|\n-(?! )|\n\\.\\.\\.|(?<![A-Za-z0-9])&(?!\\s)")
_BLANK: Final = re.compile(r"(?: *(?:#[ -~]*)?\n)*")
_BETWEEN: Final = re.compile(r"(?<=\n)(?=- )")
_UNCHANGING: Final = frozenset({str, int, float, bool, type(None), dt.date, dt.datetime})

_items_kept: OrderedDict[str, Any] = OrderedDict()


def load_items(text: str) -> Any:
    """Return the data that the rendered `text` holds; nobody may change them, as others get them too.

    Raises PromptPoetError of kind `yaml` with the place.
    """
    first = 0 if text.startswith("- ") else text.find("\n- ") + 1
    is_list = text.startswith("- ", first) and _BLANK.fullmatch(text, 0, first)
    if not is_list or _UNSURE.search(text):
        return document.load(text)
    pieces = _BETWEEN.split(text[first:])
    items = _items_known(pieces)
    # A last line without its end can only be the last piece, and stays the last one here.
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
        # What can be changed must not stand twice.
        return document.load(text)
    return [items[piece] for piece in pieces]


def _items_known(pieces: list[str]) -> dict[str, Any]:
    """Return the items of those pieces that were read before."""
    found = {}
    with _lock:
        for piece in pieces:
            if piece in _items_kept:
                _items_kept.move_to_end(piece)
                found[piece] = _items_kept[piece]
    return found


def _items_keep(pieces: list[str], items: dict[str, Any]) -> None:
    with _lock:
        for piece in pieces:
            item = items[piece]
            if len(piece) <= LONGEST_KEPT and _is_unchanging(item):
                _items_kept[piece] = item
        while len(_items_kept) > KEPT_ITEMS:
            _items_kept.popitem(last=False)


def _is_unchanging(item: Any) -> bool:
    """Return whether nobody who gets a value of the item can change it."""
    return isinstance(item, dict) and all(type(value) in _UNCHANGING for value in item.values())


_QUICK_SECONDS: Final = 0.3
"""Renderings that fail later than this are not made again to find the line."""


def load(  # noqa: PLR0913 - each is one thing that a caller may say
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
    """Return the parts template in the file at `path`, compiled; it renders as Prompt Poet renders it.

    A prompt object, in YAML or in JSON that Ragas has saved, renders to one message, as Ragas renders
    it; `ragas_version`, such as `0.1.21`, is the release that it is for where the file names none.

    An evaluation prompt is an `EvaluationPrompt`: it renders rows, as OpenCompass asks them.

    `path` counts from the folder of the process, as it is now. What the file includes is looked up
    from the file's folder. Compiled files are kept by path, time of change and size: a file that
    did not change is compiled once, however often it is loaded, and one that did change is seen by
    the next rendering.

    What the file's header declares counts in editors and on the command line; to Prompt Poet, and
    here, the header is a comment.

    `encoding` counts tokens: the name of an encoding or of a model, or a function from a text to
    its token ids. `token_limit`, in tokens, is what the template reads as `token_limit` and what
    `truncate` keeps to in steps of `truncation_step` tokens; -1 is none. With
    `allow_token_overrides`, parts may preset their token ids. `markers` are what stands for spaces
    and line breaks in contents. Jinja's sandbox keeps the template from Python's internals, and
    `sandboxed=False` renders without it. Time and memory are those of the process.

    Raises PromptError: of kind `load` where the file is not there, is not UTF-8, or is no Jinja, and
    of kind `tokens` for an unknown encoding.
    """
    options = RenderOptions(token_limit, markers, allow_token_overrides, sandboxed)
    absolute = os.path.normpath(Path(path).absolute())
    try:
        count = counter(encoding)
        counting = Counting(absolute, encoding, count, allow_token_overrides, token_limit, truncation_step)
        file = Path(absolute)
        if is_object_file(file):
            from promptls.api.object_file import PromptObjectFile

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
    """A prompt file that `load` has compiled. It may be rendered in several threads at once."""

    def __init__(self, path: Path, options: RenderOptions, counting: Counting) -> None:
        """Prepare the template at the absolute `path`; it is compiled later."""
        self.path = path
        """The absolute path of the template's file."""
        self._options = options
        self._counting = counting

    def __repr__(self) -> str:
        return f"<PromptTemplate {str(self.path)!r}>"

    def compile(self) -> None:
        """Compile the template, if it was not since it changed; raises PromptPoetError of kind `load`."""
        files = CompiledFiles(self.path.parent)
        load_template(make_environment(files, sandboxed=self._options.sandboxed), files, self.path.name)

    def render(self, data: Mapping[str, Any] | None = None, /, **inputs: Any) -> RenderedPrompt:
        """Return the prompt for these inputs: given by name, in the mapping `data`, or in both.

        Values are copied deeply first, as in Prompt Poet, and may be functions. An input given in both
        is the one given by name; one that the template reads and nobody gives renders to nothing.

        Raises PromptError: of kind `data` for `token_limit` and `escape_special_characters`, which the
        template has already, and for values that cannot be copied; `load` where the template has changed
        and is no longer Jinja; `render` or `sandbox` where it fails on the data; `yaml` and
        `parts` where what it renders to is no list of parts.
        """
        given = inputs if data is None else {**data, **inputs}
        started = time.perf_counter()
        try:
            rendered = self._text(given)
            parts = parse_parts(rendered.text, rendered.data, self._options, load_items)
        except PromptPoetError as error:
            # A function would be called again, and may do more than answer.
            is_harmless = not any(map(callable, given.values()))
            if not is_harmless or time.perf_counter() - started > _QUICK_SECONDS:
                raise PromptError(error, self._counting.path) from error
            raise PromptError(error, self._counting.path, self._culprit(error, given)) from error
        return RenderedPrompt(parts, (), rendered.text, self._counting)

    def format(self, **inputs: Any) -> str:
        """Return the prompt for these inputs as one text; raises PromptError as `render` and `string` do."""
        return self.render(inputs).string

    def _culprit(self, error: PromptPoetError, data: Mapping[str, Any]) -> Culprit | None:
        """Return what made a rendered text that cannot be read, found by rendering once more with a map."""
        if error.kind not in {"yaml", "parts"}:
            return None
        try:
            _, source_map = render_mapped(str(self.path), data, options=self._options)
        except PromptPoetError:
            return None
        return culprit_of(error, source_map)

    def _text(self, data: Mapping[str, Any]) -> RenderedText:
        files = CompiledFiles(self.path.parent)
        # An environment keeps what imported files set, which is one rendering's own.
        environment = make_environment(files, sandboxed=self._options.sandboxed)
        return render_loaded(environment, files, self.path.name, data, self._options)
