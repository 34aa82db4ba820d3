"""A prompt template in a program: loaded once, rendered as often as there is data."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from promptls.library.compiled import CompiledFiles
from promptls.library.counter import Encode, counter
from promptls.library.error import PromptError
from promptls.library.file_kind import is_evaluation_file, is_object_file
from promptls.library.items import load_items
from promptls.library.rendered import Counting, RenderedPrompt
from promptls.rendering.culprit import Culprit, culprit_of
from promptls.rendering.source_map.render import render_mapped
from promptls.systems.prompt_poet.cleanup import DEFAULT_MARKERS, Markers
from promptls.systems.prompt_poet.environment import make_environment
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.render import (
    RenderedText,
    RenderOptions,
    load_template,
    parse_parts,
    render_loaded,
)
from promptls.systems.prompt_poet.truncation import NO_LIMIT

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
    """The parts template in the file at `path`, compiled; it renders as Prompt Poet renders it.

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
        counting = Counting(absolute, counter(encoding), allow_token_overrides, token_limit, truncation_step)
        file = Path(absolute)
        if is_object_file(file):
            from promptls.library.object_file import PromptObjectFile

            template: PromptTemplate = PromptObjectFile(file, options, counting, ragas_version)
        elif is_evaluation_file(file):
            from promptls.library.evaluation import EvaluationPrompt

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
        """The template at the absolute `path`, not yet compiled."""
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
        """The prompt for these inputs: given by name, in the mapping `data`, or in both.

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
        """The prompt for these inputs as one text; raises PromptError as `render` and `string` do."""
        return self.render(inputs).string

    def _culprit(self, error: PromptPoetError, data: Mapping[str, Any]) -> Culprit | None:
        """What made a rendered text that cannot be read, found by rendering once more with a map."""
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
