"""Syntax errors and the positions that they refer to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from promptls.text.positions import Span


@dataclass(frozen=True, slots=True)
class Related:
    """A related position of a problem, such as where a tag was opened."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A syntax error of the language `jinja`, `yaml` or `header`, with its position and what was expected.

    `unknown_tag` is the name of a tag that Jinja does not know, or both words of one such as `end for`;
    `missing_end` is the name of an end tag that is missing.
    """

    language: str
    span: Span
    message: str
    related: tuple[Related, ...] = ()
    unknown_tag: str = ""
    missing_end: str = ""

    def shifted(self, by: int) -> SyntaxProblem:
        """Return the same problem in a text that begins `by` characters earlier."""
        related = tuple(replace(item, span=item.span.shifted(by)) for item in self.related)
        return replace(self, span=self.span.shifted(by), related=related)
