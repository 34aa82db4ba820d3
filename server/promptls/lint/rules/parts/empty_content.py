"""Part with empty content.

Reports `content` without a value, or with only tags that print nothing, such as a macro; `sections`
without any section; and a section whose `content` is null.

## Why is this bad?

An empty `content:` is null in YAML: Prompt Poet then fails when it joins the prompt or counts its
tokens. Empty sections are refused when the prompt is loaded.

## Example

```yaml
- name: rules
  content:
  ^^^^^^^ empty-content: this part has no content
  role: system
```

Use instead:

```yaml
- name: rules
  content: Be brief.
  role: system
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.part_values import may_be_filled, may_print
from promptls.lint.fixes.tag_fixes import whole_lines
from promptls.lint.rule import PARTS_KINDS, Edit, Finding, Fix, each_chunk, rule
from promptls.semantic.parts import Part, chunk_contents, chunk_items, tags_outside
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Scalar, Sequence, key_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span

_PRINTED_ELSEWHERE: Final = frozenset({"macro", "set"})
"""Blocks whose body is not printed in place."""


@rule(severity="warning", kinds=PARTS_KINDS)
@each_chunk
def empty_content(chunk: Chunk) -> Iterator[Finding]:
    """Yield the keys without a value in parts of the chunk."""
    found = [*_without_value(chunk)]
    reported = {finding.span for finding in found}
    return iter([*found, *(each for each in _of_silent_tags(chunk) if each.span not in reported)])


def _without_value(chunk: Chunk) -> Iterator[Finding]:
    """Yield the keys that nothing follows."""
    parts = chunk_items(chunk).parts
    for index, part in enumerate(parts):
        ends = [entry.key.span.start for entry in part.entries[1:]]
        ends.append(parts[index + 1].span.start if index + 1 < len(parts) else len(chunk.text))
        for entry, end in zip(part.entries, ends, strict=False):
            if not _is_empty(entry):
                continue
            if (finding := _outdented(chunk, entry, end)) is not None:
                yield finding
                continue
            # A YAML problem after an empty block scalar is most likely its text, without indentation.
            is_unread = isinstance(entry.value, Scalar) and (
                (not part.is_whole and entry.value.dynamic)
                or (entry.value.style in {"|", ">"} and _has_problem_after(chunk, entry.value.span.end, end))
            )
            if is_unread or may_be_filled(chunk, Span(entry.key.span.end, end)):
                continue
            if key_text(entry) == "content":
                yield Finding(entry.key.span, "this part has no content", tuple(_removal(chunk, part)))
            elif part.entry("content") is None:
                yield Finding(entry.key.span, "this part has no sections", severity="error")
    yield from _empty_sections(chunk)


_TAG_LINE: Final = re.compile(r"[ \t\r\n]*^([ ]*)\{\{", re.MULTILINE)


def _outdented(chunk: Chunk, entry: Entry, end: int) -> Finding | None:
    """Return the finding for a printed value that follows an empty block scalar, and is not indented."""
    if not isinstance(entry.value, Scalar) or entry.value.style not in {"|", ">"}:
        return None
    start = chunk.text.find("\n", entry.key.span.end) + 1
    match = _TAG_LINE.match(chunk.text, start, end) if 0 < start < end else None
    column = entry.key.span.start - chunk.text.rfind("\n", 0, entry.key.span.start) - 1
    if match is None or len(match[1]) > column:
        return None
    span = Span(match.start(1), match.end())
    fix = Fix("Indent it", (Edit(Span(match.start(1), match.end(1)), " " * (column + 2)),))
    message = f"this is not in the block of `{key_text(entry)}`: it must be indented more than the key"
    return Finding(Span(span.end - 2, span.end), message, (fix,))


def _of_silent_tags(chunk: Chunk) -> Iterator[Finding]:
    """Yield the contents of the chunk that consist of tags that print nothing."""
    for content in chunk_contents(chunk):
        if content.value.text.strip() or not content.value.style or not content.part.is_whole:
            continue
        span = Span(content.value.span.start, content.end)
        printed = tags_outside(chunk, span, _PRINTED_ELSEWHERE)
        if any(tags_outside(chunk, span, ())) and not any(
            may_print(tag) for tag in printed if tag.kind != "comment"
        ):
            what = "part" if content.section is None else "section"
            yield Finding(content.key, f"this {what} has no content: its tags print nothing")


def _empty_sections(chunk: Chunk) -> Iterator[Finding]:
    """Yield the sections of the chunk's parts whose content is null, which Prompt Poet cannot join."""
    for content in chunk_contents(chunk):
        value = content.value
        if content.section is None or value.dynamic or value.tag != "null":
            continue
        if value.span.is_empty() and may_be_filled(chunk, Span(content.key.end, content.end)):
            continue
        yield Finding(
            content.key, "this section has no content: Prompt Poet cannot join it", severity="error"
        )


def _has_problem_after(chunk: Chunk, start: int, end: int) -> bool:
    return any(start <= problem.span.start <= end for problem in chunk_yaml(chunk).problems)


def _removal(chunk: Chunk, part: Part) -> Iterator[Fix]:
    """Yield the fix that removes the part's lines, unless it would remove a tag."""
    lines = whole_lines(chunk, Span(max(part.span.start - 2, 0), part.span.end))
    is_item = chunk.text[lines.start : lines.start + 1] == "-"
    if is_item and not any(lines.covers(tag.span.start) for tag in chunk.tags):
        yield Fix("Remove this part", (Edit(lines, ""),))


def _is_empty(entry: Entry) -> bool:
    """Return whether `content` or `sections` has no value."""
    key = key_text(entry)
    return _is_nothing(entry) if key == "content" else key == "sections" and _has_no_items(entry)


def _is_nothing(entry: Entry) -> bool:
    value = entry.value
    return isinstance(value, Scalar) and (value.tag == "null" or not value.text.strip())


def _has_no_items(entry: Entry) -> bool:
    value = entry.value
    if isinstance(value, Scalar):
        return value.tag == "null"
    return not (value.items if isinstance(value, Sequence) else value.entries)
