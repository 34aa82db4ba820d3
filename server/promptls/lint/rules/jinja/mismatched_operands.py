"""Operator or filter for a value of another type.

## What it does

Reports `+` between a text and a number, and `==` or `!=` between a number of `loop` and a text. Only
constants and the attributes of `loop` count, whose types are known. Also reports filters of lists, such as `sort`, and loops
behind a filter that returns a text, such as `join`: they go through its characters; loops and filters behind a
method that returns nothing, such as `sort()`; and literal texts with more or fewer `%s` or `{}` than values.

## Why is this bad?

Python cannot add a number to a text: rendering fails with a `TypeError`. `~` joins any two values as text. A
number never equals a text, so the condition always has the same result.

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

import re
from collections.abc import Iterator
from itertools import pairwise
from string import Formatter
from typing import Final, Literal

from promptls.lint.rule import JINJA_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Constant,
    Expression,
    Filter,
    Keyword,
    Name,
    Operation,
)
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.text.format import plural
from promptls.text.positions import Span

_NUMBERS: Final = frozenset({"index", "index0", "revindex", "revindex0", "length", "depth", "depth0"})
"""The attributes of `loop` that are numbers."""
_COUNTS: Final = frozenset({"count", "int", "length", "wordcount"})
"""The filters that return numbers."""
_IN_PLACE: Final = frozenset({"reverse", "sort"})
"""The methods that change a list, whose names are also filters."""
_CONVERSION: Final = re.compile(r"%(?:%|(?:\(\w+\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[diouxXeEfFgGcrsa])")
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the additions and comparisons of a text and a number."""
    yield from _over_characters(chunk)
    yield from _over_nothing(chunk)
    yield from _formats(chunk)
    for start, node in expressions_in(chunk):
        if not isinstance(node, Operation):
            continue
        for operator, (left, right) in zip(node.operators, pairwise(node.operands), strict=False):
            if {_type_of(left), _type_of(right)} != {"text", "number"}:
                continue
            between = Span(left.span.end + start, right.span.start + start)
            if operator == "+":
                yield _sum(chunk, Span(left.span.start + start, right.span.end + start), between)
            text, number = (left, right) if _type_of(left) == "text" else (right, left)
            if operator in _ORDERS or (operator in {"==", "!="} and not isinstance(number, Constant)):
                yield _comparison(text, number, text.span.shifted(start), operator)


_TEXTS: Final = frozenset(
    {
        "capitalize",
        "escape",
        "indent",
        "join",
        "lower",
        "string",
        "title",
        "tojson",
        "trim",
        "upper",
        "wordwrap",
    }
)
"""The filters that return texts."""
_OF_LISTS: Final = frozenset(
    {
        "batch",
        "groupby",
        "map",
        "max",
        "min",
        "reject",
        "rejectattr",
        "select",
        "selectattr",
        "slice",
        "sort",
        "sum",
    }
)
"""The filters of lists, which take a text for a list of characters."""


def _over_characters(chunk: Chunk) -> Iterator[Finding]:
    """Yield the filters and loops that take a text of a filter for a list."""
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name in _OF_LISTS:
            inner = node.target
            if isinstance(inner, Filter) and inner.name in _TEXTS:
                message = f"`{inner.name}` returns a text: `{node.name}` works on its characters"
                yield Finding(node.name_span.shifted(start), message, severity="warning")
    for tag in chunk.tags:
        statement = tag_tree(tag).statement if tag.kind == "statement" else None
        if statement is not None and statement.keyword == "for" and statement.expressions:
            over = statement.expressions[0]
            if isinstance(over, Filter) and over.name in _TEXTS:
                message = f"`{over.name}` returns a text: the loop is over its characters"
                yield Finding(over.name_span.shifted(tag.span.start), message, severity="warning")


def _over_nothing(chunk: Chunk) -> Iterator[Finding]:
    """Yield the methods that change a list and return nothing, if a loop or a filter takes their result."""
    taken = [(start, node.target) for start, node in expressions_in(chunk) if isinstance(node, Filter)]
    for tag in chunk.tags:
        statement = tag_tree(tag).statement if tag.kind == "statement" else None
        if statement is not None and statement.keyword == "for" and statement.expressions:
            taken.append((tag.span.start, statement.expressions[0]))
    for start, node in taken:
        match node:
            case Call(function=Attribute(name=name) as method, arguments=()) if name in _IN_PLACE:
                fix = Fix(
                    f"Change to `| {name}`",
                    (Edit(Span(method.target.span.end, node.span.end).shifted(start), f" | {name}"),),
                )
                message = f"`{name}` of a list returns nothing; did you mean the filter `{name}`?"
                yield Finding(method.name_span.shifted(start), message, (fix,), severity="warning")


def _formats(chunk: Chunk) -> Iterator[Finding]:
    """Yield the literal texts with more or fewer places than the values that fill them."""
    for start, node in expressions_in(chunk):
        match node:
            case Operation(
                operators=("%",), operands=(Constant(value=str(text)), Collection(kind="tuple", items=values))
            ):
                needed = _conversions(text)
            case Filter(name="format", target=Constant(value=str(text)), arguments=values):
                needed = _conversions(text)
            case Collection(
                kind="tuple",
                items=(
                    Operation(operators=("%",), operands=(Constant(value=str(text)), first)),
                    *_,
                    last,
                ) as items,
            ) if _conversions(text) == len(items):
                span = Span(first.span.start, last.span.end).shifted(start)
                edits = (Edit(Span(span.start, span.start), "("), Edit(Span(span.end, span.end), ")"))
                message = "the values of `%` are in parentheses: without them, it takes the first one only"
                yield Finding(span, message, (Fix("Add parentheses", edits, preferred=True),))
                continue
            case Call(function=Attribute(name="format", target=Constant(value=str(text))), arguments=values):
                needed = _braces(text)
                values = values[:needed]
            case _:
                continue
        if (
            needed is not None
            and needed != len(values)
            and not any(isinstance(each, Keyword) for each in values)
        ):
            given = f"{len(values)} {'is' if len(values) == 1 else 'are'} given"
            message = f"this text has {plural(needed, 'place')} for values, and {given}"
            yield Finding(node.span.shifted(start), message)


def _conversions(text: str) -> int | None:
    """Return how many values a text takes with `%`; None if it takes them by name or in another way."""
    found = [each[0] for each in _CONVERSION.finditer(text)]
    is_plain = "%" not in _CONVERSION.sub("", text) and not any("*" in each or "(" in each for each in found)
    return sum(each != "%%" for each in found) if is_plain else None


def _braces(text: str) -> int | None:
    """Return how many values a text takes with `format`; None if it takes some by name or fails."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError:
        return None
    return len(names) if not any(names) else None


def _type_of(node: Expression) -> Literal["text", "number"] | None:
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
            return "text" if any(_type_of(each) == "text" for each in operands) else None
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
