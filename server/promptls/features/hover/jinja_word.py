"""A word of Jinja, or a name that a tag gives a meaning: filters, tests, tags, attributes, imported names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from promptls.features.callables import Described, exported_macro, module_at
from promptls.features.hover.hover import Hover, code, shown_value
from promptls.features.sample_values import value_at
from promptls.meaning.paths import path_of
from promptls.meaning.references import TemplateReference
from promptls.meaning.shapes import resolved_at, shape_under
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering
from promptls.syntax.jinja.builtins import (
    FILTERS,
    LOOP,
    TESTS,
    filter_documentation,
    filter_signature,
    test_documentation,
    test_signature,
)
from promptls.syntax.jinja.nodes import Attribute, Constant, Expression, Filter, Name, Test, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scan import Tag
from promptls.syntax.jinja.signature import Signature
from promptls.syntax.jinja.tag_facts import TAGS, end_documentation
from promptls.text.span import Span
from promptls.workspace.needs import needed_shapes
from promptls.workspace.snapshot import Snapshot


def hover_word(
    snapshot: Snapshot, path: str, template: Template, offset: int, newest: FileRendering | None
) -> Hover | None:
    """What is known of the word at `offset` of a tag; None for variables and for what says nothing."""
    located = template.source.located(offset)
    inside = offset - located.start
    for tag in located.chunk.tags:
        if tag.span.start > inside:
            return None
        if tag.kind in {"output", "statement"} and tag.span.contains(inside):
            start = located.start + tag.span.start
            return _in_tag(snapshot, path, template, tag, start, offset, newest)
    return None


def described_text(described: Described) -> str:
    """A signature with what it does and where it comes from, in Markdown."""
    fence = "python" if described.code else "jinja"
    text = f"```{fence}\n{described.code or described.signature.text}\n```"
    return "\n\n".join(each for each in (text, described.documentation, described.origin) if each)


def _in_tag(
    snapshot: Snapshot,
    path: str,
    template: Template,
    tag: Tag,
    start: int,
    offset: int,
    newest: FileRendering | None,
) -> Hover | None:
    statement = tag_tree(tag).statement
    place = offset - start
    if statement.keyword != "output" and statement.keyword_span.contains(place):
        text = _tag_text(statement.keyword)
        return Hover(statement.keyword_span.shifted(start), text) if text else None
    for imported in statement.imported:
        if imported.span.contains(place) or imported.alias_span.contains(place):
            name = statement.template
            described = _imported(snapshot, path, statement.keyword, name, imported.name)
            span = imported.span if imported.span.contains(place) else imported.alias_span
            return Hover(span.shifted(start), described_text(described)) if described else None
    tests = () if statement.loop_test is None else (statement.loop_test,)
    for expression in (*statement.expressions, *tests):
        for node in walk(expression):
            found = _of_node(snapshot, path, template, node, place, offset, newest)
            if found is not None:
                return Hover(found[0].shifted(start), found[1])
    return None


def _tag_text(keyword: str) -> str:
    if keyword.startswith("end") and keyword[3:] in TAGS:
        return end_documentation(keyword[3:])
    fact = TAGS.get(keyword)
    return fact.documentation if fact else ""


def _imported(
    snapshot: Snapshot, path: str, keyword: str, template: Expression | None, name: str
) -> Described | None:
    if not isinstance(template, Constant) or not isinstance(template.value, str):
        return None
    target = snapshot.resolve(path, TemplateReference(keyword, template.value, template.span))
    return exported_macro(snapshot, target, name) if target else None


def _of_node(
    snapshot: Snapshot,
    path: str,
    template: Template,
    node: Expression,
    place: int,
    offset: int,
    newest: FileRendering | None,
) -> tuple[Span, str] | None:
    if isinstance(node, Filter) and node.name_span.contains(place) and node.name in FILTERS:
        return node.name_span, _signed("|", filter_signature(node.name), filter_documentation(node.name))
    if isinstance(node, Test) and node.name_span.contains(place) and node.name in TESTS:
        return node.name_span, _signed("is", test_signature(node.name), test_documentation(node.name))
    if isinstance(node, Attribute) and node.name_span.contains(place) and node.name:
        text = _attribute_text(snapshot, path, template, node, offset, newest)
        return (node.name_span, text) if text else None
    return None


def _signed(before: str, signature: Signature, text: str) -> str:
    shown = signature.text if signature.parameters else signature.name
    return f"```jinja\n{before} {shown}\n```\n\n{text}".strip()


def _attribute_text(
    snapshot: Snapshot,
    path: str,
    template: Template,
    node: Attribute,
    offset: int,
    newest: FileRendering | None,
) -> str:
    if isinstance(node.target, Name):
        if node.target.name == "loop" and node.name in LOOP:
            return LOOP[node.name]
        module = module_at(snapshot, path, offset, node.target.name)
        if module is not None:
            described = exported_macro(snapshot, module, node.name)
            return (
                described_text(described) if described else f"{code(node.name)} of {code(Path(module).name)}"
            )
    return "\n\n".join(_member_texts(snapshot, path, template, node, offset, newest))


def _member_texts(
    snapshot: Snapshot,
    path: str,
    template: Template,
    node: Attribute,
    offset: int,
    newest: FileRendering | None,
) -> Iterator[str]:
    """What is known of a value that is part of an input: its shape, and its value in the sample."""
    way = resolved_at(template, path_of(node), offset)
    if not way:
        return
    shape = shape_under(needed_shapes(snapshot, path), way)
    words = f", used as {shape.words}" if shape is not None and shape.kind not in {"unknown", "any"} else ""
    root = str(way[0].key)
    yield f"{code(node.name)}: part of the input {code(root)}{words}"
    value = value_at(newest.sample.data, way) if newest is not None else None
    if newest is not None and value is not None:
        yield f"in {code(newest.sample.name)} ({newest.sample.source}): {code(shown_value(value))}"
