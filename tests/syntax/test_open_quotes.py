"""An unclosed quote is reported where it is opened, and not after the next quote."""

from __future__ import annotations

import pytest

from promptls.syntax.yaml.compose import compose
from promptls.text.positions import Span

NOT_CLOSED = "a quoted value that is not closed"
CASES = {
    "in a key's value": 'a:\n  - role: x\n    prompt: <"Q: q\n  - role: y\n    prompt: "A: b"\n',
    "in brackets": 'a:\n  - {role: x, prompt: <"Q: q}\n  - {role: y, prompt: "A: b"}\n',
    "with blanks after the next quote": 'a: <"b\nc: " d"\n',
    "single quotes": "a: <'b\nc: 'd'\n",
    "with an escaped quote in between": 'a: <"b \\" c\nd: "e"\n',
    "a tag after the next quote": 'a: <"b\nc: "{d}"\n',
    "an item of a list": '- <"b\n- "c"\n',
}
OTHERS = {
    "on one line": 'a: "b" c\n',
    "a quote inside of words": 'a: "b\n  it\'s" <d"\n',
    "a value over lines": 'a: "b\n  c" <d\n',
}


@pytest.mark.parametrize("marked", CASES.values(), ids=CASES.keys())
def test_the_error_is_at_the_opening_quote(marked: str) -> None:
    error = compose(marked.replace("<", ""), Span, lambda _span: False).error

    assert error is not None
    assert (error.offset, error.message) == (marked.index("<"), NOT_CLOSED)


@pytest.mark.parametrize("marked", OTHERS.values(), ids=OTHERS.keys())
def test_text_after_a_closing_quote_is_a_separate_error(marked: str) -> None:
    error = compose(marked.replace("<", ""), Span, lambda _span: False).error

    assert error is not None
    assert error.message != NOT_CLOSED
