"""The columns of an evaluation prompt: where the reader names them, and where templates fill them in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.ide.symbols.symbol import Occurrence
from promptls.semantic.evaluation import Evaluation, evaluation_of, fields_in, scalars_in
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Node, Scalar, Sequence
from promptls.text.positions import Span

_NAME: Final = re.compile(r"[^\s'\"]+")


def column_places(template: Template, path: str, name: str | None) -> Iterator[Occurrence]:
    """Yield the places of a column, or of every column, in an evaluation prompt; none in another file."""
    if template.kind is not Kind.EVALUATION:
        return
    chunk = template.source.first_chunk
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    for span in _named(evaluation, chunk):
        if name in {None, chunk.text[span.start : span.end]}:
            yield Occurrence(path, span, "declaration", "header")
    for body in (body for each in evaluation.templates for body in each.bodies):
        for scalar in scalars_in(body):
            for field in fields_in(chunk, scalar):
                at = chunk.text.find(field.name, field.span.start, field.span.end)
                if at >= 0 and name in {None, field.name}:
                    yield Occurrence(path, Span(at, at + len(field.name)), "read")


def _named(evaluation: Evaluation, chunk: Chunk) -> Iterator[Span]:
    """Yield the columns that the reader names."""
    reader = evaluation.reader
    for node in (reader.value("input_columns"), reader.value("output_column")) if reader is not None else ():
        for item in node.items if isinstance(node, Sequence) else (node,):
            yield from _words(item, chunk)


def _words(node: Node | None, chunk: Chunk) -> Iterator[Span]:
    """Yield the names in a text: OpenCompass splits one at its spaces."""
    if isinstance(node, Scalar) and not node.dynamic and node.style not in {"|", ">"}:
        for match in _NAME.finditer(chunk.text, node.span.start, node.span.end):
            yield Span(*match.span())
