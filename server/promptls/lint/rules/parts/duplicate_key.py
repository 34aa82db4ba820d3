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

from promptls.lint.fixes.yaml_edits import removed_item, without_entry
from promptls.lint.rule import PARTS_KINDS, YAML_KINDS, Edit, File, Finding, Fix, Rule, each_chunk
from promptls.lint.rules.header.example_entries import meant_by_repeated_input
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_branches, chunk_items
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import placed_items
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Sequence, key_text, scalar_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_column


@each_chunk
def duplicate_keys_of_parts(chunk: Chunk) -> Iterator[Finding]:
    """Yield the repeated keys of the chunk's parts and sections."""
    for part in chunk_items(chunk).parts:
        yield from _in_item(chunk, part.span, part.entries, "part")
        for section in part.sections:
            yield from _in_item(chunk, section.span, section.entries, "section")


def _in_item(chunk: Chunk, span: Span, entries: tuple[Entry, ...], owner: str) -> Iterator[Finding]:
    second = _second_item(chunk, entries)
    if second is None:
        yield from _in_mapping(chunk, span, entries, owner)
        return
    if key_text(second) != "name":
        message = f"a second {owner} begins here: the line with its dash and its `name` is missing"
        yield Finding(second.key.span, message)
        return
    indent = Span(second.key.span.start - 2, second.key.span.start)
    fix = Fix("Insert a dash", (Edit(indent, "- "),), preferred=True)
    yield Finding(second.key.span, f"a second {owner} begins here: its dash is missing", (fix,))


def _second_item(chunk: Chunk, entries: tuple[Entry, ...]) -> Entry | None:
    """Return the entry that begins another item without a dash, which repeats it and the `content`."""
    keys = [key_text(entry) for entry in entries]
    number = next((index for index in range(1, len(keys)) if keys[index] in keys[:index]), None)
    if number is None or "content" not in keys[1:number] or "content" not in keys[number:]:
        return None
    if keys[number] == "content" or (keys[number] == "name" and keys[0] != "name"):
        return None
    second = entries[number]
    places = range(entries[0].key.span.start, second.key.span.start)
    if keys[number] != "name" and any(each.span.start in places for each in chunk_yaml(chunk).problems):
        return None  # the error may be in the line of the dash
    line = chunk.line_starts[line_column(chunk.line_starts, second.key.span.start).line]
    before = chunk.text[line : second.key.span.start]
    is_at_edge = len(before) > 1 and not before.strip(" ")
    around = chunk_branches(chunk)
    is_together = around.come_together(entries[0].key.span.start, second.key.span.start)
    return second if is_at_edge and is_together else None


def _in_mapping(chunk: Chunk, span: Span, entries: tuple[Entry, ...], owner: str) -> Iterator[Finding]:
    branches = chunk_branches(chunk)
    earlier: dict[str, Entry] = {}
    for entry in entries:
        key = key_text(entry)
        if key is None or key == "<<":
            continue
        first = earlier.get(key)
        earlier[key] = entry
        around = branches.at(entry.key.span.start)
        if first is None or branches.at(first.key.span.start)[: len(around)] != around:
            continue
        if any(
            first.key.span.start < each.span.start < entry.key.span.start
            for each in chunk_yaml(chunk).problems
        ):
            continue  # the error between them may begin another part
        # A second name may begin another part, whose dash is missing.
        edit = without_entry(chunk, span, entries, first) if key != "name" else None
        fixes = (Fix("Remove the first one", (edit,)),) if edit else ()
        message = f"`{key}` appears twice in this {owner}; YAML drops the first one"
        yield Finding(entry.key.span, message, fixes)


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
