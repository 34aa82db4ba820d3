"""Part joined to the previous text by white space control.

## What it does

Reports a tag with `-%}` (or `-#}`) that trims the only line break before a part: the part's `- name:` is
then on the last line of the preceding text or, in a loop, of the previous iteration.

## Why is this bad?

The part is no longer a part. Its first line becomes text of the previous part, and its other keys
replace those of that part, usually without any error: a message is silently lost.

## Example

```yaml
- name: rules
  role: system
  content: Be brief.
{% for message in messages -%}
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ glued-part: this removes the line break before the next part: from the second iteration on, that part continues the previous line
- name: message
  role: user
  content: |
    {{ escape_special_characters(message) }}
{%- endfor %}
```

Use instead:

```yaml
- name: rules
  role: system
  content: Be brief.
{% for message in messages %}
- name: message
  role: user
  content: |
    {{ escape_special_characters(message) }}
{%- endfor %}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, Severity
from promptls.semantic.parts import OpenBlock
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, Located, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.builtins import MIDDLES
from promptls.syntax.jinja.file_blocks import FileBlock, blocks_across, blocks_inside
from promptls.syntax.jinja.nodes import Attribute, Call, Filter, Item, Name
from promptls.syntax.jinja.problems import tag_problems, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.source import Source
from promptls.text.positions import Span

_SKIPPED: Final = frozenset(
    {"if", "endif", "for", "endfor", "with", "endwith", "autoescape", "endautoescape", "import", "from"}
)
"""The tags that print nothing and that the search for preceding text skips."""
_SILENT_ENDS: Final = frozenset({"endmacro", "endset"})
"""The end tags of blocks that print nothing in place."""
_CONDITIONS: Final = frozenset({"if", "elif", "else", "endif"})
_BEFORE_NAME: Final = "removes the line break before the next part"


class _Text(NamedTuple):
    """A text that a part is joined to: its end, the tags in between, and whether it is a printed value."""

    end: int
    passed: tuple[str, ...]
    is_printed: bool = False


@chunk_fact
def _trims_last_break(chunk: Chunk) -> bool:
    """Return whether the chunk ends with a tag that trims the line break after it."""
    last = chunk.tags[-1] if chunk.tags else None
    if last is None or not last.trims_after or last.unclosed or tag_problems(chunk):
        return False
    return not chunk.text[last.span.end :].strip()


_trims: Final = summary(_trims_last_break, any)


def check(file: File) -> Iterator[Finding]:
    """Yield the tags that join the part after them to other text."""
    template = file.template
    if not _trims(template.source.root):
        return
    for located in template.source.root.where(_trims):
        part = located.start + located.chunk.length
        if template.source.slice(Span(part, part + 1)) != "-":
            continue
        tag_index = len(located.chunk.tags) - 1
        how, text = _joined_text(template, located, tag_index, part)
        if text is not None:
            span = located.chunk.tags[tag_index].span.shifted(located.start)
            written = template.source.slice(span)[:-2]
            dashes = len(written) - len(written.rstrip("-"))  # a comment may end with several
            sign = Span(span.end - 2 - dashes, span.end - 2)
            fix = Fix("Keep the line break", (Edit(sign, ""),), preferred=True)
            severity: Severity = "warning" if text.is_printed else "error"
            yield Finding(span, f"this {_BEFORE_NAME}: {how}", (fix,), severity=severity)


def _joined_text(template: Template, located: Located, tag_index: int, part: int) -> tuple[str, _Text | None]:
    """Return a description of how a part is joined to a text, and the text; None if it is not certain."""
    text, loops = _text_ahead(template, located, tag_index)
    around = template.branches.at(part)
    if text is not None and _may_meet(template.branches.at(text.end - 1), around):
        return "it continues the previous line", text
    for opening, passed in loops:
        end = _end_of_body(template.source, opening)
        before = _text_ahead(template, *end, is_end=True)[0] if end is not None else None
        if before is None or before.end < part:
            continue
        if _CONDITIONS.isdisjoint([*passed, *before.passed]):  # no condition intervenes
            return "from the second iteration on, that part continues the previous line", before
    return "", None


def _text_ahead(
    template: Template, located: Located, tag_index: int, *, is_end: bool = False
) -> tuple[_Text | None, list[tuple[int, tuple[str, ...]]]]:
    """Return the text before a tag that no line break separates from it, and the loops opened in between.

    A loop is represented by the offset of its tag and the keywords of the tags after it. With `is_end`, the
    first tag ends the body of a loop.
    """
    loops: list[tuple[int, tuple[str, ...]]] = []
    passed: tuple[str, ...] = ()
    while True:
        chunk = located.chunk
        tag = chunk.tags[tag_index]
        keyword = _keyword(tag)
        if is_end:
            keyword, is_end = "endfor", False
        if keyword in MIDDLES or keyword in _SILENT_ENDS:
            opening = _opening(template.source, located, tag_index)
            if opening is None:
                return None, loops
            located, tag_index = opening
            chunk, tag = located.chunk, located.chunk.tags[tag_index]
        elif keyword == "output":
            text = _Text(located.start + tag.span.end, passed, is_printed=True)
            return (text if _is_text(template, chunk, tag) else None), loops
        elif keyword and keyword not in _SKIPPED and not _is_plain_set(tag):
            return None, loops
        elif keyword == "for":
            loops.append((located.start + tag.span.start, passed))
        passed = (*passed, keyword)
        start = chunk.tags[tag_index - 1].span.end if tag_index else 0
        piece = chunk.text[start : tag.span.start]
        written = piece.rstrip()
        if written.strip("\ufeff \t\r\n"):
            is_glued = tag.trims_before or not _has_break(piece[len(written) :])
            return (_Text(located.start + start + len(written), passed) if is_glued else None), loops
        is_trimmed = tag.trims_before or (tag_index > 0 and chunk.tags[tag_index - 1].trims_after)
        if not tag_index or (_has_break(piece) and not is_trimmed):
            return None, loops
        tag_index -= 1


def _keyword(tag: Tag) -> str:
    """Return the keyword of a tag; empty for a comment, and `output` for an output tag."""
    if tag.kind == "comment":
        return ""
    return tag_tree(tag).statement.keyword if tag.kind == "statement" else "output"


def _is_text(template: Template, chunk: Chunk, tag: Tag) -> bool:
    """Return whether a tag prints an input after other text on its line; macros may end with a line break."""
    if tag.kind != "output" or tag.span.start in chunk.line_starts:
        return False
    expressions = tag_tree(tag).statement.expressions
    value = expressions[0] if len(expressions) == 1 else None
    while isinstance(value, (Filter, Attribute, Item)):
        value = value.target
    if isinstance(value, Call) and isinstance(value.function, Name):
        return value.function.name == "escape_special_characters"
    if not isinstance(value, Name) or value.name in {"self", "caller"}:
        return False
    return not any(value.name in template.names.bound_names(kind) for kind in ("set", "parameter"))


def _is_plain_set(tag: Tag) -> bool:
    statement = tag_tree(tag).statement
    return statement.keyword == "set" and not statement.opens_block


def _has_break(text: str) -> bool:
    return "\n" in text or "\r" in text


def _block_of(source: Source, located: Located, tag_index: int) -> FileBlock | None:
    """Return the block that a tag belongs to; None if it is not closed."""
    place = located.chunk.tags[tag_index].span.shifted(located.start)
    if any(
        tag_index in {pair.opening, *pair.middles, pair.closing} for pair in chunk_blocks(located.chunk).pairs
    ):
        blocks = [block.shifted(located.start) for block in blocks_inside(located.chunk)]
    else:
        blocks = list(blocks_across(source))
    return next((block for block in blocks if block.is_closed and place in block.tags), None)


def _opening(source: Source, located: Located, tag_index: int) -> tuple[Located, int] | None:
    block = _block_of(source, located, tag_index)
    return _tag_at(source, block.tags[0]) if block is not None else None


def _end_of_body(source: Source, opening: int) -> tuple[Located, int] | None:
    """Return the tag that ends the body of the loop opened at an offset: its `else` or its end tag."""
    found = source.located(opening)
    tag_index = next(
        index for index, tag in enumerate(found.chunk.tags) if found.start + tag.span.start == opening
    )
    block = _block_of(source, found, tag_index)
    return _tag_at(source, block.tags[1]) if block is not None else None


def _tag_at(source: Source, span: Span) -> tuple[Located, int]:
    located = source.located(span.start)
    tag_indexes = [
        index for index, tag in enumerate(located.chunk.tags) if tag.span.shifted(located.start) == span
    ]
    return located, tag_indexes[0]


def _may_meet(first: tuple[OpenBlock, ...], second: tuple[OpenBlock, ...]) -> bool:
    """Return whether some rendering certainly includes both places, because they share their conditions."""
    shared = set(first) & set(second)
    return not all(
        any(block.keyword == "if" and block not in shared for block in blocks) for blocks in (first, second)
    )


RULE = Rule(check, severity="error", kinds=PARTS_KINDS)
