"""Two parts, or two sections of a part, with the same name.

## What it does

Reports a part whose literal name an earlier part already has, and a section with the name of an earlier one of
the same part. Parts in branches that exclude each other
are not duplicates, and neither are parts in two `if` blocks, whose conditions may exclude each other.

## Why is this bad?

Prompt Poet stores token counts by name, so the later part replaces the earlier one there; and readers
cannot tell the two apart.

## Example

```yaml
- name: rules
  content: Be brief.
- name: rules
        ^^^^^ duplicate-part-name: an earlier part is already named `rules`
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

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, RelatedInformation, Rule, each_chunk
from promptls.semantic.parts import OpenBlock, chunk_branches, chunk_items, part_names
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary
from promptls.syntax.yaml.nodes import scalar_text
from promptls.text.positions import Span


class _Names(NamedTuple):
    """The names of a piece's parts, and those that more than one part has."""

    all: frozenset[str]
    repeated: frozenset[str]


def _of_chunk(chunk: Chunk) -> _Names:
    return _join([_Names(frozenset((name,)), frozenset()) for name, _ in part_names(chunk)])


def _join(names: list[_Names]) -> _Names:
    seen: set[str] = set()
    repeated: set[str] = set()
    for each in names:
        repeated |= each.repeated | (each.all & seen)
        seen |= each.all
    return _Names(frozenset(seen), frozenset(repeated))


_MAX_EARLIER: Final = 50
"""The maximum number of parts with the same name that a part is compared with."""
_names: Final = summary(_of_chunk, _join)


def check(file: File) -> Iterator[Finding]:
    """Yield the names that an earlier part, or section of the part, of the same rendering has."""
    yield from _sections(file)
    root = file.template.source.root
    names = _names(root)
    if not names.repeated:
        return
    seen: dict[str, list[tuple[Span, tuple[OpenBlock, ...]]]] = {}
    for located in root.where(lambda piece: not names.repeated.isdisjoint(_names(piece).all)):
        for name, place in part_names(located.chunk):
            if name not in names.repeated:
                continue
            span = place.shifted(located.start)
            blocks = file.template.branches.at(span.start)
            before = seen.setdefault(name, [])
            earlier = next((other for other, around in before if _may_meet(around, blocks)), None)
            if earlier is not None:
                related = RelatedInformation(file.path, earlier, f"`{name}` is used here first")
                fix = Fix("Give it a name of its own", (Edit(span, _fresh(name, names.all)),))
                yield Finding(span, f"an earlier part is already named `{name}`", (fix,), (related,))
            if len(before) < _MAX_EARLIER:
                before.append((span, blocks))


@each_chunk
def _sections(chunk: Chunk) -> Iterator[Finding]:
    branches = chunk_branches(chunk)
    for part in chunk_items(chunk).parts:
        seen: dict[str, Span] = {}
        for section in part.sections:
            value = section.value("name")
            name = scalar_text(value)
            if value is None or not name:
                continue
            earlier = seen.setdefault(name, value.span)
            if earlier != value.span and branches.come_together(earlier.start, value.span.start):
                yield Finding(value.span, f"an earlier section of this part is already named `{name}`")


def _may_meet(first: tuple[OpenBlock, ...], second: tuple[OpenBlock, ...]) -> bool:
    """Return whether a rendering can certainly include both places.

    The conditions of two adjacent `if` blocks may exclude each other, so this is false for them.
    """
    shared = set(first) & set(second)
    return not all(
        any(block.keyword == "if" and block not in shared for block in blocks) for blocks in (first, second)
    )


def _fresh(name: str, taken: frozenset[str]) -> str:
    """Return the name with the first number that makes it unique, quoted if YAML needs it."""
    number = 2
    while f"{name} {number}" in taken:
        number += 1
    fresh = f"{name} {number}"
    return fresh if _PLAIN.fullmatch(fresh) else "'" + fresh.replace("'", "''") + "'"


_PLAIN: Final = re.compile(r"[A-Za-z_][\w .()/-]*")

RULE = Rule(check, severity="information", kinds=PARTS_KINDS)
