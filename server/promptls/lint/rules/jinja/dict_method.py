"""Attribute that is a method of every mapping.

## What it does

Reports `order.items`, `row.values`, `box.keys` and other names of methods of Python mappings that are
not called. If the file declares the key, it is a warning.

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
from promptls.syntax.jinja.nodes import Attribute, Call, Name, Test
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span

METHODS: Final = frozenset(name for name in dir(dict) if not name.startswith("_"))
"""The methods of all mappings."""
_NO_MAPPINGS: Final = frozenset({"loop", "self", "cycler", "joiner"})
_ABOUT_METHODS: Final = frozenset({"callable"})


@each_chunk_given(lambda file: file.template.declarations)
def check(chunk: Chunk, declarations: Declarations) -> Iterator[Finding]:
    """Yield the attributes in the chunk's tags that name a method but are not called."""
    called = set()
    for start, node in expressions_in(chunk):
        if isinstance(node, Call):
            called.add(id(node.function))
        elif isinstance(node, Test) and node.name in _ABOUT_METHODS:
            called.add(id(node.target))
        elif isinstance(node, Attribute) and node.name in METHODS and id(node) not in called:
            if isinstance(node.target, Name) and node.target.name in _NO_MAPPINGS:
                continue
            key = Edit(Span(node.target.span.end, node.span.end).shifted(start), f"['{node.name}']")
            is_declared = _is_declared(node, declarations)
            fix = Fix(f"Write `['{node.name}']`", (key,), preferred=is_declared)
            message = f"on a mapping, this is the method `{node.name}`, not the value of the key"
            if is_declared:
                message = (
                    f"this is the method `{node.name}` of the mapping, not the key that `input_keys` declares"
                )
            span = node.name_span.shifted(start)
            yield Finding(span, message, (fix,), severity="warning" if is_declared else None)


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
