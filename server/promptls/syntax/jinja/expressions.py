"""Parse expressions inside a Jinja tag, with spans and error recovery."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from promptls.syntax.jinja import nodes
from promptls.syntax.jinja.tag_tokens import (
    ADVICE_ON_PAIRS,
    CLOSING_OF,
    NO_VARIABLES,
    Token,
    advice_on_sign,
    display_sign,
)
from promptls.syntax.problem import ProblemKind
from promptls.text.positions import Span


class TokenCursor:
    """A position in the tokens of one tag, and the problems found so far.

    The position only moves forward, so that every loop ends.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.problems: list[nodes.Problem] = []
        self._problem_starts: set[int] = set()

    @property
    def token(self) -> Token:
        """The token at the position."""
        return self.tokens[self.position]

    @property
    def previous_end(self) -> int:
        """The offset after the token before the position."""
        return self.tokens[self.position - 1].end if self.position else self.token.start

    def advance(self) -> Token:
        """Move past the token at the position, and return it; the end token is never passed."""
        token = self.token
        if token.kind != "end":
            self.position += 1
        return token

    def at_operator(self, *texts: str) -> bool:
        """Return whether the token is one of these operators."""
        return self.token.kind == "operator" and self.token.text in texts

    def at_name(self, *texts: str) -> bool:
        """Return whether the token is one of these names; any name if none are passed."""
        return self.token.kind == "name" and (not texts or self.token.text in texts)

    def skip_operator(self, text: str) -> bool:
        """Move past the operator `text` if it is at the position; return whether it was."""
        if self.at_operator(text):
            self.position += 1
            return True
        return False

    def skip_name(self, *texts: str) -> bool:
        """Move past one of these names if it is at the position; return whether it was."""
        if self.at_name(*texts):
            self.position += 1
            return True
        return False

    def problem(self, span: Span, message: str) -> None:
        """Report a problem; of two problems at one position only the first is reported."""
        self.report(nodes.Problem(span, message))

    def report(self, problem: nodes.Problem) -> None:
        """Report a problem; of two problems at one position only the first is reported."""
        if problem.span.start not in self._problem_starts:
            self._problem_starts.add(problem.span.start)
            self.problems.append(problem)

    def expect(self, text: str, opened: Token | None = None) -> None:
        """Move past the operator `text`, or report that it is missing."""
        if self.skip_operator(text):
            return
        found = f"`{self.token.text}`" if self.token.kind != "end" else "the end of the tag"
        place = opened.span if opened else None
        after = f" to close `{opened.text}`" if opened else ""
        message = f"expected `{text}`{after}, found {found}"
        kind: ProblemKind = "missing-bracket" if opened and self.token.kind == "end" else ""
        self.report(nodes.Problem(self.token.span, message, place, kind, text))

    def missing(self, expected: str) -> nodes.Missing:
        """Report a missing expression and return a node for it."""
        span = Span(self.previous_end, max(self.token.start, self.previous_end))
        before = self.tokens[self.position - 1] if self.position else self.token
        if before.kind == self.token.kind == "operator" and before.end == self.token.start:
            signs = before.text + self.token.text
            advice = ADVICE_ON_PAIRS.get(signs)
            if advice is not None:
                place = Span(before.start, self.token.end)
                self.problem(place, f"`{signs}` means nothing in Jinja{advice}")
                return nodes.Missing(span)
        found = f", found `{self.token.text}`" if self.token.kind != "end" else ""
        self.problem(self.token.span, f"expected {expected}{found}")
        return nodes.Missing(span)


def _number_value(token: Token) -> int | float:
    """Return the number; infinity if it has more digits than Python can parse."""
    text = token.text.replace("_", "")
    try:
        return float(text) if token.kind == "float" else int(text, 0) if text.strip("0") else 0
    except ValueError:
        return float("inf")


def _string_value(text: str) -> str:
    """Return the text between the quotes with escapes resolved; unchanged if an escape is invalid."""
    try:
        return str(ast.literal_eval(text.replace("\n", "\\n").replace("\r", "\\r")))
    except (ValueError, SyntaxError):
        return text[1:-1]


