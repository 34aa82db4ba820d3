"""What a tag binds: targets, parameters, and the names of macros and imports."""

from __future__ import annotations

from promptls.syntax.jinja.expressions import ExpressionParser
from promptls.syntax.jinja.nodes import Attribute, Collection, Expression, Name, Parameter
from promptls.syntax.jinja.tokens import Token
from promptls.text.span import Span


def read_parameters(parser: ExpressionParser) -> tuple[Parameter, ...]:
    """The parameters of a macro or of a `call` block, from their parenthesis to the closing one."""
    opened = parser.token
    parser.expect("(")
    found: list[Parameter] = []
    while parser.token.kind == "name":
        token = parser.advance()
        default = parser.expression() if parser.skip_operator("=") else None
        found.append(Parameter(token.text, Span(token.start, token.end), default))
        if not parser.skip_operator(","):
            break
    if opened.text == "(":
        parser.expect(")", opened)
    return tuple(found)


def read_defined_name(parser: ExpressionParser, expected: str) -> tuple[str, Span]:
    """The name that the tag defines; where none stands, an empty one and a problem: what is `expected`."""
    token = parser.token
    if token.kind != "name":
        parser.missing(expected)
        return "", Span(token.start, token.start)
    parser.advance()
    return token.text, Span(token.start, token.end)


def read_target(parser: ExpressionParser, *, stops: tuple[str, ...] = (), single: bool = False) -> Expression:
    """What is assigned to: a name, an attribute, or several between commas as a tuple.

    `stops` are words that end it; of a `single` one, a comma does.
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
    return Collection(Span(start, parser.previous_end), "tuple", tuple(names))


def _target_name(parser: ExpressionParser, stops: tuple[str, ...]) -> Expression:
    if parser.at_operator("("):
        opened: Token = parser.advance()
        with parser.nested() as is_shallow:
            inner = read_target(parser) if is_shallow else parser.missing("a name to assign to")
        parser.expect(")", opened)
        return inner
    if parser.token.kind != "name" or (stops and parser.at_name(*stops)):
        return parser.missing("a name to assign to")
    token = parser.advance()
    node: Expression = Name(Span(token.start, token.end), token.text)
    if parser.at_operator(".") and parser.tokens[parser.position + 1].kind == "name":
        parser.advance()
        part = parser.advance()
        node = Attribute(Span(token.start, part.end), node, part.text, Span(part.start, part.end))
    return node
