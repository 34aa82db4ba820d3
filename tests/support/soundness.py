"""Properties of the analysis of any text, however broken."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from promptls.lint.runner import check
from promptls.rendering.samples import placeholder_sample
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.projection import project
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import PositionEncoding, Span
from promptls.workspace.contract import needs_of
from promptls.workspace.workspace import Workspace

PATH = "/project/main.yml.j2"
_SETTINGS = {"include": ["**", "*"]}
"""Every text is a prompt file, so that every rule runs."""


def assert_sound(text: str) -> None:
    """Assert that nothing raises on `text`, and that every returned span lies inside it."""
    source = Source.of(text)
    assert source.text == text
    assert "".join(chunk.text for chunk in source.chunks) == text
    template = Template(source)
    for span in _spans(template):
        assert 0 <= span.start <= span.end <= len(text), (span, len(text))
    for chunk in source.chunks:
        _assert_chunk(chunk)
    workspace = Workspace()
    workspace.set_editor_settings(_SETTINGS)
    workspace.put(PATH, source, 1)
    with errors_raised():
        findings = check(workspace.snapshot, PATH)
    for finding in findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(text), finding
        for place in (edit.span for fix in finding.fixes for edit in fix.edits):
            assert 0 <= place.start <= place.end <= len(text), finding
    needs_of(workspace.snapshot, PATH)
    placeholder_sample(workspace.snapshot, PATH)
    for encoding in PositionEncoding:
        assert source.offset(*source.units(len(text) // 2, encoding), encoding) <= len(text)


class _Raising(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            raise record.exc_info[1]


@contextmanager
def errors_raised() -> Iterator[None]:
    """Raise exceptions of rules, which otherwise are only logged."""
    log = logging.getLogger("promptls")
    handler = _Raising(logging.ERROR)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def assert_same_as_fresh(edited: Source) -> None:
    """Assert that an edited source equals a fresh one with its text."""
    fresh = Source.of(edited.text)
    assert edited.layout is fresh.layout
    assert [chunk.text for chunk in edited.chunks] == [chunk.text for chunk in fresh.chunks]
    assert [chunk.tags for chunk in edited.chunks] == [chunk.tags for chunk in fresh.chunks]
    assert [chunk.reach for chunk in edited.chunks] == [chunk.reach for chunk in fresh.chunks]
    assert edited.starts == fresh.starts
    assert [edited.line_span(line) for line in range(edited.root.line_ends + 2)] == [
        fresh.line_span(line) for line in range(fresh.root.line_ends + 2)
    ]


def _spans(template: Template) -> Iterator[Span]:
    for problem in template.syntax_problems:
        yield problem.span
        yield from (related.span for related in problem.related)
    for placed in template.parts:
        yield placed.span
        for entry in placed.part.entries:
            yield entry.key.span.shifted(placed.start)
            yield entry.value.span.shifted(placed.start)
    yield from (reference.span for reference in template.names.references)
    yield from (binding.span for binding in template.names.bindings)
    yield from (reference.span for reference in template.references)
    declarations = template.declarations
    yield declarations.span
    yield from (problem.span for problem in declarations.problems)
    yield from (key.span for key in declarations.inputs)
    yield from (example.span for example in declarations.examples)


def _assert_chunk(chunk: Chunk) -> None:
    end = 0
    for tag in chunk.tags:
        assert end <= tag.span.start < tag.span.end <= len(chunk.text), tag
        assert chunk.text[tag.span.start : tag.span.end] == tag.text
        assert 2 <= tag.inner_start <= max(tag.inner_end, 2) <= len(tag.text), tag
        assert 0 <= tag.body.start <= tag.body.end <= len(chunk.text)
        end = tag.span.end
        if tag.kind in {"output", "statement"}:
            tree = tag_tree(tag)
            for expression in tree.statement.expressions:
                for node in walk(expression):
                    assert 0 <= node.span.start <= node.span.end <= len(tag.text), node
    projection = project(chunk)
    for start, origin, piece_end in zip(projection.starts, projection.origins, projection.ends, strict=True):
        assert 0 <= origin <= piece_end <= len(chunk.text)
        assert projection.origin(start) == origin
    for root in chunk_yaml(chunk).roots:
        _assert_node(root, len(chunk.text), 0)


def _assert_node(node: Node, length: int, depth: int) -> None:
    assert 0 <= node.span.start <= node.span.end <= length, node
    if depth > 30:
        return
    inside: tuple[Node, ...] = ()
    if isinstance(node, Sequence):
        inside = node.items
    elif isinstance(node, Mapping):
        inside = tuple(part for entry in node.entries for part in (entry.key, entry.value))
    else:
        assert isinstance(node, Scalar)
    for child in inside:
        _assert_node(child, length, depth + 1)
