"""Parse a tag as a statement: `{{ … }}` and `{% … %}`, with its targets, parameters and template names."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from promptls.syntax.jinja import nodes
from promptls.syntax.jinja.builtins import KEYWORDS
from promptls.syntax.jinja.expressions import ExpressionParser
from promptls.syntax.jinja.tag_tokens import STEPS, advice_on_sign, display_sign, tokenize
from promptls.syntax.problem import ProblemKind
from promptls.text.positions import Span


def _parameters(parser: ExpressionParser) -> tuple[nodes.Parameter, ...]:
    """Return the parameters of a macro or of a `call` block, including both parentheses."""
    opened = parser.token
    parser.expect("(")
    found: list[nodes.Parameter] = []
    while parser.token.kind == "name":
        token = parser.advance()
        default = parser.expression() if parser.skip_operator("=") else None
        found.append(nodes.Parameter(token.text, token.span, default))
        if not parser.skip_operator(","):
            break
    if opened.text == "(":
        parser.expect(")", opened)
    return tuple(found)


def _defined_name(parser: ExpressionParser, expected: str) -> tuple[str, Span]:
    """Return the name that the tag defines.

    If it is missing, return an empty name and report what is `expected`.
    """
    token = parser.token
    if token.kind != "name":
        parser.missing(expected)
        return "", Span(token.start, token.start)
    parser.advance()
    return token.text, token.span


def _target(
    parser: ExpressionParser, *, stops: tuple[str, ...] = (), single: bool = False
) -> nodes.Expression:
    """Return the target of an assignment: a name, an attribute, or several between commas as a tuple.

    `stops` are keywords that end it; if `single`, a comma does too.
    """
    start = parser.token.start
    names = [_target_name(parser, stops)]
    while not single and parser.at_operator(","):
        parser.advance()
        if parser.token.kind == "end" or parser.at_operator("=", ")") or (stops and parser.at_name(*stops)):
            break
        names.append(_target_name(parser, stops))
    if len(names) == 1:
        return names[0]
    return nodes.Collection(Span(start, parser.previous_end), "tuple", tuple(names))


def _target_name(parser: ExpressionParser, stops: tuple[str, ...]) -> nodes.Expression:
    if parser.at_operator("("):
        opened = parser.advance()
        with parser.nested() as is_shallow:
            inner = _target(parser) if is_shallow else parser.missing("a name to assign to")
        parser.expect(")", opened)
        return inner
    if parser.token.kind != "name" or (stops and parser.at_name(*stops)):
        return parser.missing("a name to assign to")
    token = parser.advance()
    node: nodes.Expression = nodes.Name(token.span, token.text)
    if parser.at_operator(".") and parser.tokens[parser.position + 1].kind == "name":
        parser.advance()
        part = parser.advance()
        node = nodes.Attribute(Span(token.start, part.end), node, part.text, part.span)
    return node


def _include(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    """Return an `include`, with its context modifier."""
    statement = _extends(parser, keyword, span)
    ignored = parser.skip_name("ignore") and parser.skip_name("missing")
    return replace(statement, ignore_missing=ignored, with_context=_context(parser, default=True))


def _extends(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    """Return `extends`, or the common beginning of the other tags: the name of the template."""
    template = parser.expression()
    return nodes.Statement(keyword, span, expressions=(template,), template=template)


def _import(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    """Return an `import … as …`."""
    statement = _extends(parser, keyword, span)
    if not parser.skip_name("as"):
        parser.missing("`as`")
    name, name_span = _defined_name(parser, "the name to import as")
    context = _context(parser, default=False)
    return replace(statement, name=name, name_span=name_span, with_context=context)


def _from(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    """Return a `from … import …`, with the imported names and their aliases."""
    statement = _extends(parser, keyword, span)
    if not parser.skip_name("import"):
        parser.missing("`import`")
    imported: list[nodes.ImportedName] = []
    while parser.token.kind == "name":
        if parser.at_name("with", "without") and parser.next_is("name", "context"):
            break
        token = parser.advance()
        name = alias = token.text
        name_span = alias_span = token.span
        if parser.skip_name("as"):
            alias, alias_span = _defined_name(parser, "the name to import as")
        imported.append(nodes.ImportedName(name, name_span, alias, alias_span))
        if not parser.skip_operator(","):
            break
    if not imported:
        parser.missing("a name to import")
    return replace(statement, imported=tuple(imported), with_context=_context(parser, default=False))


def _context(parser: ExpressionParser, *, default: bool) -> bool:
    if parser.at_name("with", "without") and parser.next_is("name", "context"):
        passed = parser.advance().text == "with"
        parser.advance()
        return passed
    return default


_MAX_HEIGHT: Final = 200
"""How high the tree of an expression may grow, as `a.b.c` grows with each name; jinja2 compiles no
more than about three hundred levels."""


@lru_cache(maxsize=8192)
def parse_tag(text: str, inner_start: int, inner_end: int) -> nodes.TagTree:
    """Return the tree of a tag whose inside is `text[inner_start:inner_end]`.

    Spans count from the tag's start.
    """
    parser = ExpressionParser(tokenize(text, inner_start, inner_end))
    if text.startswith("{{"):
        expression = parser.tuple_or_expression()
        statement = nodes.Statement("output", Span(0, inner_start), expressions=(expression,))
    else:
        statement = _statement(parser)
    if parser.token.kind != "end":
        token = parser.token
        kind: ProblemKind = ""
        closing = ""
        is_doubled = token.text == "&" and text.startswith("&", token.end)
        message = f"unexpected `{token.text * (1 + is_doubled)}`{advice_on_sign(token.text)}"
        if token.text == "}" and text[:2] in text[token.end :]:  # the end of this tag is that of the next one
            closing = "}}" if text[1] == "{" else "%}"
            kind, message = "half-delimiter", f"expected `{closing}`, found `}}`"
        elif len(token.text) == 1 and not token.text.isprintable():
            message = f"{display_sign(token.text)} means nothing in Jinja"
        span = Span(token.start, token.end + is_doubled)
        parser.report(nodes.Problem(span, message, kind=kind, expected=closing))
    return nodes.TagTree(_shallow(statement), tuple(parser.problems))


def _shallow(statement: nodes.Statement) -> nodes.Statement:
    """Return the statement.

    Its expressions are dropped if one of them is nested too deep for recursion in Python.
    """
    if all(nodes.height(expression) <= _MAX_HEIGHT for expression in statement.read):
        return statement
    return nodes.Statement(statement.keyword, statement.keyword_span, opens_block=statement.opens_block)


def _statement(parser: ExpressionParser) -> nodes.Statement:
    token = parser.token
    if token.kind != "name":
        parser.missing("a tag's name")
        return nodes.Statement("", Span(token.start, token.start))
    parser.advance()
    span = token.span
    read = _READERS.get(token.text)
    if read:
        return read(parser, token.text, span)
    if token.text not in KEYWORDS:
        parser.problem(span, f"unknown tag `{token.text}`")
        parser.position = len(parser.tokens) - 1
    elif token.text == "endblock" and parser.at_name():
        named = parser.advance()
        return nodes.Statement(token.text, span, name=named.text, name_span=named.span)
    return nodes.Statement(token.text, span)


def _for(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    target = _target(parser, stops=("in",))
    if not parser.skip_name("in"):
        parser.missing("`in`")
    iterable = parser.tuple_or_expression(conditional=False, stops=("recursive", "if"))
    test = parser.expression() if parser.skip_name("if") else None
    parser.skip_name("recursive")
    return nodes.Statement(
        keyword, span, expressions=(iterable,), targets=(target,), loop_test=test, opens_block=True
    )


def _if(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    test = parser.tuple_or_expression(conditional=False)
    return nodes.Statement(keyword, span, expressions=(test,), opens_block=keyword == "if")


def _set(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    target = _target(parser, stops=("in",))
    if parser.skip_operator("="):
        value = parser.tuple_or_expression()
        return nodes.Statement(keyword, span, expressions=(value,), targets=(target,))
    filters: tuple[nodes.Expression, ...] = ()
    first, second = (*parser.tokens[parser.position : parser.position + 2], parser.token)[:2]
    if first.text + second.text in STEPS:
        message = (
            f"{display_sign(first.text + second.text)} means nothing in Jinja; write `x = x {first.text} …`"
        )
        parser.problem(Span(first.start, second.end), message)
    if parser.at_operator("|"):
        parser.advance()
        filters = (parser.filters(parser.filter(None)),)
    opens_block = parser.token.kind == "end"
    return nodes.Statement(keyword, span, expressions=filters, targets=(target,), opens_block=opens_block)


def _with(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    targets: list[nodes.Expression] = []
    values: list[nodes.Expression] = []
    more = parser.token.kind != "end"
    while more:
        targets.append(_target(parser, single=True))
        parser.expect("=")
        values.append(parser.expression())
        more = parser.skip_operator(",")
    return nodes.Statement(keyword, span, expressions=tuple(values), targets=tuple(targets), opens_block=True)


def _macro(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    name, name_span = _defined_name(parser, "the macro's name")
    parameters = _parameters(parser)
    return nodes.Statement(
        keyword,
        span,
        name=name,
        name_span=name_span,
        parameters=parameters,
        opens_block=True,
        expressions=tuple(item.default for item in parameters if item.default),
    )


def _call(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    parameters = _parameters(parser) if parser.at_operator("(") else ()
    called = parser.expression()
    defaults = tuple(item.default for item in parameters if item.default)
    return nodes.Statement(
        keyword, span, expressions=(*defaults, called), parameters=parameters, opens_block=True
    )


def _filter(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    return nodes.Statement(
        keyword, span, expressions=(parser.filters(parser.filter(None)),), opens_block=True
    )


def _block(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    name, name_span = _defined_name(parser, "the block's name")
    is_scoped = parser.skip_name("scoped")
    while parser.skip_name("scoped", "required"):
        pass
    return nodes.Statement(
        keyword, span, name=name, name_span=name_span, opens_block=True, is_scoped=is_scoped
    )


def _one_expression(parser: ExpressionParser, keyword: str, span: Span) -> nodes.Statement:
    opens = keyword == "autoescape"
    return nodes.Statement(keyword, span, expressions=(parser.tuple_or_expression(),), opens_block=opens)


_READERS: Final = {
    "for": _for,
    "if": _if,
    "elif": _if,
    "set": _set,
    "with": _with,
    "macro": _macro,
    "call": _call,
    "filter": _filter,
    "block": _block,
    "include": _include,
    "extends": _extends,
    "import": _import,
    "from": _from,
    "autoescape": _one_expression,
    "print": _one_expression,
}
