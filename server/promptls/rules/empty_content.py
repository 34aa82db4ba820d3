"""A part whose content is empty.

## What it does

Reports `content` that is written out as nothing, and `sections` without any section.

## Why is this bad?

An empty `content:` is null for YAML: Prompt Poet then fails when it joins or counts the prompt. Empty
sections are refused when the prompt is loaded.

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

from collections.abc import Iterator

from promptls.meaning.parts import Part, chunk_items
from promptls.rules.removed_tag import whole_lines
from promptls.rules.rule import PARTS_KINDS, Edit, Finding, Fix, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Scalar, Sequence, key_text
from promptls.text.span import Span


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The keys whose value is nothing, in parts of the chunk."""
    parts = chunk_items(chunk).parts
    for index, part in enumerate(parts):
        ends = [entry.key.span.start for entry in part.entries[1:]]
        ends.append(parts[index + 1].span.start if index + 1 < len(parts) else len(chunk.text))
        for entry, end in zip(part.entries, ends, strict=False):
            if any(entry.key.span.end <= tag.span.start < end for tag in chunk.tags if tag.kind != "comment"):
                continue
            if key_text(entry) == "content" and _is_nothing(entry):
                yield Finding(entry.key.span, "this part has no content", tuple(_removal(chunk, part)))
            elif key_text(entry) == "sections" and _has_no_items(entry) and part.entry("content") is None:
                yield Finding(entry.key.span, "this part has no sections", severity="error")


def _removal(chunk: Chunk, part: Part) -> Iterator[Fix]:
    """The part without its lines, where no tag would go with them."""
    lines = whole_lines(chunk, Span(max(part.span.start - 2, 0), part.span.end))
    is_item = chunk.text[lines.start : lines.start + 1] == "-"
    if is_item and not any(lines.start <= tag.span.start < lines.end for tag in chunk.tags):
        yield Fix("Remove this part", (Edit(lines, ""),))


def _is_nothing(entry: Entry) -> bool:
    value = entry.value
    if not isinstance(value, Scalar) or value.dynamic:
        return False
    return value.tag == "null" or not value.text.strip()


def _has_no_items(entry: Entry) -> bool:
    value = entry.value
    if isinstance(value, Scalar):
        return value.tag == "null" and not value.dynamic
    return not (value.items if isinstance(value, Sequence) else value.entries)


RULE = Rule(
    name="empty-content",
    summary="a part whose content is empty",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check_chunk=check_chunk,
    reads_prose=False,
)
