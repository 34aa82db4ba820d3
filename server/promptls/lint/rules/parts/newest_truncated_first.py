"""Truncation priority that grows per turn, so that truncation removes the newest turns first.

## What it does

Reports a `truncation_priority` that is a loop counter: `loop.index`, `loop.index0`, or one of them plus,
minus or times a number. The severity is `information` if the loop iterates over messages, a history or a
chat, otherwise `hint`: for search results that are sorted by rank, the last ones should be cut first. A
loop over a reversed list is not reported.

## Why is this bad?

Prompt Poet cuts the *highest* number first. In a conversation, that is the latest turn: the model sees
the beginning but not what was said last. `loop.revindex` cuts the oldest turn first, and so does the
same number for all turns, because equal priorities are cut from the top.

## Example

```yaml
{% for message in history %}
- name: message
  role: user
  truncation_priority: {{ loop.index }}
                       ^^^^^^^^^^^^^^^^ newest-truncated-first: the highest number is cut first, so the last turn is removed and the first one stays
  content: "{{ escape_special_characters(message) }}"
{% endfor %}
```

Use instead:

```yaml
{% for message in history %}
- name: message
  role: user
  truncation_priority: {{ loop.revindex }}
  content: "{{ escape_special_characters(message) }}"
{% endfor %}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, Severity
from promptls.semantic.parts import chunk_items
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import BlockTag, block_tags
from promptls.syntax.jinja.nodes import Attribute, Constant, Expression, Filter, Name, Operation
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Scalar, key_text
from promptls.text.positions import Span

_COUNTS: Final = {"index": "revindex", "index0": "revindex0"}
_CHAT: Final = re.compile(r"message|histor|chat|turn|conversation|dialog", re.IGNORECASE)
_REVERSED: Final = re.compile(r"\|\s*(?:reverse|sort)\b|\[[^\]]*::\s*-|\breversed?\b|newest|latest")


class _Growing(NamedTuple):
    """A priority that grows with each iteration: the span of its tag, and the loop counter."""

    tag: Span
    counted: Span
    name: str


@chunk_fact
def _growing(chunk: Chunk) -> tuple[_Growing, ...]:
    return tuple(_priorities(chunk)) if "loop" in chunk.text else ()


def _priorities(chunk: Chunk) -> Iterator[_Growing]:
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            value = entry.value
            if key_text(entry) != "truncation_priority" or not isinstance(value, Scalar):
                continue
            tag = next((tag for tag in chunk.tags if tag.span == value.span and tag.kind == "output"), None)
            expressions = tag_tree(tag).statement.expressions if tag else ()
            count = _count(expressions[0]) if len(expressions) == 1 else None
            if tag is not None and count is not None:
                yield _Growing(tag.span, count.name_span.shifted(tag.span.start), count.name)


def _count(node: Expression) -> Attribute | None:
    """Return the loop counter in an expression that grows with it, or None."""
    match node:
        case Attribute(target=Name(name="loop"), name=name) if name in _COUNTS:
            return node
        case Operation(
            operators=("+",), operands=(Constant(value=int()), other) | (other, Constant(value=int()))
        ):
            return _count(other)
        case Operation(
            operators=("*",),
            operands=(Constant(value=int() as factor), other) | (other, Constant(value=int() as factor)),
        ) if factor > 0:
            return _count(other)
        case Operation(operators=("-",), operands=(other, Constant(value=int()))):
            return _count(other)
        case Filter(target=target, name="int") if target is not None:
            return _count(target)
        case _:
            return None


def check(file: File) -> Iterator[Finding]:
    """Yield the priorities that grow with the iterations of the loop around them."""
    root = file.template.source.root
    if not _any_growing(root):
        return
    loops: list[str] = []
    for located in root.placed():
        chunk = located.chunk
        places = [(tag.span.start, tag.action, chunk.tags[tag.place].text) for tag in _loops(chunk)]
        places += [(growing.tag.start, "part", "") for growing in _growing(chunk)]
        found = {growing.tag.start: growing for growing in _growing(chunk)}
        for offset, action, text in sorted(places):
            if action == "open":
                loops.append(text)
            elif action == "close" and loops:
                loops.pop()
            elif action == "part" and loops and not _REVERSED.search(loops[-1]):
                yield _finding(found[offset], loops[-1]).shifted(located.start)


def _loops(chunk: Chunk) -> list[BlockTag]:
    return [tag for tag in block_tags(chunk) if tag.keyword == "for" and tag.action != "middle"]


def _finding(growing: _Growing, loop: str) -> Finding:
    message = "the highest number is cut first, so the last turn is removed and the first one stays"
    meant = _COUNTS[growing.name]
    severity: Severity | None = None if _CHAT.search(loop) else "hint"
    fix = Fix(f"Change to `loop.{meant}`", (Edit(growing.counted, meant),))
    return Finding(growing.tag, message, (fix,), severity=severity)


_any_growing: Final = summary(lambda chunk: bool(_growing(chunk)), any)
"""Whether a piece has a priority that grows with a loop."""


RULE = Rule(check, severity="information", kinds=PARTS_KINDS)
