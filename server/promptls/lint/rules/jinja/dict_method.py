"""Attribute that is a method of every mapping.

## What it does

Reports `order.items`, `row.values`, `box.keys` and other names of methods of Python mappings that are
not called. If the file declares the key, or if a loop with two variables iterates over `items`, it is a
warning. A loop `for key, value in order`, without `items()`, is reported as well.

## Why is this bad?

With a dot, Jinja looks for an attribute first, and finds the method: for a mapping with the key `items`,
`{{ order.items }}` prints `<built-in method items of dict object>`, and a loop over it fails. With
brackets, Jinja looks for the key first.

## Example

```yaml
- name: order
  content: |
    {% for item in order.items %}
                         ^^^^^ dict-method: on a mapping, this is the method `items`, not the value of the key
    - {{ escape_special_characters(item) }}
    {% endfor %}
```

Use instead:

```yaml
- name: order
  content: |
    {%- for item in order['items'] %}
    - {{ escape_special_characters(item) }}
    {%- endfor %}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import JINJA_KINDS, Edit, Finding, Fix, Rule, each_chunk_given
from promptls.semantic.header import Declarations
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Name, Test
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.text.positions import Span
from promptls.text.suggest import is_typo

METHODS: Final = frozenset(name for name in dir(dict) if not name.startswith("_"))
"""The methods of all mappings."""
_NO_MAPPINGS: Final = frozenset({"loop", "self", "cycler", "joiner"})
_PAIR: Final = 2
_ABOUT_METHODS: Final = frozenset({"callable"})


@each_chunk_given(lambda file: file.template.declarations)
def check(chunk: Chunk, declarations: Declarations) -> Iterator[Finding]:
    """Yield the attributes in the chunk's tags that name a method but are not called."""
    yield from _loops(chunk)
    called = set()
    iterated = _iterated_in_pairs(chunk)
    for start, node in expressions_in(chunk):
        if isinstance(node, Call):
            called.add(id(node.function))
        elif isinstance(node, Test) and node.name in _ABOUT_METHODS:
            called.add(id(node.target))
        elif isinstance(node, Attribute) and node.name in METHODS and id(node) not in called:
            if isinstance(node.target, Name) and node.target.name in _NO_MAPPINGS:
                continue
            key = Edit(Span(node.target.span.end, node.span.end).shifted(start), f"['{node.name}']")
            span = node.name_span.shifted(start)
            if span in iterated and node.name == "items":
                call = Fix("Insert `()`", (Edit(Span(span.end, span.end), "()"),), preferred=True)
                message = "this loop needs the keys and values of the mapping; did you mean `items()`?"
                yield Finding(span, message, (call,), severity="warning")
                continue
            is_declared = _is_declared(node, declarations)
            fix = Fix(f"Write `['{node.name}']`", (key,), preferred=is_declared)
            message = f"on a mapping, this is the method `{node.name}`, not the value of the key"
            if is_declared:
                message = (
                    f"this is the method `{node.name}` of the mapping, not the key that `input_keys` declares"
                )
            yield Finding(span, message, (fix,), severity="warning" if is_declared else None)


_KEYS: Final = frozenset({"key", "k"})
_VALUES: Final = frozenset({"value", "val", "v"})


def _loops(chunk: Chunk) -> Iterator[Finding]:
    """Yield the loops over pairs of a mapping that do not call `items`."""
    for tag in chunk.tags:
        statement = tag_tree(tag).statement if tag.kind == "statement" else None
        if statement is None or statement.keyword != "for" or len(statement.expressions) != 1:
            continue
        targets = [
            item.name
            for target in statement.targets
            for item in (target.items if isinstance(target, Collection) else ())
            if isinstance(item, Name)
        ]
        source = statement.expressions[0]
        start = tag.span.start
        if isinstance(source, Call) and isinstance(source.function, Attribute) and not source.arguments:
            name = source.function.name
            meant = next((each for each in ("items", "keys", "values") if is_typo(name, each)), None)
            if meant is not None and name != meant:
                span = source.function.name_span.shifted(start)
                fix = Fix(f"Change to `{meant}`", (Edit(span, meant),))
                message = f"a mapping has no method `{name}`; did you mean `{meant}`?"
                yield Finding(span, message, (fix,), severity="warning")
        elif isinstance(source, Name | Attribute) and source.name not in METHODS and _are_pairs(targets):
            end = source.span.shifted(start).end
            fix = Fix("Add `.items()`", (Edit(Span(end, end), ".items()"),))
            message = "a loop over a mapping gives its keys alone; `.items()` gives pairs"
            yield Finding(source.span.shifted(start), message, (fix,))


def _iterated_in_pairs(chunk: Chunk) -> frozenset[Span]:
    """Return the last names of what loops with two variables iterate over."""
    found = set()
    for tag in chunk.tags:
        statement = tag_tree(tag).statement if tag.kind == "statement" else None
        if statement is None or statement.keyword != "for" or not statement.expressions:
            continue
        target, source = statement.targets[:1], statement.expressions[0]
        if isinstance(source, Attribute) and any(
            isinstance(each, Collection) and len(each.items) == _PAIR for each in target
        ):
            found.add(source.name_span.shifted(tag.span.start))
    return frozenset(found)


def _are_pairs(names: list[str]) -> bool:
    return len(names) == _PAIR and names[0] in _KEYS and names[1] in _VALUES


def _is_declared(node: Attribute, declarations: Declarations) -> bool:
    """Return whether the attribute is a declared key of an input."""
    if not isinstance(node.target, Name):
        return False
    for key in declarations.inputs or ():
        properties = key.schema.get("properties")
        if key.name == node.target.name and isinstance(properties, dict):
            return node.name in properties
    return False


RULE = Rule(check, severity="hint", kinds=JINJA_KINDS)
