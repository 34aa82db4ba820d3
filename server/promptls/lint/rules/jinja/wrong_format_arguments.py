"""Format text with more or fewer places than values.

## What it does

Reports a literal text with `%s` or `{}` whose places are not as many as the values given by `%`, the filter `format` or the method
`format`, and values of `%` without parentheses. Texts that take values by name are left out.

## Why is this bad?

Rendering fails with a `TypeError` or an `IndexError`.

## Example

```yaml
- name: place
  content: |
    {{ "%s, %s" | format(city) }}
       ^^^^^^^^^^^^^^^^^^^^^^^ wrong-format-arguments: this text has 2 places for values, and 1 is given
```

Use instead:

```yaml
- name: place
  content: |
    {{ "%s, %s" | format(city, country) }}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter
from typing import Final

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
    Operation,
)
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.format import plural
from promptls.text.positions import Span

_CONVERSION: Final = re.compile(r"%(?:%|(?:\(\w+\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[diouxXeEfFgGcrsa])")


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the format texts with more or fewer places than the values that fill them."""
    for start, node in expressions_in(chunk):
        match node:
            case Operation(
                operators=("%",), operands=(Constant(value=str(text)), Collection(kind="tuple", items=values))
            ):
                yield from _mismatch(node, _conversions(text), values, start)
            case Filter(name="format", target=Constant(value=str(text)), arguments=values):
                yield from _mismatch(node, _conversions(text), values, start)
            case Call(function=Attribute(name="format", target=Constant(value=str(text))), arguments=values):
                places = _braces(text)  # further values are ignored
                yield from _mismatch(node, places, values[:places], start)
            case Collection(
                kind="tuple",
                items=(
                    Operation(operators=("%",), operands=(Constant(value=str(text)), first)),
                    *_,
                    last,
                ) as items,
            ) if _conversions(text) == len(items):
                yield _without_parentheses(Span(first.span.start, last.span.end).shifted(start))


def _mismatch(
    node: Expression, places: int | None, values: tuple[Expression, ...], start: int
) -> Iterator[Finding]:
    """Yield a finding if the text has a known number of places, and the values another number."""
    if places in {None, len(values)} or any(isinstance(each, Keyword) for each in values):
        return
    given = f"{len(values)} {'is' if len(values) == 1 else 'are'} given"
    yield Finding(
        node.span.shifted(start), f"this text has {plural(places, 'place')} for values, and {given}"
    )


def _without_parentheses(values: Span) -> Finding:
    edits = (Edit(Span(values.start, values.start), "("), Edit(Span(values.end, values.end), ")"))
    message = "the values of `%` are in parentheses: without them, it takes the first one only"
    return Finding(values, message, (Fix("Add parentheses", edits, preferred=True),))


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


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
