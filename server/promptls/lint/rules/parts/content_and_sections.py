"""Part with both `content` and `sections`.

## What it does

Reports parts that have both `content` and `sections`. Keys in different branches, or in the blocks of
two `if`, may exclude each other and are not reported.

## Why is this bad?

Prompt Poet refuses the part: it "cannot have both 'content' and 'sections'".

## Example

```yaml
- name: rules
  content: Be brief.
  sections:
  ^^^^^^^^ content-and-sections: this part already has `content`
    - name: tone
      content: Be kind.
```

Use instead:

```yaml
- name: rules
  sections:
    - name: length
      content: Be brief.
    - name: tone
      content: Be kind.
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from promptls.lint.fixes.yaml_edits import without_entry
from promptls.lint.rule import PARTS_KINDS, Finding, Fix, Rule, each_chunk
from promptls.semantic.parts import Part, chunk_branches, chunk_items
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, key_text


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the second of the keys `content` and `sections`, for each part of the chunk that has both."""
    for part in chunk_items(chunk).parts:
        both = _both(chunk, part)
        if both is None:
            continue
        content, sections = both
        second = max(content.key.span, sections.key.span)
        other = "content" if second == sections.key.span else "sections"
        fixes = tuple(
            Fix(f"Remove `{key}`", (edit,))
            for key, entry in (("content", content), ("sections", sections))
            if (edit := without_entry(chunk, part.span, part.entries, entry))
        )
        yield Finding(second, f"this part already has `{other}`", fixes)


def _both(chunk: Chunk, part: Part) -> tuple[Entry, Entry] | None:
    """Return the first pair of `content` and `sections` of a part that are not in exclusive branches."""
    branches = chunk_branches(chunk)
    contents, lists = (
        [entry for entry in part.entries if key_text(entry) == key] for key in ("content", "sections")
    )
    for content, sections in product(contents, lists):
        first, second = sorted((content.key.span, sections.key.span))
        if branches.come_together(first.start, second.start):
            return content, sections
    return None


RULE = Rule(check, severity="error", kinds=PARTS_KINDS)
