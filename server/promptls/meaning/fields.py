"""The fields in an evaluation prompt's texts: `{column}`, which OpenCompass replaces by the row's value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Scalar
from promptls.text.span import Span

_FIELD: Final = re.compile(r"\{([^\W\d]\w*)\}")
_LATEX: Final = re.compile(r"\\[A-Za-z]+\*?(?:\[[^\]]*\])?(?:\{[^{}]*\})*$")
_QUOTED_LATEX: Final = re.compile(r"(?<!\\)(?:\\\\)+[A-Za-z]+\*?(?:\[[^\]]*\])?(?:\{[^{}]*\})*$")
"""The same between double quotes, where one backslash begins an escape of YAML."""
_NEAR: Final = 40
"""How many characters ahead of a field can show that it is LaTeX's."""


class Field(NamedTuple):
    """A `{name}` in a template's text; `span` covers the braces, `doubled` says that there are two pairs."""

    name: str
    span: Span
    doubled: bool


def fields_in(chunk: Chunk, scalar: Scalar) -> Iterator[Field]:
    """The fields that stand in a text; braces of Jinja, of LaTeX and of other mark-up are none."""
    tags = chunk.tags_at(scalar.span)
    latex = _QUOTED_LATEX if scalar.style == '"' else _LATEX
    for match in _FIELD.finditer(chunk.text, scalar.span.start, scalar.span.end):
        around = [tag for tag in tags if tag.span.start < match.end() and match.start() < tag.span.end]
        if any(tag.kind != "raw" or not _inside(match.span(), tag.body) for tag in around):
            continue
        near = max(match.start() - _NEAR, scalar.span.start)
        before, behind = chunk.text[near : match.start()], chunk.text[match.end() : match.end() + 1]
        doubled = before.endswith("{") and behind == "}"
        if not doubled and (before.endswith(("{", "^", "_", "$")) or latex.search(before)):
            continue
        yield Field(match.group(1), Span(*match.span()), doubled)


def _inside(inner: tuple[int, int], outer: Span) -> bool:
    return outer.start <= inner[0] and inner[1] <= outer.end
