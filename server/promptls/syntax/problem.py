"""What is wrong with a text, as the syntax room says it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from promptls.text.positions import Span


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a problem speaks of, such as where a tag was opened."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A syntax error of the language `jinja`, `yaml` or `header`, with its place and what was expected.

    `unknown_tag` is the word of a tag that Jinja does not know, also one in two words as `end for`;
    `missing_end` is that of a tag which nobody has found.
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
