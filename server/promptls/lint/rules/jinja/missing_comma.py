"""Two texts without a comma between them.

## What it does

Reports texts that follow each other in a list or mapping without a comma; on one line, also elsewhere, as a
hint.

## Why is this bad?

Jinja joins them, as Python does: the list has one option less, and one that nobody meant.

## Example

```yaml
{% if tone in ["formal" "casual"] %}
                        ^^^^^^^^ missing-comma: expected a comma: Jinja joins this text with the one before it, to `"formalcasual"`
- name: tone
  content: Write in a {{ tone }} tone.
{% endif %}
```

Use instead:

```yaml
{% if tone in ["formal", "casual"] %}
- name: tone
  content: Write in a {{ tone }} tone.
{% endif %}
```
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from promptls.lint.rule import JINJA_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Call, Collection, Constant, Filter, children
from promptls.syntax.jinja.problems import expressions_in
from promptls.syntax.jinja.tag_tokens import tokenize
from promptls.text.positions import Span


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the places between texts that Jinja joins."""
    in_collections: set[Span] = set()
    arguments: set[Span] = set()
    for start, node in expressions_in(chunk):
        if isinstance(node, Collection):
            in_collections |= {each.span.shifted(start) for each in children(node)}
        if isinstance(node, Call | Filter):
            arguments |= {each.span.shifted(start) for each in node.arguments}
        if not isinstance(node, Constant) or not isinstance(node.value, str):
            continue
        span = node.span.shifted(start)
        tokens = tokenize(chunk.text, span.start, span.end)[:-1]
        for first, second in pairwise(tokens):
            is_item = span in in_collections
            if not is_item and "\n" in chunk.text[first.end : second.start]:
                continue
            joined = json.dumps(node.value, ensure_ascii=False)
            message = f"expected a comma: Jinja joins this text with the one before it, to `{joined}`"
            at = Span(second.start, second.end)
            fix = Fix("Insert a comma", (Edit(Span(first.end, first.end), ","),))
            if is_item:
                yield Finding(at, message, (fix,))
            else:
                yield Finding(at, message, (fix,) if span in arguments else (), severity="hint")


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
