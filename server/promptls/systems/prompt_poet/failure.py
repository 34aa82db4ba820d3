"""Why a template cannot be rendered, counted or truncated, and where."""

from __future__ import annotations

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "data", "load", "render", "sandbox", "memory", "yaml", "parts", "tokens", "truncation"
]
"""The stage that failed; `sandbox` is a template that reaches for what the sandbox forbids."""


class PromptPoetError(Exception):
    """A failure at one of Prompt Poet's stages: what is wrong, where, and what to do.

    `line` is the 0-based line of the template file `path`. `rendered_line` and `rendered_column`
    are 0-based places in the rendered text, where lines end as YAML 1.1 says, and `excerpt` shows
    the rendered lines around that place. Each is None where it is not known. `cause` is the name
    of the exception that Prompt Poet ends with.
    """

    def __init__(  # noqa: PLR0913 - each argument is one field of the failure
        self,
        kind: Kind,
        message: str,
        *,
        cause: str = "ValueError",
        path: str | None = None,
        line: int | None = None,
        rendered_line: int | None = None,
        rendered_column: int | None = None,
        excerpt: str | None = None,
    ) -> None:
        """Keep every field; `message` is also the exception's text."""
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.cause = cause
        self.path = path
        self.line = line
        self.rendered_line = rendered_line
        self.rendered_column = rendered_column
        self.excerpt = excerpt
