"""`-` that joins a printed value to a word.

## What it does

Reports `{{-` after a word and a space on the same line, and `-}}` ahead of a space and a word. An
expression with a text of its own, such as `{{- "s" if number > 1 }}`, may be meant to continue the word,
and is not reported.

## Why is this bad?

The `-` removes the space: the model gets `most40 words`.

## Example

```yaml
- name: rules
  role: system
  content: |
    Use at most {{- limit }} words.
                ^^^ glued-words: this `-` removes the space: the value continues the word before it
```

Use instead:

```yaml
- name: rules
  role: system
  content: |
    Use at most {{ limit }} words.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import PARTS_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.semantic.parts import chunk_contents
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Constant, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span

_BEFORE: Final = re.compile(r"[^\W_][,;.!?]?[ ]+$")
_AFTER: Final = re.compile(r"[ ]+[^\W_]")
_NEAR: Final = 80
"""How many characters around a tag are searched for a word."""


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the signs of output tags that remove the space between a value and a word."""
    for content in chunk_contents(chunk) if "{{-" in chunk.text or "-}}" in chunk.text else ():
        for tag in chunk.tags_at(content.value.span):
            if tag.kind != "output" or tag.unclosed or _has_text(tag):
                continue
            start, end = tag.span
            least = max(content.value.span.start, start - _NEAR)
            if tag.trims_before and _BEFORE.search(chunk.text[least:start]):
                sign = Span(start + 2, start + 3)
                yield _finding(Span(start, start + 3), sign, "continues the word before it")
            if tag.trims_after and _AFTER.match(chunk.text, end):
                yield _finding(Span(end - 3, end), Span(end - 3, end - 2), "is continued by the next word")


def _has_text(tag: Tag) -> bool:
    return any(
        isinstance(node, Constant) and isinstance(node.value, str)
        for expression in tag_tree(tag).statement.expressions
        for node in walk(expression)
    )


def _finding(span: Span, sign: Span, how: str) -> Finding:
    fix = Fix("Keep the space", (Edit(sign, ""),), preferred=True)
    return Finding(span, f"this `-` removes the space: the value {how}", (fix,))


RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
