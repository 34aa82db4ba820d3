"""One tag, read as a statement: `{{ … }}` and `{% … %}`.

`parse_tag` depends on nothing but the tag's text, so its results are kept by that text:
of a template in which one tag changes, one tag is parsed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from promptls.syntax.jinja.bindings import read_defined_name, read_parameters, read_target
from promptls.syntax.jinja.expressions import ExpressionParser
from promptls.syntax.jinja.foreign_signs import STEPS, advice_on_sign, shown
from promptls.syntax.jinja.keywords import KEYWORDS
from promptls.syntax.jinja.nodes import (
    Expression,
    Statement,
    TagTree,
    height,
)
from promptls.syntax.jinja.template_statements import read_extends, read_from, read_import, read_include
from promptls.syntax.jinja.tokens import tokenize
from promptls.text.span import Span

_MAX_HEIGHT: Final = 200
"""How high the tree of an expression may grow, as `a.b.c` grows with each name; jinja2 compiles no
more than about three hundred levels."""


@lru_cache(maxsize=8192)
def parse_tag(text: str, inner_start: int, inner_end: int) -> TagTree:
    """The tree of a tag whose inside is `text[inner_start:inner_end]`; spans count from the tag's start."""
    tokens = tokenize(text, inner_start, inner_end)
    parser = ExpressionParser(tokens)
    if text.startswith("{{"):
        expression = parser.tuple_or_expression()
        statement = Statement("output", Span(0, inner_start), expressions=(expression,))
    else:
        statement = _statement(parser)
    if parser.token.kind != "end":
        token = parser.token
        is_doubled = token.text == "&" and text.startswith("&", token.end)
        parser.problem(
            Span(token.start, token.end + is_doubled),
            f"unexpected `{token.text * (1 + is_doubled)}`{advice_on_sign(token.text)}",
            f"`{'}}' if text[1] == '{' else '%}'}`",
        )
    return TagTree(_shallow(statement), tuple(parser.problems))


def _shallow(statement: Statement) -> Statement:
    """The statement; without its expressions where one of them is a chain that Python cannot descend."""
    read = (*statement.expressions, *([statement.loop_test] if statement.loop_test else []))
    if all(height(expression) <= _MAX_HEIGHT for expression in read):
        return statement
    return Statement(statement.keyword, statement.keyword_span, opens_block=statement.opens_block)


def _statement(parser: ExpressionParser) -> Statement:
    token = parser.token
    if token.kind != "name":
        parser.missing("a tag's name")
        return Statement("", Span(token.start, token.start))
    parser.advance()
    span = Span(token.start, token.end)
    read = _READERS.get(token.text)
    if read:
        return read(parser, token.text, span)
    if token.text not in KEYWORDS:
        parser.problem(span, f"unknown tag `{token.text}`", "a tag of Jinja")
        parser.position = len(parser.tokens) - 1
    elif token.text == "endblock" and parser.at_name():
        named = parser.advance()
        return Statement(token.text, span, name=named.text, name_span=Span(named.start, named.end))
    return Statement(token.text, span)


def _for(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    target = read_target(parser, stops=("in",))
    if not parser.skip_name("in"):
        parser.missing("`in`")
    iterable = parser.tuple_or_expression(conditional=False, stops=("recursive", "if"))
    test = parser.expression() if parser.skip_name("if") else None
    parser.skip_name("recursive")
    return Statement(
        keyword, span, expressions=(iterable,), targets=(target,), loop_test=test, opens_block=True
    )


def _if(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    test = parser.tuple_or_expression(conditional=False)
    return Statement(keyword, span, expressions=(test,), opens_block=keyword == "if")


def _set(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    target = read_target(parser, stops=("in",))
    if parser.skip_operator("="):
        value = parser.tuple_or_expression()
        return Statement(keyword, span, expressions=(value,), targets=(target,))
    filters: tuple[Expression, ...] = ()
    first, second = (*parser.tokens[parser.position : parser.position + 2], parser.token)[:2]
    if first.text + second.text in STEPS:
        message = f"{shown(first.text + second.text)} means nothing in Jinja; write `x = x {first.text} …`"
        parser.problem(Span(first.start, second.end), message, "`=`")
    if parser.at_operator("|"):
        parser.advance()
        filters = (parser.filters(parser.filter(None)),)
    opens_block = parser.token.kind == "end"
    return Statement(keyword, span, expressions=filters, targets=(target,), opens_block=opens_block)


def _with(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    targets: list[Expression] = []
    values: list[Expression] = []
    more = parser.token.kind != "end"
    while more:
        targets.append(read_target(parser, single=True))
        parser.expect("=")
        values.append(parser.expression())
        more = parser.skip_operator(",")
    return Statement(keyword, span, expressions=tuple(values), targets=tuple(targets), opens_block=True)


def _macro(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    name, name_span = read_defined_name(parser, "the macro's name")
    parameters = read_parameters(parser)
    return Statement(
        keyword,
        span,
        name=name,
        name_span=name_span,
        parameters=parameters,
        opens_block=True,
        expressions=tuple(item.default for item in parameters if item.default),
    )


def _call(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    parameters = read_parameters(parser) if parser.at_operator("(") else ()
    called = parser.expression()
    defaults = tuple(item.default for item in parameters if item.default)
    return Statement(keyword, span, expressions=(*defaults, called), parameters=parameters, opens_block=True)


def _filter(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    return Statement(keyword, span, expressions=(parser.filters(parser.filter(None)),), opens_block=True)


def _block(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    name, name_span = read_defined_name(parser, "the block's name")
    while parser.skip_name("scoped", "required"):
        pass
    return Statement(keyword, span, name=name, name_span=name_span, opens_block=True)


def _one_expression(parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    opens = keyword == "autoescape"
    return Statement(keyword, span, expressions=(parser.tuple_or_expression(),), opens_block=opens)


def _bare(_parser: ExpressionParser, keyword: str, span: Span) -> Statement:
    return Statement(keyword, span)


_READERS: Final = {
    "for": _for,
    "if": _if,
    "elif": _if,
    "else": _bare,
    "set": _set,
    "with": _with,
    "macro": _macro,
    "call": _call,
    "filter": _filter,
    "block": _block,
    "include": read_include,
    "extends": read_extends,
    "import": read_import,
    "from": read_from,
    "autoescape": _one_expression,
    "print": _one_expression,
}
