"""The exception that the library raises."""

from __future__ import annotations

from promptls.dialects.prompt_poet.failures import Kind, PromptPoetError
from promptls.rendering.failures import Culprit
from promptls.text.errors import FilePlace, UserError


class PromptError(UserError):
    """A prompt that cannot be loaded, rendered, counted or truncated.

    `str()` returns `file:line: what is wrong and what to do`.
    """

    kind: Kind
    """The stage that failed: `data`, `load`, `render`, `sandbox`, `memory`, `yaml`, `parts`, `tokens` or
    `truncation`."""
    path: str
    """The template file that contains the error: the loaded one, or one that it includes."""
    line: int | None
    """The line of that file, counted from 1; None if unknown."""
    rendered_line: int | None
    """The line of the rendered text, counted from 1, if the error is in that text."""
    excerpt: str | None
    """The rendered lines around the error. They contain values of the data and should not be logged."""

    def __init__(self, error: PromptPoetError, path: str, culprit: Culprit | None = None) -> None:
        """Wrap `error`, raised for the template at `path`; `culprit` is the location that caused it."""
        self.kind = error.kind
        self.path, line = error.path or path, error.line
        if culprit is not None:
            self.path, line = culprit.path, culprit.line
        self.line = None if line is None else line + 1
        self.rendered_line = None if error.rendered_line is None else error.rendered_line + 1
        self.excerpt = error.excerpt
        super().__init__(error.message, FilePlace(self.path, line))

    def __str__(self) -> str:
        """Return the location and the message."""
        assert self.place is not None
        return f"{self.place.text()}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling, for example to pass the error between processes."""
        return _restored, (self.__dict__,)


def _restored(fields: dict[str, object]) -> PromptError:
    error = PromptError.__new__(PromptError, fields["message"])
    error.__dict__.update(fields)
    return error
