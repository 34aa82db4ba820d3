"""What stands between the operators of an expression: names, constants, brackets, and what follows them.

The grammar is that of jinja2 3.1's parser. Where an expression is expected and none
stands, a `Missing` node and a problem are left, and parsing goes on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from promptls.syntax.jinja.cursor import TokenCursor
from promptls.syntax.jinja.foreign_signs import advice_on_sign, shown
from promptls.syntax.jinja.literals import number_value, string_value
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Constant,
    Expression,
    Filter,
    Item,
    Keyword,
    Missing,
    Name,
    Operation,
    Slice,
    Test,
)
from promptls.text.span import Span

_CONSTANTS: Final = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


class OperandParser(TokenCursor, ABC):
    """Reads the operands at the cursor's position; what stands inside their brackets is for `expression`."""

    @abstractmethod
    def expression(self, *, conditional: bool = True) -> Expression:
        """The expression at the position."""

    @abstractmethod
    def conjunction(self) -> Expression:
        """The expression at the position up to an `or`."""

    @abstractmethod
    def tuple_or_expression(
        self, *, conditional: bool = True, stops: tuple[str, ...] = (), empty: bool = False
    ) -> Expression:
        """One expression, or several between commas as a tuple; `stops` are words that end it."""

    def primary(self) -> Expression:
        """A name, a constant, or something between brackets."""
        token = self.token
        span = Span(token.start, token.end)
        if token.kind == "name":
            self.position += 1
            if token.text in _CONSTANTS:
                return Constant(span, _CONSTANTS[token.text])
            return Name(span, token.text)
        if token.kind == "string":
            return self._string()
        if token.kind in {"integer", "float"}:
            self.position += 1
            return Constant(span, number_value(token))
        if token.kind == "operator" and token.text in _CLOSING:
            return self._bracketed()
        if token.kind == "unknown":
            self.position += 1
            opened = token.text in "'\""
            message = (
                "a string that is not closed"
                if opened
                else f"{shown(token.text)} means nothing in Jinja{advice_on_sign(token.text)}"
            )
            self.problem(span, message, token.text if opened else "an expression")
            if opened:
                self.position = len(self.tokens) - 1
            return Missing(span)
        return self.missing("an expression")

    def _string(self) -> Constant:
        start = self.token.start
        parts = []
        while self.token.kind == "string":
            parts.append(string_value(self.advance().text))
        return Constant(Span(start, self.previous_end), "".join(parts))

    def _bracketed(self) -> Expression:
        opened = self.advance()
        if opened.text == "(":
            node = self.tuple_or_expression(empty=True)
            self.expect(")", opened)
            return node
        items: list[Expression] = []
        closing = _CLOSING[opened.text]
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
        return Collection(Span(opened.start, self.previous_end), kind, tuple(items))

    def _postfix(self, node: Expression) -> Expression:
        start = node.span.start
        while True:
            if self.at_operator("."):
                self.position += 1
                if self.token.kind in {"name", "integer"}:
                    part = self.advance()
                    name_span = Span(part.start, part.end)
                    node = Attribute(Span(start, part.end), node, part.text, name_span)
                else:
                    at = self.previous_end
                    self.problem(Span(at - 1, at), "expected an attribute's name behind `.`", "a name")
                    node = Attribute(Span(start, at), node, "", Span(at, at))
            elif self.at_operator("["):
                node = self._subscript(node)
            elif self.at_operator("("):
                node = Call(Span(start, start), node, self.arguments())
                node = Call(Span(start, self.previous_end), node.function, node.arguments)
            else:
                return node

    def _subscript(self, node: Expression) -> Expression:
        opened = self.advance()
        keys = [self._subscribed()]
        while self.skip_operator(","):
            keys.append(self._subscribed())
        self.expect("]", opened)
        inner = Span(keys[0].span.start, keys[-1].span.end)
        key = keys[0] if len(keys) == 1 else Collection(inner, "tuple", tuple(keys))
        return Item(Span(node.span.start, self.previous_end), node, key)

    def _subscribed(self) -> Expression:
        start = self.token.start
        bounds: list[Expression] = []
        if not self.at_operator(":"):
            first = self.expression()
            if not self.at_operator(":"):
                return first
            bounds.append(first)
        while self.skip_operator(":"):
            if not self.at_operator("]", ",", ":"):
                bounds.append(self.expression())
        return Slice(Span(start, self.previous_end), tuple(bounds))

    def arguments(self) -> tuple[Expression, ...]:
        """The arguments of a call, filter or test, from its parenthesis to the closing one."""
        opened = self.advance()
        found: list[Expression] = []
        while not self.at_operator(")") and self.token.kind != "end":
            start = self.token.start
            if self.at_operator("*", "**"):
                star = self.advance().text
                value = self.expression()
                found.append(Keyword(Span(start, self.previous_end), star, value))
            elif self.token.kind == "name" and self._next_operator("="):
                name = self.advance().text
                self.position += 1
                value = self.expression()
                found.append(Keyword(Span(start, self.previous_end), name, value))
            else:
                found.append(self.expression())
            if not self.skip_operator(","):
                break
        self.expect(")", opened)
        return tuple(found)

    def _next_operator(self, text: str) -> bool:
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        return following.kind == "operator" and following.text == text

    def filters(self, node: Expression) -> Expression:
        """`node` with the filters, tests and calls behind it."""
        while True:
            if self.at_operator("|"):
                self.position += 1
                node = self.filter(node)
            elif self.at_name("is"):
                self.position += 1
                node = self._test(node)
            elif self.at_operator("("):
                start = node.span.start
                arguments = self.arguments()
                node = Call(Span(start, self.previous_end), node, arguments)
            else:
                return node

    def filter(self, target: Expression | None) -> Expression:
        """The filter whose name stands at the position, applied to `target`."""
        start = target.span.start if target else self.token.start
        if self.at_operator("|"):
            here = Span(self.token.start, self.token.end)
            self.problem(here, f"expected a filter's name, found `|`{advice_on_sign('|')}", "a filter's name")
            self.advance()
            operands = (target or Missing(Span(start, start)), self.conjunction())
            return Operation(Span(start, self.previous_end), ("or",), operands)
        name, name_span = self._dotted("a filter's name")
        arguments = self.arguments() if self.at_operator("(") else ()
        return Filter(Span(start, max(start, self.previous_end)), target, name, name_span, arguments)

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

    def _test(self, target: Expression) -> Expression:
        start = target.span.start
        negated = self.skip_name("not")
        name, name_span = self._dotted("a test's name")
        arguments: tuple[Expression, ...] = ()
        if self.at_operator("("):
            arguments = self.arguments()
        elif self._at_test_argument():
            if self.at_name("is"):
                span = Span(self.token.start, self.token.end)
                self.problem(span, "a test cannot follow a test; write `and` between them", "`and`")
            arguments = (self._postfix(self.primary()),)
        node: Expression = Test(Span(start, self.previous_end), target, name, name_span, arguments)
        return Operation(node.span, ("not",), (node,)) if negated else node

    def _at_test_argument(self) -> bool:
        if self.token.kind in {"string", "integer", "float"} or self.at_operator("(", "[", "{"):
            return True
        return self.token.kind == "name" and not self.at_name("else", "or", "and")
