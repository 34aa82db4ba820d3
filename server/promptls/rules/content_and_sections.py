"""A part with both `content` and `sections`.

## What it does

Reports parts that have `content` and `sections` at once. Keys in branches that exclude each other
are fine.

## Why is this bad?

Prompt Poet refuses the part: it "cannot have both 'content' and 'sections'".

## Example

```yaml
- name: rules
  content: Be brief.
  sections:
  ^^^^^^^^ content-and-sections: this part has `content` already
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

from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, Rule


def check(context: FileContext) -> Iterator[Finding]:
    """The later one of the two keys, for each part that has both."""
    for start, part in context.template.parts:
        content, sections = part.entry("content"), part.entry("sections")
        if content is None or sections is None:
            continue
        first, second = sorted((content.key.span, sections.key.span))
        if context.template.branches.exclude(start + first.start, start + second.start):
            continue
        other = "content" if second == sections.key.span else "sections"
        yield Finding(second.shifted(start), f"this part has `{other}` already")


RULE = Rule(
    name="content-and-sections",
    summary="a part with both `content` and `sections`",
    severity="error",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
