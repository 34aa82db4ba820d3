"""Tag on its own line that leaves a blank line in the prompt.

## What it does

Reports the first statement or comment of the file that is alone on a line of a block scalar (`|`), with
the number of further ones. If the severity of the rule is raised, the first one of each content is
reported. Not reported are lines at the very beginning or end of the content, which Prompt Poet strips,
tags that trim their line (`{%-`), and `include`, which prints text there.

## Why is this bad?

Jinja removes the tag but not its line: the model gets a blank line there, and a loop prints one between
any two iterations. Some models read a blank line as the end of a list.

## Example

```yaml
- name: rules
  content: |
    Rules:
    {% for rule in rules %}
       ^^^ blank-line-from-tag: `for` on its own line leaves a blank line in the prompt, and 1 more in this file
    - {{ escape_special_characters(rule) }}
    {% endfor %}
```

Use instead:

```yaml
- name: rules
  content: |
    Rules:
    {%- for rule in rules %}
    - {{ escape_special_characters(rule) }}
    {%- endfor %}
```
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from promptls.lint.analysis.suppression import RepeatedFinding, first_of_each
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule
from promptls.semantic.parts import MOVED, Content, chunk_contents, tags_in
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span, line_end


class _TagLine(NamedTuple):
    """A line that consists of tags that print nothing."""

    line: int
    tags: tuple[Tag, ...]


def check(file: File) -> Iterator[Finding]:
    """Yield the first tag of the file that leaves a blank line."""
    places = (
        RepeatedFinding("", found.shifted(located.start), count)
        for located in file.chunks.placed()
        for found, count in _in_chunk(located.chunk)
    )
    yield from first_of_each(file, RULE.name, places)


@chunk_fact
def _in_chunk(chunk: Chunk) -> tuple[tuple[Finding, int], ...]:
    """Return the first such tag of each content, with the number of such lines in the content."""
    found = []
    for content in chunk_contents(chunk):
        if content.value.style != "|" or _has_moved_text(chunk, content):
            continue
        tags = tuple(tags_in(chunk, content))
        bare = list(_tag_lines(chunk, tags))
        if not bare:
            continue
        shown = _printed_lines(chunk, content, tags)
        lines = tuple([line for line in bare if _is_between(chunk, line, shown)])
        if lines:
            found.append((_finding(chunk, lines, tags), len(lines)))
    return tuple(found)


def _finding(chunk: Chunk, lines: tuple[_TagLine, ...], tags: tuple[Tag, ...]) -> Finding:
    tag = lines[0].tags[0]
    if tag.kind == "comment":
        word, span = "a comment", tag.span
    else:
        statement = tag_tree(tag).statement
        word, span = f"`{statement.keyword}`", statement.keyword_span.shifted(tag.span.start)
    message = f"{word} on its own line leaves a blank line in the prompt"
    return Finding(span, message, tuple(_fix(chunk, lines, tags)))


def _has_moved_text(chunk: Chunk, content: Content) -> bool:
    """Return whether the content contains a macro, block `set` or the like, whose text appears elsewhere."""
    return any(
        pair.keyword in MOVED
        and content.value.span.start <= chunk.tags[pair.opening].span.start < content.value.span.end
        for pair in chunk_blocks(chunk).pairs
    )


def _line_of(chunk: Chunk, offset: int) -> int:
    return bisect_right(chunk.line_starts, offset) - 1


def _tag_lines(chunk: Chunk, tags: Sequence[Tag]) -> Iterator[_TagLine]:
    """Yield the lines that consist of tags and whose line breaks are not trimmed."""
    by_line: dict[int, list[int]] = {}
    for index, tag in enumerate(tags):
        for line in {_line_of(chunk, tag.span.start), _line_of(chunk, tag.span.end)}:
            by_line.setdefault(line, []).append(index)
    for line, indexes in by_line.items():
        on_line = [tags[index] for index in indexes]
        if any(
            tag.kind not in {"statement", "comment"}
            or tag.unclosed
            or tag.trims_before
            or tag.trims_after
            or _prints(tag)
            for tag in on_line
        ):
            continue
        start = chunk.line_starts[line]
        end = line_end(chunk.text, start)
        if any(not start <= tag.span.start <= tag.span.end <= end for tag in on_line):
            continue
        edges = [start, *(place for tag in on_line for place in tag.span), end]
        if any(chunk.text[edges[i] : edges[i + 1]].strip() for i in range(0, len(edges), 2)):
            continue
        before = tags[indexes[0] - 1] if indexes[0] else None
        after = tags[indexes[-1] + 1] if indexes[-1] + 1 < len(tags) else None
        if before and before.trims_after and not chunk.text[before.span.end : start].strip():
            continue
        if after and after.trims_before and not chunk.text[end : after.span.start].strip():
            continue
        yield _TagLine(line, tuple(on_line))


def _prints(tag: Tag) -> bool:
    """Return whether a tag may print something: a value or an included file."""
    if tag.kind == "statement":
        return tag_tree(tag).statement.keyword == "include"
    return tag.kind in {"output", "raw"}


def _is_between(chunk: Chunk, line: _TagLine, shown: list[int]) -> bool:
    """Return whether the content prints text both before and after the line, so that it is not stripped."""
    if not shown or shown[0] > line.line:
        return False
    until = line.line
    for pair in chunk_blocks(chunk).pairs:
        closing = chunk.tags[pair.closing]
        if any(chunk.tags[middle] in line.tags for middle in pair.middles):
            until = max(until, _line_of(chunk, closing.span.start))
        if pair.keyword == "for" and closing in line.tags and not pair.middles:
            opening = chunk.tags[pair.opening]
            rest = chunk.text[opening.span.end : line_end(chunk.text, opening.span.end)]
            body = (_line_of(chunk, opening.span.start), line.line)
            if not rest.strip() and not opening.trims_after and any(body[0] < at < body[1] for at in shown):
                return True
    return shown[-1] > until


def _printed_lines(chunk: Chunk, content: Content, tags: Sequence[Tag]) -> list[int]:
    """Return the lines of a content on which something is printed, in order."""
    start = content.value.span.start
    begin = line_end(chunk.text, start)
    shown = {_line_of(chunk, tag.span.start) for tag in tags if _prints(tag)}
    position = begin
    for tag in chunk.tags:
        if begin <= tag.span.start < content.value.span.end:
            shown |= _nonblank_lines(chunk, position, tag.span.start)
            position = max(tag.span.end, position)
    shown |= _nonblank_lines(chunk, position, content.value.span.end)
    return sorted(shown)


def _nonblank_lines(chunk: Chunk, start: int, end: int) -> set[int]:
    """Return the non-blank lines between two offsets."""
    if not chunk.text[start:end].strip():
        return set()
    found = set()
    line = _line_of(chunk, start)
    while line < len(chunk.line_starts) and chunk.line_starts[line] < end:
        following = chunk.line_starts[line + 1] if line + 1 < len(chunk.line_starts) else len(chunk.text)
        if chunk.text[max(start, chunk.line_starts[line]) : min(end, following)].strip():
            found.add(line)
        line += 1
    return found


def _fix(chunk: Chunk, lines: tuple[_TagLine, ...], tags: tuple[Tag, ...]) -> Iterator[Fix]:
    """Return the fix that trims the line break before each tag, if no intended blank line would be lost."""
    if any(tag.trims_before or tag.trims_after for tag in tags):
        return
    edits = []
    for line, on_line in lines:
        above = chunk.text[chunk.line_starts[line - 1] : chunk.line_starts[line]]
        if above.strip():
            place = on_line[0].span.start + 2
            edits.append(Edit(Span(place, place), "-"))
    if edits:
        yield Fix("Trim the lines of these tags" if len(edits) > 1 else "Trim the tag's line", tuple(edits))


RULE = Rule(check, severity="hint", kinds=PARTS_KINDS)
