"""Attribute that is a method of every mapping.

## What it does

Reports `order.items`, `row.values`, `box.keys` and other names of methods of Python mappings that are
not called. If the file declares the key, or if a loop with two variables iterates over `items`, it is a
warning. A loop `for key, value in order`, without `items()`, is reported as well, and so is one
`for value, key in order.items()`.

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
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Name
from promptls.syntax.jinja.problems import loops_in, uncalled_attributes
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
    in_loops = {finding.span: finding for finding in _loops(chunk)}
    yield from in_loops.values()
    for start, node in uncalled_attributes(chunk, METHODS, _ABOUT_METHODS):
        span = node.name_span.shifted(start)
        if span in in_loops or (isinstance(node.target, Name) and node.target.name in _NO_MAPPINGS):
            continue
        key = Edit(Span(node.target.span.end, node.span.end).shifted(start), f"['{node.name}']")
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
    """Yield the loops over pairs of a mapping that do not call `items`, and misspelled methods in loops."""
    for start, statement in loops_in(chunk):
        target, source = next(iter(statement.targets), None), statement.expressions[0]
        items = target.items if isinstance(target, Collection) else ()
        names = [item for item in items if isinstance(item, Name)]
        is_pair = len(items) == len(names) == _PAIR
        if isinstance(source, Call) and isinstance(source.function, Attribute) and not source.arguments:
            place = source.function.name_span.shifted(start)
            yield from _misspelled_method(source.function.name, place)
            if source.function.name == "keys" and len(items) == _PAIR:
                fix = Fix.change_to(place, "items", preferred=True)
                message = "`keys()` gives the keys alone; did you mean `items()`?"
                yield Finding(place, message, (fix,), severity="warning")
            is_of_pairs = source.function.name == "items" and is_pair
            if is_of_pairs and names[0].name in _VALUES and names[1].name in _KEYS:
                yield _swapped(names[0], names[1], start)
        elif isinstance(source, Attribute) and source.name == "items" and len(items) == _PAIR:
            place = source.name_span.shifted(start)
            fix = Fix("Insert `()`", (Edit(Span(place.end, place.end), "()"),), preferred=True)
            message = "this loop needs the keys and values of the mapping; did you mean `items()`?"
            yield Finding(place, message, (fix,), severity="warning")
        elif isinstance(source, Name | Attribute) and source.name not in METHODS and is_pair:
            place = source.span.shifted(start)
            if names[0].name in _KEYS and names[1].name in _VALUES:
                fix = Fix("Add `.items()`", (Edit(Span(place.end, place.end), ".items()"),))
                message = "a loop over a mapping gives its keys alone; `.items()` gives pairs"
                yield Finding(place, message, (fix,))


def _swapped(value: Name, key: Name, start: int) -> Finding:
    """Return the finding for `for value, key in order.items()`."""
    edits = (Edit(value.span.shifted(start), key.name), Edit(key.span.shifted(start), value.name))
    message = f"`items()` gives the key first, so `{value.name}` is the key here"
    place = Span(value.span.start, key.span.end).shifted(start)
    return Finding(place, message, (Fix(f"Change to `{key.name}, {value.name}`", edits),), severity="warning")


def _misspelled_method(name: str, place: Span) -> Iterator[Finding]:
    meant = next((each for each in ("items", "keys", "values") if is_typo(name, each)), None)
    if meant is not None and name != meant:
        yield Finding.suggest(place, f"a mapping has no method `{name}`", meant, severity="warning")


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
