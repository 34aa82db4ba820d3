"""`-` that joins a word to a printed value or to another line.

## What it does

Reports `{{-` after a word and a space on the same line, and `-}}` ahead of a space and a word. An
expression with a text of its own, such as `{{- "s" if number > 1 }}`, may be meant to continue the word,
and is not reported.

In a block, it reports `-}}` at the end of a line, if the next line begins with a word or as a heading or list
item, and a tag such as `{%- endif -%}` between two lines of text, if all white space between them is
removed and the second begins with a word or as a heading or list item. If that happens only when the
block of an `if` or `for` prints nothing, it is reported as well.

## Why is this bad?

The `-` removes the space or the line break: the model gets `most40 words`, or `Be brief.# Ticket`.

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
from promptls.semantic.parts import Content, chunk_contents, tags_in
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.nodes import Constant, Statement, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span

_BEFORE: Final = re.compile(r"[^\W_][,;.!?]?[ ]+$")
_AFTER: Final = re.compile(r"[ ]+[^\W_]")
_NEAR: Final = 80
"""How many characters around a tag are searched for a word."""
_SILENT: Final = frozenset({"if", "endif", "for", "endfor", "set"})
"""Tags that print nothing; the text before and after them is printed."""
_LINE_END: Final = re.compile(r"(?:[\w.,;:!?)]|={3}|-{3})\Z")
_LINE_START: Final = re.compile(
    r"#{1,6} |[-*] |\d{1,3}[.)] |={3}|[A-Z][a-z]|[A-Z]{2,}[ :]|(?![\u3040-\u30ff\u4e00-\u9fff])[^\W\d_]{4}"
)
"""The start of a line that does not continue the previous one, as the ending of a word may.

Chinese and Japanese have no spaces to lose.
"""


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
            if tag.trims_after and content.is_block and _is_continued(chunk, content, tag):
                yield _joined(tag, "the next line continues the value")
    for content in chunk_contents(chunk) if "-%}" in chunk.text else ():
        if content.is_block:
            yield from _joined_lines(chunk, content)


def _joined_lines(chunk: Chunk, content: Content) -> Iterator[Finding]:
    """Yield the tags that remove all white space between two lines of text."""
    end = content.value.span.end
    blocks = {chunk.tags[pair.closing].span: pair for pair in chunk_blocks(chunk).pairs}
    tags = [tag for tag in tags_in(chunk, content) if tag.span.end <= end]
    for index, tag in enumerate(tags):
        after = tags[index + 1].span.start if index + 1 < len(tags) else end
        following = chunk.text[tag.span.end : after]
        if not _is_silent(tag) or not tag.trims_after or "\n" not in following:
            continue
        if not _LINE_START.match(following.lstrip()):
            continue
        pair = blocks.get(tag.span)
        opening = chunk.tags[pair.opening] if pair is not None and not pair.middles else None
        if _continues(chunk, content, tag) or (opening and _continues(chunk, content, opening)):
            yield _joined(tag, "the next line continues the text before it")


def _joined(tag: Tag, how: str) -> Finding:
    sign = Span(tag.span.end - 3, tag.span.end - 2)
    fix = Fix("Keep the line break", (Edit(sign, ""),), preferred=True)
    return Finding(Span(sign.start, tag.span.end), f"this `-` removes the line break: {how}", (fix,))


def _is_continued(chunk: Chunk, content: Content, tag: Tag) -> bool:
    """Return whether a value is directly followed by the text of the next line, such as a heading or sentence."""
    following = chunk.text[tag.span.end : content.value.span.end]
    text = following.lstrip()
    return "\n" in following[: len(following) - len(text)] and bool(_LINE_START.match(text))


def _continues(chunk: Chunk, content: Content, tag: Tag) -> bool:
    """Return whether a tag removes a line break, and all other white space, after a line of text."""
    before = chunk.text[content.value.span.start : tag.span.start]
    text = before.rstrip()
    return tag.trims_before and "\n" in before[len(text) :] and bool(_LINE_END.search(text))


def _is_silent(tag: Tag) -> bool:
    statement = tag_tree(tag).statement if tag.kind == "statement" else None
    return statement is not None and statement.keyword in _SILENT and not _captures(statement)


def _captures(statement: Statement) -> bool:
    """Return whether a `set` binds the text up to its end, which is not printed."""
    return statement.keyword == "set" and statement.opens_block


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
