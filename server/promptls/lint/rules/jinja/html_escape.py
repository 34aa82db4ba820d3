"""Filter that escapes text for HTML.

## What it does

Reports the first `escape`, `e` or `forceescape` of the file, with the number of further ones. If the
severity of the rule is raised, each one is reported.

## Why is this bad?

These filters escape text for HTML: the model reads `&#34;` and `&#39;` for quotes, `&amp;` for `&` and
`&lt;` for `<`, and a line break, which could break the YAML, is not escaped. Use Prompt Poet's
`escape_special_characters` instead.

## Example

```yaml
- name: ticket
  content: |
    {{ text | escape }}
              ^^^^^^ html-escape: `escape` writes HTML: quotes reach the model as `&#34;`
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.suppression import RepeatedFinding, first_of_each
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Rule, each_chunk
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Filter
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span

_ESCAPING: Final = frozenset({"e", "escape", "forceescape"})


def check(file: File) -> Iterator[Finding]:
    """Yield the first filter of the file that escapes HTML."""
    yield from first_of_each(file, RULE.name, (RepeatedFinding("", found) for found in _in_chunk(file)))


@each_chunk
def _in_chunk(chunk: Chunk) -> Iterator[Finding]:
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name in _ESCAPING:
            message = f"`{node.name}` writes HTML: quotes reach the model as `&#34;`"
            yield Finding(node.name_span.shifted(start), message, tuple(_fixes(chunk, node, start)))


def _fixes(chunk: Chunk, node: Filter, start: int) -> Iterator[Fix]:
    if node.target is None:
        return
    target, whole = node.target.span.shifted(start), node.span.shifted(start)
    text = chunk.text[target.start : target.end]
    if text and whole.start <= target.start:
        yield Fix(
            "Escape for YAML instead",
            (Edit(Span(target.start, whole.end), f"escape_special_characters({text})"),),
        )
        yield Fix(f"Remove `{node.name}`", (Edit(Span(target.end, whole.end), ""),))


RULE = Rule(check, severity="hint", kinds=JINJA_KINDS)
