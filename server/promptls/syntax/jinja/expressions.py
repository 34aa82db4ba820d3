"""Expressions inside a Jinja tag, parsed with spans and without ever failing; the loosest binding first.

The grammar is that of jinja2 3.1's parser. Where an expression is expected and none
stands, a `Missing` node and a problem are left, and parsing goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from promptls.syntax.jinja.nodes import (
    Collection,
    Conditional,
    Expression,
    Missing,
    Operation,
)
from promptls.syntax.jinja.operands import OperandParser
from promptls.syntax.jinja.tokens import Token
from promptls.text.span import Span

_COMPARISONS: Final = {"==", "!=", "<", "<=", ">", ">="}
_BINARY_LEVELS: Final = ({"+", "-"}, {"~"}, {"*", "/", "//", "%"})
MAX_DEPTH: Final = 30
"""How deep brackets may nest: each level takes some sixteen frames of Python's thousand here, and
about as many in jinja2's own parser."""


class ExpressionParser(OperandParser):
    """Reads expressions at the cursor's position."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._depth = 0

    def expression(self, *, conditional: bool = True) -> Expression:
        """The expression at the position."""
        start = self.token.start
        with self.nested() as is_shallow:
            if not is_shallow:
                return Missing(Span(start, start))
            return self._conditional() if conditional else self._or()

    @contextmanager
    def nested(self) -> Iterator[bool]:
        """One level deeper; False, with a problem noted and the rest skipped, where that is too deep."""
        if self._depth >= MAX_DEPTH:
            span = Span(self.token.start, self.token.end)
            self.problem(span, f"nested more than {MAX_DEPTH} levels deep", "a shallower expression")
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
    ) -> Expression:
        """One expression, or several between commas as a tuple; `stops` are words that end it."""
        start = self.token.start
        if empty and self._at_tuple_end(stops):
            return Collection(Span(start, start), "tuple", ())
        first = self.expression(conditional=conditional)
        if not self.at_operator(","):
            return first
        items = [first]
        while self.skip_operator(","):
            if self._at_tuple_end(stops):
                break
            items.append(self.expression(conditional=conditional))
        return Collection(Span(start, self.previous_end), "tuple", tuple(items))

    def _at_tuple_end(self, stops: tuple[str, ...]) -> bool:
        return (
            self.token.kind == "end" or self.at_operator(")", "=") or (bool(stops) and self.at_name(*stops))
        )

    def _conditional(self) -> Expression:
        start = self.token.start
        node = self._or()
        while self.skip_name("if"):
            test = self._or()
            otherwise = self.expression() if self.skip_name("else") else None
            node = Conditional(Span(start, self.previous_end), node, test, otherwise)
        return node

    def _or(self) -> Expression:
        return self._words("or", self.conjunction)

    def conjunction(self) -> Expression:
        """The expression at the position up to an `or`."""
        return self._words("and", self._not)

    def _words(self, word: str, operand: Callable[[], Expression]) -> Expression:
        start = self.token.start
        operands = [operand()]
        while self.skip_name(word):
            operands.append(operand())
        if len(operands) == 1:
            return operands[0]
        return Operation(Span(start, self.previous_end), (word,) * (len(operands) - 1), tuple(operands))

    def _not(self) -> Expression:
        start, count = self.token.start, 0
        while self.skip_name("not"):
            count += 1
        node = self._comparison()
        if not count:
            return node
        return Operation(Span(start, self.previous_end), ("not",) * count, (node,))

    def _comparison(self) -> Expression:
        start = self.token.start
        operands = [self._binary(0)]
        operators: list[str] = []
        while True:
            if self.at_operator(*_COMPARISONS):
                operators.append(self.advance().text)
            elif self.skip_name("in"):
                operators.append("in")
            elif self.at_name("not") and self._next_is("in"):
                self.position += 2
                operators.append("not in")
            else:
                break
            operands.append(self._binary(0))
        if not operators:
            return operands[0]
        return Operation(Span(start, self.previous_end), tuple(operators), tuple(operands))

    def _next_is(self, word: str) -> bool:
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        return following.kind == "name" and following.text == word

    def _binary(self, level: int) -> Expression:
        if level == len(_BINARY_LEVELS):
            return self._power()
        start = self.token.start
        node = self._binary(level + 1)
        while self.at_operator(*_BINARY_LEVELS[level]):
            operator = self.advance().text
            right = self._binary(level + 1)
            node = Operation(Span(start, self.previous_end), (operator,), (node, right))
        return node

    def _power(self) -> Expression:
        start = self.token.start
        node = self._unary()
        while self.skip_operator("**"):
            right = self._unary()
            node = Operation(Span(start, self.previous_end), ("**",), (node, right))
        return node

    def _unary(self, *, filters: bool = True) -> Expression:
        start = self.token.start
        node: Expression
        if self.at_operator("-", "+"):
            signs = []
            while self.at_operator("-", "+"):
                signs.append(self.advance().text)
            operand = self._postfix(self.primary())
            node = Operation(Span(start, self.previous_end), tuple(signs), (operand,))
        else:
            node = self.primary()
        node = self._postfix(node)
        return self.filters(node) if filters else node
