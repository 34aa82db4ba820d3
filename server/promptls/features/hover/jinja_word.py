"""A word of Jinja, or a name that a tag gives a meaning: filters, tests, tags, attributes, imported names."""

from __future__ import annotations

from pathlib import Path

from promptls.features.callables import Described, called_at, exported_macro, module_at
from promptls.features.hover.hover import Hover, code
from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.syntax.jinja.builtins import (
    FILTERS,
    LOOP,
    TESTS,
    filter_documentation,
    filter_signature,
    test_documentation,
    test_signature,
)
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Constant,
    Expression,
    Filter,
    Keyword,
    Name,
    Test,
    walk,
)
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.signature import Signature
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.jinja.tag_facts import TAGS, end_documentation
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot


def hover_word(snapshot: Snapshot, path: str, template: Template, offset: int) -> Hover | None:
    """What is known of the word at `offset` of a tag; None for variables and for what says nothing."""
    located = template.source.located(offset)
    inside = offset - located.start
    for tag in located.chunk.tags:
        if tag.span.start > inside:
            return None
        if tag.kind in {"output", "statement"} and tag.span.contains(inside):
            start = located.start + tag.span.start
            return _in_tag(snapshot, path, tag, start, offset)
    return None


def described_text(described: Described) -> str:
    """A signature with what it does and where it comes from, in Markdown."""
    fence = "python" if described.code else "jinja"
    text = f"```{fence}\n{described.code or described.signature.text}\n```"
    return "\n\n".join(each for each in (text, described.documentation, described.origin) if each)


def _in_tag(snapshot: Snapshot, path: str, tag: Tag, start: int, offset: int) -> Hover | None:
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
            found = _of_node(snapshot, path, node, place, offset)
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
    snapshot: Snapshot, path: str, node: Expression, place: int, offset: int
) -> tuple[Span, str] | None:
    if isinstance(node, Filter) and node.name_span.contains(place) and node.name in FILTERS:
        return node.name_span, _signed("|", filter_signature(node.name), filter_documentation(node.name))
    if isinstance(node, Test) and node.name_span.contains(place) and node.name in TESTS:
        return node.name_span, _signed("is", test_signature(node.name), test_documentation(node.name))
    if isinstance(node, Attribute) and node.name_span.contains(place) and node.name:
        text = _attribute_text(snapshot, path, node, offset)
        return (node.name_span, text) if text else None
    if isinstance(node, Call):
        return _argument(snapshot, path, node, place, offset)
    return None


def _argument(snapshot: Snapshot, path: str, node: Call, place: int, offset: int) -> tuple[Span, str] | None:
    """The parameter that a keyword argument stands for, with what is called."""
    for argument in node.arguments:
        if not isinstance(argument, Keyword):
            continue
        start = argument.span.start
        span = Span(start, start + len(argument.name))
        described = called_at(snapshot, path, offset, node.function) if span.contains(place) else None
        parameters = described.signature.parameters if described is not None else ()
        named = next((each for each in parameters if each.name == argument.name), None)
        if described is not None and named is not None:
            return span, f"{code(named.text)}: parameter\n\n{described_text(described)}"
    return None


def _signed(before: str, signature: Signature, text: str) -> str:
    shown = signature.text if signature.parameters else signature.name
    return f"```jinja\n{before} {shown}\n```\n\n{text}".strip()


def _attribute_text(snapshot: Snapshot, path: str, node: Attribute, offset: int) -> str:
    """What stands behind `loop.` or behind the name of an import; empty for a key of a value."""
    if not isinstance(node.target, Name):
        return ""
    if node.target.name == "loop" and node.name in LOOP:
        return LOOP[node.name]
    module = module_at(snapshot, path, offset, node.target.name)
    if module is None:
        return ""
    described = exported_macro(snapshot, module, node.name)
    return described_text(described) if described else f"{code(node.name)} of {code(Path(module).name)}"
