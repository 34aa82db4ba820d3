"""Duplicate key in a header, prompt object or evaluation prompt.

## What it does

Reports a key that an earlier line of the same mapping has already, at any depth, and a name that stands
twice in the list of `input_keys`. Keys in branches that exclude each other are fine. What parts hold is
for `duplicate-part-key`.

## Why is this bad?

YAML keeps the last one and says nothing: what the first one says is lost.

## Example

```yaml
instruction: Answer the question.
instruction: Answer in one word.
^^^^^^^^^^^ duplicate-key: `instruction` stands twice; YAML drops the first one
input_keys: [question]
output_key: answer
```

Use instead:

```yaml
instruction: Answer the question in one word.
input_keys: [question]
output_key: answer
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from promptls.lint.fixes.mappings import removed_item
from promptls.lint.rule import YAML_KINDS, File, Finding, Fix, Rule
from promptls.semantic.branches import chunk_branches
from promptls.semantic.kind import Kind
from promptls.syntax.yaml.nodes import (
    Collection,
    Mapping,
    Node,
    Scalar,
    Sequence,
    kept_with_node,
    key_text,
    scalar_text,
)
from promptls.text.positions import Span


class _Twice(NamedTuple):
    """A key that stands twice in one mapping: where it stands first, and where again."""

    key: str
    first: Span
    again: Span

    def shifted(self, by: int) -> _Twice:
        """Return the same, that many characters further on."""
        return _Twice(self.key, self.first.shifted(by), self.again.shifted(by))


def check(file: File) -> Iterator[Finding]:
    """Yield the keys that stand twice in what the file declares."""
    tree = file.template.declarations.tree
    if tree is None:
        return
    twice = _placed(tree)
    branches = None
    if twice and file.kind in {Kind.OBJECT, Kind.EVALUATION}:
        branches = chunk_branches(file.template.source.first_chunk)
    for key, first, again in twice:
        if branches is None or not branches.exclude(first.start, again.start):
            yield Finding(again, f"`{key}` stands twice; YAML drops the first one")
    names = tree.value("input_keys")
    if isinstance(names, Sequence):
        yield from _in_list(file, names)


def _placed(node: Node) -> tuple[_Twice, ...]:
    """Return the keys that stand twice anywhere in a node, where they stand now."""
    if isinstance(node, Scalar):
        return ()
    found = _in(node)
    by = node.span.start - node.core.span.start
    return tuple([each.shifted(by) for each in found]) if found and by else found


@kept_with_node
def _in(node: Collection) -> tuple[_Twice, ...]:
    found: list[_Twice] = []
    if isinstance(node, Mapping):
        seen: dict[str, Span] = {}
        for entry in node.entries:
            key = key_text(entry)
            if key is not None and key != "<<":
                first = seen.setdefault(key, entry.key.span)
                if first != entry.key.span:
                    found.append(_Twice(key, first, entry.key.span))
            found += _placed(entry.value)
    else:
        for item in node.items:
            if not isinstance(item, Scalar) and _in(item):
                found += _placed(item)
    return tuple(found)


def _in_list(file: File, names: Sequence) -> Iterator[Finding]:
    seen: set[str] = set()
    for item in names.items:
        name = scalar_text(item)
        if name is not None and name in seen:
            removed = removed_item(file.template.source.text, names, item)
            fixes = (Fix(f"Remove the second `{name}`", (removed,), preferred=True),) if removed else ()
            yield Finding(item.span, f"`{name}` stands twice in `input_keys`", fixes)
        elif name is not None:
            seen.add(name)


RULE = Rule(check, severity="warning", kinds=YAML_KINDS)
