"""Expressions have the span of their text."""

from __future__ import annotations

import pytest

from promptls.syntax.jinja.statements import parse_tag


@pytest.mark.parametrize("text", ["f(1)", "a.b(1)(2)", "a | attr('m')(1)", "a is sameas(b)", "a ** b"])
def test_an_expression_spans_its_whole_text(text: str) -> None:
    tag = f"{{{{ {text} }}}}"
    (expression,) = parse_tag(tag, 2, len(tag) - 2).statement.expressions
    assert tag[expression.span.start : expression.span.end] == text
