"""Loading prompt files: the kind of a file, and the template for it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from promptls.api.rendered import Counting, Encode, PromptError, RenderedPrompt, counter
from promptls.api.template import PromptTemplate
from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import NO_LIMIT, PromptPart
from promptls.dialects.prompt_poet.template_rendering import (
    RenderOptions,
)
from promptls.dialects.prompt_poet.vocabulary import DEFAULT_MARKERS, Markers
from promptls.dialects.ragas.prompt_object import PromptObjectError
from promptls.dialects.ragas.saved_prompt import RagasPrompt, load_json, ragas_text, read_ragas
from promptls.security.files import cached_by_file
from promptls.text.filenames import is_json_file, unpack_file

_OBJECT_KEY: Final = re.compile(r"^(?:instruction|metric_type)[ \t]*:", re.MULTILINE)
_EVALUATION_KEY: Final = re.compile(r"^(?:infer_cfg|ice_template|prompt_template)[ \t]*:", re.MULTILINE)
_ITEM: Final = re.compile(r"^- ", re.MULTILINE)
_TAG: Final = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)


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
