"""The tags that name another template: `include`, `extends`, `import` and `from`."""

from __future__ import annotations

from dataclasses import replace

from promptls.syntax.jinja.bindings import read_defined_name
from promptls.syntax.jinja.expressions import ExpressionParser
from promptls.syntax.jinja.nodes import ImportedName, Statement
from promptls.text.span import Span


def read_include(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    """`include`, with what it hands on of the context."""
    statement = read_extends(parser, keyword, span)
    ignored = parser.skip_name("ignore") and parser.skip_name("missing")
    return replace(statement, ignore_missing=ignored, with_context=_context(parser, default=True))


def read_extends(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    """`extends`, and what the other tags begin with: the template that is named."""
    template = parser.expression()
    return Statement(keyword, span, expressions=(template,), template=template)


def read_import(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    """`import … as …`."""
    statement = read_extends(parser, keyword, span)
    if not parser.skip_name("as"):
        parser.missing("`as`")
    name, name_span = read_defined_name(parser, "the name to import as")
    context = _context(parser, default=False)
    return replace(statement, name=name, name_span=name_span, with_context=context)


def read_from(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    """`from … import …`, with the names that it imports and what they are called here."""
    statement = read_extends(parser, keyword, span)
    if not parser.skip_name("import"):
        parser.missing("`import`")
    imported: list[ImportedName] = []
    while parser.token.kind == "name":
        if parser.at_name("with", "without") and _context_follows(parser):
            break
        token = parser.advance()
        name = alias = token.text
        name_span = alias_span = Span(token.start, token.end)
        if parser.skip_name("as"):
            alias, alias_span = read_defined_name(parser, "the name to import as")
        imported.append(ImportedName(name, name_span, alias, alias_span))
        if not parser.skip_operator(","):
            break
    if not imported:
        parser.missing("a name to import")
    return replace(statement, imported=tuple(imported), with_context=_context(parser, default=False))


def _context_follows(parser: ExpressionParser) -> bool:
    following = parser.tokens[min(parser.position + 1, len(parser.tokens) - 1)]
    return following.text == "context"


def _context(parser: ExpressionParser, *, default: bool) -> bool:
    if parser.at_name("with", "without") and _context_follows(parser):
        given = parser.advance().text == "with"
        parser.advance()
        return given
    return default
