"""Duplicate key in a part, header, prompt object or evaluation prompt.

## What it does

Reports a key that an earlier line of the same mapping already has, at any depth, and a name that occurs
twice in the list of `input_keys`. Keys in branches that exclude each other are fine.

## Why is this bad?

YAML silently uses the last value: the text of the first never reaches the model.

## Example

```yaml
- name: rules
  content: Be brief.
  content: Be kind.
  ^^^^^^^ duplicate-key: `content` appears twice in this part; YAML drops the first one
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
from typing import Final, NamedTuple

from promptls.lint.analysis.duplicate_part_keys import duplicate_keys_of_parts
from promptls.lint.analysis.example_names import meant_by_repeated_input
from promptls.lint.fixes.yaml_edits import removed_item
from promptls.lint.rule import PARTS_KINDS, YAML_KINDS, Edit, File, Finding, Fix, Rule
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_branches
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import placed_items
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence, key_text, scalar_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span

_MIN_KEYS: Final = 2
"""The minimum number of keys of an item whose repetition is another item."""


class _Duplicate(NamedTuple):
    """A key that occurs twice in one mapping: the first occurrence, and the second.

    `begins_item` is True if the keys of an item of a list are there twice in the same order.
    """

    key: str
    first: Span
    again: Span
    begins_item: bool = False

    def shifted(self, by: int) -> _Duplicate:
        """Return the same, moved by `by` characters."""
        return self._replace(first=self.first.shifted(by), again=self.again.shifted(by))


def check(file: File) -> Iterator[Finding]:
    """Yield the keys that occur twice in a part, or in a mapping of the file's declarations."""
    if file.kind in PARTS_KINDS:
        yield from duplicate_keys_of_parts(file)
    tree = file.template.declarations.tree
    if tree is None:
        return
    source = file.template.source
    twice = _in(tree) if file.template.header is not None else _duplicates(source, tree)
    branches = None
    if twice and file.kind in {Kind.OBJECT, Kind.EVALUATION}:
        branches = chunk_branches(source.whole)
    for key, first, again, begins_item in twice:
        if branches is not None and branches.exclude(first.start, again.start):
            continue
        indent = Span(max(again.start - 2, 0), again.start)
        if begins_item and source.slice(indent) == "  ":
            fix = Fix("Insert a dash", (Edit(indent, "- "),), preferred=True)
            yield Finding(again, "a second item begins here: its dash is missing", (fix,))
        else:
            yield Finding(again, f"`{key}` appears twice; YAML drops the first one")
    names = tree.value("input_keys")
    if isinstance(names, Sequence):
        yield from _in_list(file, names)


def _duplicates(source: Source, tree: Mapping) -> list[_Duplicate]:
    """Return the keys that occur twice in a mapping of the file's declarations."""
    if source.layout is not Layout.MAPPING or source.yaml.is_broken:
        return _in(tree)
    found = _in_entries(tree)
    return found + list(_below_entries(source.root))


@chunk_fact
def _in_chunk(chunk: Chunk) -> tuple[_Duplicate, ...]:
    """Return the keys that occur twice in a mapping nested in the entries or items of the chunk."""
    roots = chunk_yaml(chunk).roots
    if not roots:
        return ()
    values = _values(roots[0]) if isinstance(roots[0], Mapping) else [roots[0]]
    return tuple([each for value in values for each in _in(value)])


_below_entries: Final = placed_items(_in_chunk, _Duplicate.shifted)


def _values(node: Node) -> list[Node]:
    if isinstance(node, Sequence):
        return list(node.items)
    return [entry.value for entry in node.entries] if isinstance(node, Mapping) else []


def _in(node: Node) -> list[_Duplicate]:
    found = _in_entries(node) if isinstance(node, Mapping) else []
    for value in _values(node):
        inner = _in(value)
        own = _two_items(value) if inner and isinstance(node, Sequence) else None
        found += inner if own is None else [own]
    return found


def _two_items(node: Node) -> _Duplicate | None:
    """Return where the second of two items begins that are one mapping, for lack of a dash."""
    entries = node.entries if isinstance(node, Mapping) else ()
    keys, half = [key_text(entry) for entry in entries], len(entries) // 2
    if half < _MIN_KEYS or keys[:half] != keys[half:] or len({*keys}) != half or None in keys:
        return None
    return _Duplicate(keys[0] or "", entries[0].key.span, entries[half].key.span, begins_item=True)


def _in_entries(node: Mapping) -> list[_Duplicate]:
    found: list[_Duplicate] = []
    seen: dict[str, Span] = {}
    for entry in node.entries:
        key = key_text(entry)
        if key is not None and key != "<<":
            first = seen.setdefault(key, entry.key.span)
            if first != entry.key.span:
                found.append(_Duplicate(key, first, entry.key.span))
    return found


def _in_list(file: File, names: Sequence) -> Iterator[Finding]:
    seen: set[str] = set()
    for item in names.items:
        name = scalar_text(item)
        if name is not None and name in seen:
            message = f"`{name}` appears twice in `input_keys`"
            meant = meant_by_repeated_input(file)
            if meant is not None:
                yield Finding.suggest(item.span, message, meant)
                continue
            removed = removed_item(file.template.source.text, names, item)
            fixes = (Fix(f"Remove the second `{name}`", (removed,), preferred=True),) if removed else ()
            yield Finding(item.span, message, fixes)
        elif name is not None:
            seen.add(name)


RULE = Rule(check, severity="warning", kinds=YAML_KINDS)
