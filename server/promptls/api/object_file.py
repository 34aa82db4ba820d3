"""Prompt objects in files: rendered as in Ragas, with the interface of `PromptTemplate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptls.api.rendered import Counting, PromptError, RenderedPrompt
from promptls.api.template import PromptTemplate
from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import PromptPart
from promptls.dialects.prompt_poet.template_rendering import RenderOptions
from promptls.dialects.ragas.prompt_object import PromptObjectError
from promptls.dialects.ragas.saved_prompt import RagasPrompt, load_json, ragas_text, read_ragas
from promptls.text.filenames import is_json_file, unpacked


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
        self._checked(self._json_text())

    def render(self, data: Mapping[str, Any] | None = None, /, **inputs: Any) -> RenderedPrompt:
        """Render the prompt with these inputs, as a single part with the role `user`.

        Raises PromptError: of kind `load` if Ragas would reject the object, `data` if an input has no
        value, and the errors of `PromptTemplate.render` for its Jinja. Undeclared inputs are ignored.
        """
        given = inputs if data is None else {**data, **inputs}
        try:
            text = self._json_text() if is_json_file(self.path.name) else self._text(given).text
            prompt = self._checked(text)
            content = ragas_text(prompt, given)
        except PromptPoetError as error:
            raise PromptError(error, self._counting.path) from error
        except PromptObjectError as error:
            failure = PromptPoetError("data", str(error), path=str(self.path))
            raise PromptError(failure, self._counting.path) from error
        part = PromptPart(name=prompt.name or "prompt", content=content)
        return RenderedPrompt((part,), (), text, self._counting)

    def _json_text(self) -> str:
        try:
            return unpacked(self.path.name, self.path.read_bytes()).decode("utf-8-sig")
        except (OSError, ValueError) as error:
            raise PromptPoetError(
                "load", f"The file cannot be read: {error}.", cause=type(error).__name__, path=str(self.path)
            ) from error

    def _checked(self, text: str) -> RagasPrompt:
        try:
            loaded = load_json(text) if is_json_file(self.path.name) else document.load(text)
            return read_ragas(loaded, self._ragas_version)
        except PromptObjectError as error:
            raise PromptPoetError("load", str(error), path=str(self.path)) from error
