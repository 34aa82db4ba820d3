"""A position in the tokens of one tag, shared by the parsers of expressions and statements."""

from __future__ import annotations

from promptls.syntax.jinja.foreign_signs import advice_on_pair
from promptls.syntax.jinja.nodes import Missing, Problem
from promptls.syntax.jinja.tokens import Token
from promptls.text.span import Span


class TokenCursor:
    """A position in the tokens of one tag, and the problems found so far.

    The position only ever moves forward, so that every loop ends.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.problems: list[Problem] = []

    @property
    def token(self) -> Token:
        """The token at the position."""
        return self.tokens[self.position]

    @property
    def previous_end(self) -> int:
        """The offset behind the token before the position."""
        return self.tokens[self.position - 1].end if self.position else self.token.start

    def advance(self) -> Token:
        """Move behind the token at the position, and return it; the end token stays."""
        token = self.token
        if token.kind != "end":
            self.position += 1
        return token

    def at_operator(self, *texts: str) -> bool:
        """Whether one of these operators stands at the position."""
        return self.token.kind == "operator" and self.token.text in texts

    def at_name(self, *texts: str) -> bool:
        """Whether one of these words stands at the position; any name where none are given."""
        return self.token.kind == "name" and (not texts or self.token.text in texts)

    def skip_operator(self, text: str) -> bool:
        """Move behind the operator `text` when it stands at the position; whether it did."""
        if self.at_operator(text):
            self.position += 1
            return True
        return False

    def skip_name(self, *texts: str) -> bool:
        """Move behind one of these words when it stands at the position; whether it did."""
        if self.at_name(*texts):
            self.position += 1
            return True
        return False

    def problem(self, span: Span, message: str, expected: str = "", opened: Span | None = None) -> None:
        """Note what is wrong; of two problems at one place the first is kept."""
        if not any(known.span.start == span.start for known in self.problems):
            self.problems.append(Problem(span, message, expected, opened))

    def expect(self, text: str, opened: Token | None = None) -> None:
        """Move behind the operator `text`, or note that it is missing."""
        if self.skip_operator(text):
            return
        found = f"`{self.token.text}`" if self.token.kind != "end" else "the end of the tag"
        span = Span(self.token.start, max(self.token.end, self.token.start))
        place = Span(opened.start, opened.end) if opened else None
        behind = f" to close `{opened.text}`" if opened else ""
        self.problem(span, f"expected `{text}`{behind}, found {found}", text, place)

    def missing(self, expected: str) -> Missing:
        """A node for an expression that is not there, with its problem."""
        span = Span(self.previous_end, max(self.token.start, self.previous_end))
        before = self.tokens[self.position - 1] if self.position else self.token
        if before.kind == self.token.kind == "operator" and before.end == self.token.start:
            signs = before.text + self.token.text
            advice = advice_on_pair(signs)
            if advice is not None:
                place = Span(before.start, self.token.end)
                self.problem(place, f"`{signs}` means nothing in Jinja{advice}", expected)
                return Missing(span)
        found = f", found `{self.token.text}`" if self.token.kind != "end" else ""
        self.problem(Span(self.token.start, self.token.end), f"expected {expected}{found}", expected)
        return Missing(span)
