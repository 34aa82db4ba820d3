"""An attribute that `loop` does not have.

## What it does

Reports attributes of `loop` that are like one that Jinja knows, and are none: `loop.idx`, `loop.lenght`.

## Why is this bad?

Jinja prints nothing for them, and takes them for false in a condition.

## Example

```yaml
{% for document in documents %}
- name: document
  content: |
    {{ loop.idx }}. {{ escape_special_characters(document) }}
            ^^^ unknown-loop-attribute: `loop` has no `idx`; did you mean `index`?
{% endfor %}
```

Use instead:

```yaml
{% for document in documents %}
- name: document
  content: |
    {{ loop.index }}. {{ escape_special_characters(document) }}
{% endfor %}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, Finding, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.builtins import LOOP
from promptls.syntax.jinja.nodes import Attribute, Name
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.nearest import nearest


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The attributes of `loop` in the chunk that are misspelt."""
    for start, node in expressions_in(chunk):
        if not isinstance(node, Attribute) or node.name in LOOP:
            continue
        if isinstance(node.target, Name) and node.target.name == "loop" and nearest(node.name, LOOP):
            span = node.name_span.shifted(start)
            yield misspelt(span, f"`loop` has no `{node.name}`", node.name, LOOP)


RULE = Rule(
    name="unknown-loop-attribute",
    summary="an attribute that `loop` does not have",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check_chunk=check_chunk,
    reads_prose=False,
)
