"""Syntax errors and the positions that they refer to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from promptls.text.positions import Span

ProblemKind: TypeAlias = Literal[
    "",
    "missing-bracket",
    "half-delimiter",
    "missing-call",
    "unclosed-block",
    "unordered-ends",
    "wrong-end",
    "wrong-block-name",
    "stray-end",
    "stray-branch",
    "misplaced-branch",
    "missing-mark",
    "missing-space",
    "tab",
    "text-after-mark",
    "text-after-value",
    "unclosed-quote",
    "unquoted-value",
]
"""The kinds of syntax errors that have fixes of their own."""
STRAYS: frozenset[ProblemKind] = frozenset({"stray-end", "stray-branch"})
"""The kinds of errors at tags that belong to blocks which are not open."""


@dataclass(frozen=True, slots=True)
class Related:
    """A related position of a problem, such as where a tag was opened."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A syntax error of the language `jinja`, `yaml` or `header`, with its position and what was expected.

    `expected` lists the texts that would be right there: for a stray tag, the blocks that it may belong to.
    `unknown_tag` is the name of a tag that Jinja does not know, or both words of one such as `end for`;
    `missing_end` is the name of an end tag that is missing.
    """

    language: str
    span: Span
    message: str
    related: tuple[Related, ...] = ()
    unknown_tag: str = ""
    missing_end: str = ""
    kind: ProblemKind = ""
    expected: tuple[str, ...] = ()

    def shifted(self, by: int) -> SyntaxProblem:
        """Return the same problem in a text that begins `by` characters earlier."""
        related = tuple(replace(item, span=item.span.shifted(by)) for item in self.related)
        return replace(self, span=self.span.shifted(by), related=related)
