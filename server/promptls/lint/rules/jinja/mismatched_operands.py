"""Operator between a text and a number.

## What it does

Reports `+`, `<`, `<=`, `>` and `>=` between a text and a number, and `==` or `!=` between a text and a number that is computed.
Only constants, attributes of `loop` and filters such as `length` count, whose types are known.

## Why is this bad?

Python neither adds a number to a text nor orders them: rendering fails with a `TypeError`. `~` joins any two values
as text. A number never equals a text, so the condition always has the same result.

## Example

```yaml
{% for message in messages %}
- name: "{{ 'message ' + loop.index }}"
            ^^^^^^^^^^^^^^^^^^^^^^^ mismatched-operands: `+` adds no number to a text; did you mean `~`?
  content: |
    {{ escape_special_characters(message) }}
{% endfor %}
```

Use instead:

```yaml
{% for message in messages %}
- name: "{{ 'message ' ~ loop.index }}"
  content: |
    {{ escape_special_characters(message) }}
{% endfor %}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, Literal

from promptls.lint.rule import JINJA_KINDS, Finding, Fix, Rule, each_chunk
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Attribute, Constant, Expression, Filter, Name, Operation
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span

_NUMBERS: Final = frozenset({"index", "index0", "revindex", "revindex0", "length", "depth", "depth0"})
"""The attributes of `loop` that are numbers."""
_COUNTS: Final = frozenset({"count", "float", "int", "length", "round", "wordcount"})
"""The filters that return numbers."""
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the additions and comparisons of a text and a number."""
    for start, node in expressions_in(chunk):
        if not isinstance(node, Operation):
            continue
        for operator, (left, right) in zip(node.operators, pairwise(node.operands), strict=False):
            if {type_of(left), type_of(right)} != {"text", "number"}:
                continue
            between = Span(left.span.end + start, right.span.start + start)
            if operator == "+":
                yield _sum(chunk, Span(left.span.start + start, right.span.end + start), between)
            text, number = (left, right) if type_of(left) == "text" else (right, left)
            if operator in _ORDERS or (operator in {"==", "!="} and not isinstance(number, Constant)):
                yield _comparison(text, number, text.span.shifted(start), operator)


def type_of(node: Expression) -> Literal["text", "number"] | None:
    """Return whether a value is certainly a text or a number."""
    match node:
        case Constant(value=str()):
            return "text"
        case Constant(value=bool()):
            return None
        case Constant(value=int() | float()):
            return "number"
        case Attribute(target=Name(name="loop"), name=name) if name in _NUMBERS:
            return "number"
        case Filter(name=name) if name in _COUNTS:
            return "number"
        case Operation(operators=operators, operands=operands) if set(operators) == {"+"}:
            # The sum of a text and another value is a text, or fails for that reason.
            return "text" if any(type_of(each) == "text" for each in operands) else None
    return None


def _sum(chunk: Chunk, span: Span, between: Span) -> Finding:
    written = chunk.text[between.start : between.end]
    place = between.start + written.index("+") if "+" in written else between.start
    fix = Fix.change_to(Span(place, place + 1), "~")
    return Finding(span, "`+` adds no number to a text; did you mean `~`?", (fix,) if "+" in written else ())


def _comparison(text: Expression, number: Expression, span: Span, operator: str) -> Finding:
    value = str(text.value) if isinstance(text, Constant) else ""
    fix = Fix.change_to(span, value)
    what = "a number of the loop" if isinstance(number, Attribute) else "a number"
    message = f"{what} never equals a text"
    if operator in _ORDERS:
        message = f"`{operator}` compares no number with a text"
    return Finding(span, message, (fix,) if value.isdigit() else ())


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
