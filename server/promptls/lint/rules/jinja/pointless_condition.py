"""Condition or option that has no effect.

## What it does

Reports

- an `elif` with the condition of an earlier branch; a hint if the condition calls a function;
- an `elif` that prints the condition of an earlier branch instead of its own;
- an operand that the same `and` or `or` already has;
- a text behind `and` or `or` in a condition, as in `tone == "formal" or "casual"`;
- a text that occurs twice in a list behind `in` or in the keys of a mapping.

## Why is this bad?

A text is always true, and a repetition changes nothing: usually, a comparison is missing, or a copy was not
changed.

## Example

```yaml
{% if tone in ["formal", "casual", "formal"] %}
                                   ^^^^^^^^ pointless-condition: `"formal"` is already in this list
- name: tone
  content: Write in a {{ tone }} tone.
{% endif %}
```

Use instead:

```yaml
{% if tone in ["formal", "casual", "friendly"] %}
- name: tone
  content: Write in a {{ tone }} tone.
{% endif %}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule, Severity, each_chunk
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.jinja.file_blocks import FileBlock, blocks_across, blocks_inside
from promptls.syntax.jinja.nodes import Attribute, Collection, Constant, Expression, Name, Operation
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.syntax.jinja.tag_tokens import tokenize
from promptls.text.positions import Span

_END: Final = re.compile(r"\s*[-+]?%\}$")
_CALL: Final = re.compile(r"\w\s*\(")
_has_elif: Final = summary(lambda chunk: any(tag.keyword == "elif" for tag in block_tags(chunk)), any)


def check(file: File) -> Iterator[Finding]:
    """Yield the repeated conditions of branches, operands and options."""
    source = file.template.source
    for located in file.chunks.where(_has_elif):
        for block in blocks_inside(located.chunk):
            for finding in (*_branches(block, located.chunk.text), *_copied(block, located.chunk)):
                yield finding.shifted(located.start)
    for block in blocks_across(source) if _has_elif(file.chunks) else ():
        yield from _branches(block, source.text)
    yield from _in_expressions(file)


def _branches(block: FileBlock, text: str) -> Iterator[Finding]:
    """Yield the conditions that an earlier branch of the block has."""
    seen: set[tuple[str, ...]] = set()
    for tag, keyword in zip(block.tags, block.keywords, strict=True):
        if text[keyword.start : keyword.end] not in {"if", "elif"}:
            continue
        condition = _END.sub("", text[keyword.end : tag.end])
        written = _tokens(condition)
        if written in seen:
            start = keyword.end + len(condition) - len(condition.lstrip())
            message = "an earlier branch has this condition, so that this one is never reached"
            severity: Severity | None = "hint" if _CALL.search(condition) else None
            yield Finding(Span(start, keyword.end + len(condition)), message, severity=severity)
        seen.add(written)


_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_CHOICE: Final = re.compile(r"\b(?:or|if|is|default|in)\b|\|\s*d\(|[=!<>]=")


def _copied(block: FileBlock, chunk: Chunk) -> Iterator[Finding]:
    """Yield what an `elif` prints of an earlier condition, which is false there, if it does not read its own."""
    text, earlier = chunk.text, set[str]()
    for tag, keyword, after in zip(block.tags, block.keywords, block.tags[1:], strict=False):
        condition = _END.sub("", text[keyword.end : tag.end]).strip()
        if _PATH.fullmatch(condition) is None:
            return
        tags = (each for each in chunk.tags if each.kind in {"output", "statement"})
        inside = [each for each in tags if tag.end <= each.span.start < after.start]
        reads = [
            node.span.shifted(start)
            for start, node in expressions_in(chunk)
            if tag.end <= start < after.start and isinstance(node, Name | Attribute)
        ]
        read = {text[span.start : span.end] for span in reads}
        is_plain = all(
            each.kind == "output" or tag_tree(each).statement.keyword == "set" for each in inside
        ) and not any(_CHOICE.search(text, each.span.start, each.span.end) for each in inside)
        if is_plain and condition not in read:
            for span in reads:
                if text[span.start : span.end] in earlier:
                    message = "this is false in this branch, which does not read its own condition"
                    yield Finding.suggest(span, message, condition, severity="hint")
        earlier.add(condition)


@each_chunk
def _in_expressions(chunk: Chunk) -> Iterator[Finding]:
    conditions = {
        tag.span.start
        for tag in chunk.tags
        if tag.kind == "statement" and tag_tree(tag).statement.keyword in {"if", "elif"}
    }
    for start, node in expressions_in(chunk):
        if isinstance(node, Operation) and node.operators[0] in {"and", "or"}:
            last = node.operands[-1]
            is_text = isinstance(last, Constant) and last.value and isinstance(last.value, str)
            if is_text and start in conditions:
                yield from _always_true(chunk, start, node.operands[-2], last)
            before = [
                each for operand in node.operands[:-1] for each in _operands(operand, node.operators[0])
            ]
            if _written(chunk, start, last) in {_written(chunk, start, each) for each in before}:
                message = f"this `{node.operators[0]}` already has this operand"
                yield Finding(last.span.shifted(start), message)
        elif isinstance(node, Operation) and node.operators[0] in {"in", "not in"}:
            options = node.operands[1]
            if isinstance(options, Collection) and options.kind != "dict":
                yield from _twice(chunk, start, options.items, "in this list")
        elif isinstance(node, Collection) and node.kind == "dict":
            yield from _twice(chunk, start, node.items[::2], "a key of this mapping")


def _always_true(chunk: Chunk, start: int, before: Expression, text: Expression) -> Iterator[Finding]:
    """Yield the finding for a text behind a comparison, to which it is not compared."""
    while isinstance(before, Operation) and before.operators[0] in {"and", "or"}:
        before = before.operands[-1]
    if isinstance(before, Operation) and before.operators in {("==",), ("!=",)}:
        left, span = before.operands[0].span.shifted(start), text.span.shifted(start)
        left_text, written = chunk.text[left.start : left.end], chunk.text[span.start : span.end]
        meant = f"{left_text} {before.operators[0]} {written}"
        yield Finding.suggest(span, "a text is always true", meant)


def _operands(node: Expression, operator: str) -> Iterator[Expression]:
    """Yield the operands that a chain of one operator joins."""
    if isinstance(node, Operation) and node.operators[0] == operator:
        for operand in node.operands:
            yield from _operands(operand, operator)
    else:
        yield node


def _twice(chunk: Chunk, start: int, items: Iterable[Expression], where: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for item in items:
        if isinstance(item, Constant) and isinstance(item.value, str):
            if item.value in seen:
                span = item.span.shifted(start)
                yield Finding(span, f"`{chunk.text[span.start : span.end]}` is already {where}")
            seen.add(item.value)


def _written(chunk: Chunk, start: int, node: Expression) -> tuple[str, ...]:
    return _tokens(chunk.text[node.span.start + start : node.span.end + start])


def _tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of an expression, which white space does not change."""
    return tuple(token.text for token in tokenize(text, 0, len(text)))


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