CONSTANTS: Final = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}
_COMPARISONS: Final = {"==", "!=", "<", "<=", ">", ">="}
_BINARY_LEVELS: Final = ({"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"})
MAX_DEPTH: Final = 30
"""The maximum nesting depth of brackets: each level takes about sixteen of Python's thousand stack frames
here, and about as many in jinja2's own parser."""


class ExpressionParser(TokenCursor):
    """Parses expressions at the cursor's position."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._depth = 0

    def primary(self) -> nodes.Expression:
        """Return a name, a constant, or something between brackets."""
        token = self.token
        span = token.span
        if token.kind == "name":
            self.position += 1
            if token.text in CONSTANTS:
                return nodes.Constant(span, CONSTANTS[token.text])
            return nodes.Name(span, token.text)
        if token.kind == "string":
            return self._string()
        if token.kind in {"integer", "float"}:
            self.position += 1
            return nodes.Constant(span, _number_value(token))
        if token.kind == "operator" and token.text in CLOSING_OF:
            return self._bracketed()
        if token.kind == "unknown":
            self.position += 1
            opened = token.text in "'\""
            message = (
                "a string that is not closed"
                if opened
                else f"{display_sign(token.text)} means nothing in Jinja{advice_on_sign(token.text)}"
            )
            self.problem(span, message)
            if opened:
                self.position = len(self.tokens) - 1
            return nodes.Missing(span)
        return self.missing("an expression")

    def _string(self) -> nodes.Constant:
        start = self.token.start
        parts = []
        while self.token.kind == "string":
            parts.append(_string_value(self.advance().text))
        return nodes.Constant(Span(start, self.previous_end), "".join(parts))

    def _bracketed(self) -> nodes.Expression:
        opened = self.advance()
        if opened.text == "(":
            node = self.tuple_or_expression(empty=True)
            self.expect(")", opened)
            return node
        items: list[nodes.Expression] = []
        closing = CLOSING_OF[opened.text]
        while not self.at_operator(closing) and self.token.kind != "end":
            if self.at_operator(")", "]", "}"):
                break
            items.append(self.expression())
            if opened.text == "{":
                self.expect(":")
                items.append(self.expression())
            if not self.skip_operator(","):
                break
        self.expect(closing, opened)
        kind = "list" if opened.text == "[" else "dict"
        return nodes.Collection(Span(opened.start, self.previous_end), kind, tuple(items))

    def _postfix(self, node: nodes.Expression) -> nodes.Expression:
        start = node.span.start
        while True:
            if self.at_operator("."):
                self.position += 1
                if self.token.kind in {"name", "integer"}:
                    part = self.advance()
                    name_span = part.span
                    node = nodes.Attribute(Span(start, part.end), node, part.text, name_span)
                else:
                    at = self.previous_end
                    self.problem(Span(at - 1, at), "expected an attribute's name after `.`")
                    node = nodes.Attribute(Span(start, at), node, "", Span(at, at))
            elif self.at_operator("["):
                node = self._subscript(node)
            elif self.at_operator("("):
                node = self._call(node)
            else:
                return node

    def _subscript(self, node: nodes.Expression) -> nodes.Expression:
        opened = self.advance()
        keys = [self._subscribed()]
        while self.skip_operator(","):
            keys.append(self._subscribed())
        self.expect("]", opened)
        inner = Span(keys[0].span.start, keys[-1].span.end)
        key = keys[0] if len(keys) == 1 else nodes.Collection(inner, "tuple", tuple(keys))
        return nodes.Item(Span(node.span.start, self.previous_end), node, key)

    def _subscribed(self) -> nodes.Expression:
        start = self.token.start
        bounds: list[nodes.Expression] = []
        if not self.at_operator(":"):
            first = self.expression()
            if not self.at_operator(":"):
                return first
            bounds.append(first)
        while self.skip_operator(":"):
            if not self.at_operator("]", ",", ":"):
                bounds.append(self.expression())
        return nodes.Slice(Span(start, self.previous_end), tuple(bounds))

    def arguments(self) -> tuple[nodes.Expression, ...]:
        """Return the arguments of a call, filter or test, including both parentheses."""
        opened = self.advance()
        found: list[nodes.Expression] = []
        while not self.at_operator(")") and self.token.kind != "end":
            start = self.token.start
            if self.at_operator("*", "**"):
                star = self.advance().text
                value = self.expression()
                found.append(nodes.Keyword(Span(start, self.previous_end), star, value))
            elif self.token.kind == "name" and self.next_is("operator", "="):
                name = self.advance().text
                self.position += 1
                value = self.expression()
                found.append(nodes.Keyword(Span(start, self.previous_end), name, value))
            else:
                found.append(self.expression())
            if not self.skip_operator(","):
                break
        self.expect(")", opened)
        return tuple(found)

    def _call(self, function: nodes.Expression) -> nodes.Call:
        arguments = self.arguments()
        return nodes.Call(Span(function.span.start, self.previous_end), function, arguments)

    def next_is(self, kind: str, text: str) -> bool:
        """Return whether the token after the position has this kind and text."""
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        return following.kind == kind and following.text == text

    def filters(self, node: nodes.Expression) -> nodes.Expression:
        """Return `node` with the filters, tests and calls after it."""
        while True:
            if self.at_operator("|"):
                self.position += 1
                node = self.filter(node)
            elif self.at_name("is"):
                self.position += 1
                node = self._test(node)
            elif self.at_operator("("):
                node = self._call(node)
            else:
                return node

    def filter(self, target: nodes.Expression | None) -> nodes.Expression:
        """Return the filter whose name is at the position, applied to `target`."""
        start = target.span.start if target else self.token.start
        if self.at_operator("|"):
            here = self.token.span
            is_filter = self.tokens[self.position + 1].text in NO_VARIABLES
            advice = "; did you mean one `|`?" if is_filter else advice_on_sign("|")
            self.problem(here, f"expected a filter's name, found `|`{advice}")
            self.advance()
            if is_filter:
                return self.filter(target)
            operands = (target or nodes.Missing(Span(start, start)), self.expression(conditional=False))
            return nodes.Operation(Span(start, self.previous_end), ("or",), operands)
        name, name_span = self._dotted("a filter's name")
        arguments = self.arguments() if self.at_operator("(") else ()
        return nodes.Filter(Span(start, max(start, self.previous_end)), target, name, name_span, arguments)

    def _dotted(self, expected: str) -> tuple[str, Span]:
        if self.token.kind != "name":
            at = self.token.start
            self.missing(expected)
            return "", Span(at, at)
        token = self.advance()
        name, end = token.text, token.end
        while self.at_operator(".") and self.tokens[self.position + 1].kind == "name":
            self.position += 1
            token = self.advance()
            name, end = f"{name}.{token.text}", token.end
        return name, Span(end - len(name), end)

    def _test(self, target: nodes.Expression) -> nodes.Expression:
        start = target.span.start
        negated = self.skip_name("not")
        name, name_span = self._dotted("a test's name")
        arguments: tuple[nodes.Expression, ...] = ()
        if self.at_operator("("):
            arguments = self.arguments()
        elif self._at_test_argument():
            if self.at_name("is"):
                span = self.token.span
                self.problem(span, "a test cannot follow a test; write `and` between them")
            arguments = (self._postfix(self.primary()),)
        node: nodes.Expression = nodes.Test(
            Span(start, self.previous_end), target, name, name_span, arguments
        )
        return nodes.Operation(node.span, ("not",), (node,)) if negated else node

    def _at_test_argument(self) -> bool:
        if self.token.kind in {"string", "integer", "float"} or self.at_operator("(", "[", "{"):
            return True
        return self.token.kind == "name" and not self.at_name("else", "or", "and")

    def expression(self, *, conditional: bool = True) -> nodes.Expression:
        """Return the expression at the position."""
        start = self.token.start
        with self.nested() as is_shallow:
            if not is_shallow:
                return nodes.Missing(Span(start, start))
            return self._conditional() if conditional else self._or()

    @contextmanager
    def nested(self) -> Iterator[bool]:
        """Enter a nesting level; yield False if it is too deep: that is reported, and the rest skipped."""
        if self._depth >= MAX_DEPTH:
            span = self.token.span
            self.problem(span, f"nested more than {MAX_DEPTH} levels deep")
            self.position = len(self.tokens) - 1
            yield False
            return
        self._depth += 1
        try:
            yield True
        finally:
            self._depth -= 1

    def tuple_or_expression(
        self, *, conditional: bool = True, stops: tuple[str, ...] = (), empty: bool = False
    ) -> nodes.Expression:
        """Return one expression, or several between commas as a tuple; `stops` are keywords that end it."""
        start = self.token.start
        if empty and self._at_tuple_end(stops):
            return nodes.Collection(Span(start, start), "tuple", ())
        first = self.expression(conditional=conditional)
        if not self.at_operator(","):
            return first
        items = [first]
        while self.skip_operator(","):
            if self._at_tuple_end(stops):
                break
            items.append(self.expression(conditional=conditional))
        return nodes.Collection(Span(start, self.previous_end), "tuple", tuple(items))

    def _at_tuple_end(self, stops: tuple[str, ...]) -> bool:
        return (
            self.token.kind == "end" or self.at_operator(")", "=") or (bool(stops) and self.at_name(*stops))
        )

    def _conditional(self) -> nodes.Expression:
        start = self.token.start
        node = self._or()
        while self.skip_name("if"):
            test = self._or()
            otherwise = self.expression() if self.skip_name("else") else None
            node = nodes.Conditional(Span(start, self.previous_end), node, test, otherwise)
        return node

    def _or(self) -> nodes.Expression:
        return self._operation("or", self._and)

    def _and(self) -> nodes.Expression:
        return self._operation("and", self._not)

    def _operation(self, word: str, operand: Callable[[], nodes.Expression]) -> nodes.Expression:
        start = self.token.start
        operands = [operand()]
        while self.skip_name(word):
            operands.append(operand())
        if len(operands) == 1:
            return operands[0]
        return nodes.Operation(Span(start, self.previous_end), (word,) * (len(operands) - 1), tuple(operands))

    def _not(self) -> nodes.Expression:
        start, count = self.token.start, 0
        while self.skip_name("not"):
            count += 1
        node = self._comparison()
        if not count:
            return node
        return nodes.Operation(Span(start, self.previous_end), ("not",) * count, (node,))

    def _comparison(self) -> nodes.Expression:
        start = self.token.start
        operands = [self._binary(0)]
        operators: list[str] = []
        while True:
            if self.at_operator(*_COMPARISONS):
                operators.append(self.advance().text)
            elif self.skip_name("in"):
                operators.append("in")
            elif self.at_name("not") and self.next_is("name", "in"):
                self.position += 2
                operators.append("not in")
            else:
                break
            operands.append(self._binary(0))
        if not operators:
            return operands[0]
        return nodes.Operation(Span(start, self.previous_end), tuple(operators), tuple(operands))

    def _binary(self, level: int) -> nodes.Expression:
        if level == len(_BINARY_LEVELS):
            return self._unary()
        start = self.token.start
        node = self._binary(level + 1)
        while self.at_operator(*_BINARY_LEVELS[level]):
            operator = self.advance().text
            right = self._binary(level + 1)
            node = nodes.Operation(Span(start, self.previous_end), (operator,), (node, right))
        return node

    def _unary(self) -> nodes.Expression:
        start = self.token.start
        node: nodes.Expression
        if self.at_operator("-", "+"):
            signs = []
            while self.at_operator("-", "+"):
                signs.append(self.advance().text)
            operand = self._postfix(self.primary())
            node = nodes.Operation(Span(start, self.previous_end), tuple(signs), (operand,))
        else:
            node = self.primary()
        return self.filters(self._postfix(node))
