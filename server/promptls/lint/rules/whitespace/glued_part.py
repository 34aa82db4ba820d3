"""Part joined to the previous text by white space control.

## What it does

Renders the prompt, and reports a tag with `-%}` (or `-#}`) that trims the only line break before a part:
the part's `- name:` is then on the last line of the preceding text or, in a loop, of the previous
iteration. It is a warning if the preceding text is a value, which may be empty or end with a line break.
Also reports a loop that begins in the text of a part and ends behind the next part.

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
from promptls.semantic.parts import chunk_contents
from promptls.syntax.jinja.file_blocks import blocks_across
from promptls.syntax.jinja.nodes import Call, Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span

_HOW: Final = {
    "joined part": "it continues the previous line",
    "joined repetition": "from the second iteration on, that part continues the previous line",
}


_SILENT: Final = frozenset({"set", "if", "for", "with", "endif", "endfor", "endwith", "import", "from"})


def check(file: File) -> Iterator[Finding]:
    """Yield the tags that join the part after them to other text."""
    source = file.template.source
    found: dict[Span, Finding] = {}
    for each in file.rendering.white_space if file.rendering is not None else ():
        tag = _tag_before(file, each.start) if each.kind in _HOW and each.start else None
        if tag is not None and tag.trims_after:
            found[tag.span] = _finding(file, tag, _HOW[each.kind], "warning" if each.detail else "error")
    for placed in file.template.parts:
        start = source.line_span(source.line_column(placed.span.start).line).start
        tag = _tag_before(file, start) if start else None
        severity = _joined(file, tag, start) if tag is not None and tag.span not in found else None
        if tag is not None and severity is not None:
            found[tag.span] = _finding(file, tag, _HOW["joined part"], severity)
    yield from found.values()
    yield from _loops_over_parts(file)


def _loops_over_parts(file: File) -> Iterator[Finding]:
    """Yield the loops that begin in the content of a part and end behind the next one."""
    source = file.template.source
    for block in blocks_across(source):
        opening, closing = (source.located(tag.start) for tag in (block.tags[0], block.tags[-1]))
        place = block.tags[0].start - opening.start
        spans = [content.value.span for content in chunk_contents(opening.chunk)]
        is_in_text = any(span.start < place < span.end for span in spans)
        ends_later = block.is_closed and closing.start > opening.start
        if block.keyword == "for" and ends_later and is_in_text and chunk_contents(closing.chunk):
            message = (
                "this loop begins in the text of a part and ends behind the next part: "
                "from the second iteration on, its text continues that part"
            )
            yield Finding(block.keywords[0], message)


class _Tag(NamedTuple):
    """A tag at a span of the file, its white space control, and the end of the tag before it in its chunk."""

    span: Span
    trims_before: bool
    trims_after: bool
    is_silent: bool
    """Whether it prints nothing, and what is before it is printed in front of what is after it."""
    is_value: bool
    names: frozenset[str] | None
    """The variables in a printed expression; None if it calls a function."""
    after: int
    is_after_value: bool


def _tag_before(file: File, start: int) -> _Tag | None:
    """Return the last tag ahead of a part."""
    located = file.template.source.located(start - 1)
    tags = located.chunk.tags
    index = next(
        (index for index in reversed(range(len(tags))) if tags[index].span.end <= start - located.start), None
    )
    if index is None:
        return None
    tag = tags[index]
    before = tags[index - 1] if index else None
    statement = tag_tree(tag).statement if tag.kind == "statement" else None
    is_silent = tag.kind == "comment" or (
        statement is not None
        and statement.keyword in _SILENT
        and not (statement.keyword == "set" and statement.opens_block)
    )
    return _Tag(
        tag.span.shifted(located.start),
        tag.trims_before,
        tag.trims_after,
        is_silent,
        tag.kind == "output",
        _names_in(tag),
        located.start + (before.span.end if before else 0),
        before is not None and before.kind == "output",
    )


def _names_in(tag: Tag) -> frozenset[str] | None:
    nodes = [node for each in tag_tree(tag).statement.expressions for node in walk(each)]
    if any(isinstance(node, Call) for node in nodes):
        return None
    return frozenset(node.name for node in nodes if isinstance(node, Name))


def _set_names(file: File) -> frozenset[str]:
    """Return the names that the file binds to values that may end with a line break."""
    names = file.template.names
    return names.bound_names("set") | names.bound_names("with") | names.bound_names("parameter")


def _joined(file: File, tag: _Tag, start: int) -> Severity | None:
    """Return the severity if a tag certainly trims all between a part and the text before the tag, or None.

    That needs no rendering, which may fail, or may not reach the part.
    """
    source = file.template.source
    if not tag.trims_after or source.slice(Span(tag.span.end, start)).strip():
        return None
    if tag.is_value:
        line = source.line_span(source.line_column(tag.span.start).line).start
        before = source.slice(Span(line, tag.span.start))
        is_of_data = tag.names is not None and tag.names.isdisjoint(_set_names(file))
        return "warning" if before and "%}" not in before and is_of_data else None
    if not tag.trims_before or not tag.is_silent:
        return None
    if source.slice(Span(tag.after, tag.span.start)).strip():
        return "error"
    return "warning" if tag.is_after_value else None


def _finding(file: File, tag: _Tag, how: str, severity: Severity) -> Finding:
    span = tag.span
    written = file.template.source.slice(span)[:-2]
    dashes = len(written) - len(written.rstrip("-"))  # a comment may end with several
    edit = Edit(Span(span.end - 2 - dashes, span.end - 2), "")
    fix = Fix("Keep the line break", (edit,), preferred=True)
    message = f"this removes the line break before the next part: {how}"
    return Finding(span, message, (fix,), severity=severity)


RULE = Rule(check, severity="error", kinds=PARTS_KINDS, needs="rendering")
