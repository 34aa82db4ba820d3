"""Two parts with one name.

## What it does

Reports a part whose written-out name an earlier part has already. Parts in branches that exclude
each other are no duplicates.

## Why is this bad?

Prompt Poet keeps token counts by name, so the later part takes the place of the earlier one there;
and people cannot tell the two apart.

## Example

```yaml
- name: rules
  content: Be brief.
- name: rules
        ^^^^^ duplicate-part-name: an earlier part is named `rules` already
  content: Be kind.
```

Use instead:

```yaml
- name: length
  content: Be brief.
- name: tone
  content: Be kind.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.parts import part_names
from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, RelatedPlace, Rule
from promptls.text.span import Span


def check(context: FileContext) -> Iterator[Finding]:
    """The names that an earlier part of the same rendering has."""
    source = context.template.source
    seen: dict[str, list[Span]] = {}
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        for name, place in part_names(chunk):
            span = place.shifted(start)
            earlier = [
                other
                for other in seen.get(name, ())
                if not context.template.branches.exclude(other.start, span.start)
            ]
            if earlier:
                related = RelatedPlace(context.path, earlier[0], f"`{name}` stands here first")
                yield Finding(span, f"an earlier part is named `{name}` already", related=(related,))
            seen.setdefault(name, []).append(span)


RULE = Rule(
    name="duplicate-part-name",
    summary="two parts with one name",
    severity="information",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
