"""Keys, parts and sections that occur twice.

# duplicate-key

Duplicate key in a part, header, prompt object or evaluation prompt.

Reports a key that an earlier line of the same mapping already has, at any depth, and a name that occurs
twice in the list of `input_keys`. Keys in branches that exclude each other are fine.
Also reports keys that a loop repeats in one part, because it begins after the dash of the part; and keys after
the end of an `if` or a loop that contains the dash of their part: without it, they belong to the part above.

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

# duplicate-part-name

Two parts, or two sections of a part, with the same name.

Reports a part whose literal name an earlier part already has, and a section with the name of an earlier one of
the same part, a name that a loop gives one of its parts by `loop.index`, and the second include of a file with parts. Parts in branches that exclude each other
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
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from promptls.lint.fixes.yaml_edits import removed_item, without_entry
from promptls.lint.rule import (
    PARTS_KINDS,
    YAML_KINDS,
    Edit,
    File,
    Finding,
    Fix,
    RelatedInformation,
    each_chunk,
    rule,
)
from promptls.lint.rules.header.example_entries import meant_by_repeated_input
from promptls.semantic.branches import OpenBlock, chunk_branches
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_items, part_names
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import chunks_with, occurring, placed_items, summary, union
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.jinja.file_blocks import block_at
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

    `begins_item` is True if the keys of an item of a list occur twice in the same order.
    """

    key: str
    first: Span
    again: Span
    begins_item: bool = False

    def shifted(self, by: int) -> _Duplicate:
        """Return the same, moved by `by` characters."""
        return self._replace(first=self.first.shifted(by), again=self.again.shifted(by))


@rule(severity="warning", kinds=YAML_KINDS)
def duplicate_key(file: File) -> Iterator[Finding]:
    """Yield the keys that occur twice in a part, or in a mapping of the file's declarations."""
    if file.kind in PARTS_KINDS:
        yield from duplicate_keys_of_parts(file)
        yield from _across_blocks(file)
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


def _divided(chunk: Chunk) -> bool:
    """Return whether a tag of a block is between the keys of a part of the chunk."""
    starts = [tag.span.start for tag in block_tags(chunk)]
    bounds = [
        [part.entries[place].key.span.start for place in (0, -1)]
        for part in chunk_items(chunk).parts
        if part.entries
    ]
    return any(bisect_left(starts, first) < bisect_left(starts, last) for first, last in bounds)


_is_divided: Final = summary(_divided, any)


def _across_blocks(file: File) -> Iterator[Finding]:
    """Yield the first key of each part that a loop repeats, or that is in the part above without a block."""
    if not _is_divided(file.chunks):
        return
    branches = file.template.branches
    for above, placed in pairwise((None, *file.template.parts)):
        assert placed is not None
        chunk = file.template.source.located(placed.start).chunk
        if not placed.part.entries or not placed.part.is_whole or not _is_divided(chunk):
            continue
        start = placed.part.entries[0].key.span.start + placed.start
        around = branches.at(start)
        taken = {key_text(entry): entry for entry in above.part.entries} if above is not None else {}
        for entry in placed.part.entries[1:]:
            span, key = entry.key.span.shifted(placed.start), key_text(entry)
            blocks = branches.at(span.start)
            if key is not None and blocks[:-1] == around and blocks and blocks[-1].keyword == "for":
                message = (
                    f"this loop repeats `{key}` in one part, which gets the last value: begin the loop "
                    "in front of the part's dash"
                )
                yield Finding(span, message)
                break
            same = taken.get(key)
            if same is None or above is None or len(around) <= len(blocks) or around[: len(blocks)] != blocks:
                continue
            block = around[len(blocks)]
            is_together = branches.come_together(same.key.span.start + above.start, span.start)
            if is_together and block.keyword in {"for", "if"} and _has_one_branch(file, block):
                message = (
                    f"the dash of this part is inside of the `{block.keyword}` that ends before this line: "
                    f"without it, this `{key}` replaces that of the part above"
                )
                yield Finding(span, message)
                break


_TAGS_OF_ONE_BRANCH: Final = 2
"""The tags of a block without `elif` and `else`: the first and the last one."""


def _has_one_branch(file: File, block: OpenBlock) -> bool:
    found = block_at(file.template.source, block.opening)
    return found is not None and len(found.tags) == _TAGS_OF_ONE_BRANCH


def _duplicates(source: Source, tree: Mapping) -> list[_Duplicate]:
    """Return the keys that occur twice in a mapping of the file's declarations."""
    if source.layout is not Layout.MAPPING or source.yaml.is_broken:
        return _in(tree)
    return _in_entries(tree) + list(_below_entries(source.root))


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


_MAX_EARLIER: Final = 50
"""The maximum number of parts with the same name that a part is compared with."""


@rule(severity="information", kinds=PARTS_KINDS)
def duplicate_part_name(file: File) -> Iterator[Finding]:
    """Yield the names that an earlier part, or section of the part, of the same rendering has."""
    yield from _sections(file)
    yield from _numbered_as_in_loops(file)
    yield from _included_twice(file)
    root = file.template.source.root
    names = _names(root)
    if not names.repeated:
        return
    seen: dict[str, list[tuple[Span, tuple[OpenBlock, ...]]]] = {}
    for located in root.where(lambda piece: not names.repeated.isdisjoint(_names(piece).all)):
        for name, place in _written_names(located.chunk):
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


def _included_twice(file: File) -> Iterator[Finding]:
    """Yield the second include of a file whose parts have names that no loop or input changes."""
    seen: dict[str, tuple[Span, tuple[OpenBlock, ...]]] = {}
    for reference in file.template.references:
        path = file.snapshot.resolve(file.path, reference) if reference.keyword == "include" else None
        blocks = file.template.branches.at(reference.span.start)
        if path is None or reference.is_choice or any(block.keyword == "for" for block in blocks):
            continue
        first, around = seen.setdefault(path, (reference.span, blocks))
        included = file.snapshot.template(path)
        if first == reference.span or included is None or not _may_meet(around, blocks):
            continue
        name = min((name for name in _names(included.source.root).all if "{" not in name), default=None)
        if name is not None:
            related = RelatedInformation(file.path, first, "it is included here first")
            message = f"this includes the part `{name}` for the second time"
            yield Finding(reference.span, message, related=(related,), severity="hint")


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


_COUNTED: Final = re.compile(r"""["']?([^{}"']*)\{\{[-+]?\s*loop\.index0?\s*[-+]?\}\}([^{}"']*)["']?""")
"""A name with the number of an iteration."""
_NUMBERED: Final = re.compile(r"(.*?)\d+(\D*)")


@chunk_fact
def _counted_names(chunk: Chunk) -> dict[tuple[str, str], Span]:
    """Return the names with the number of an iteration: what is around it, and where each is first."""
    spans = [value.span for part in chunk_items(chunk).parts if (value := part.value("name")) is not None]
    found = ((_COUNTED.fullmatch(chunk.text, *span), span) for span in reversed(spans))
    return {(match[1], match[2]): span for match, span in found if match is not None}


@chunk_fact
def _written_names(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the literal names of parts, and those with the number of an iteration, each with its span."""
    counted = [
        (f"{before}{{{{ loop.index }}}}{after}", span)
        for (before, after), span in _counted_names(chunk).items()
    ]
    return (*part_names(chunk), *counted)


_names: Final = occurring(lambda chunk: [name for name, _ in _written_names(chunk)])


@chunk_fact
def _numbered_names(chunk: Chunk) -> dict[tuple[str, str], list[Span]]:
    """Return the places of literal names with a number, by what is around it."""
    found: dict[tuple[str, str], list[Span]] = {}
    for name, span in part_names(chunk):
        if (match := _NUMBERED.fullmatch(name)) is not None:
            found.setdefault((match[1], match[2]), []).append(span)
    return found


_counted: Final = summary(lambda chunk: frozenset(_counted_names(chunk)), union)
_numbered: Final = summary(lambda chunk: frozenset(_numbered_names(chunk)), union)


def _numbered_as_in_loops(file: File) -> Iterator[Finding]:
    """Yield the parts with a number in their names that a part of a loop gets, too."""
    both = _counted(file.chunks) & _numbered(file.chunks)
    of_loops = {
        around: span.shifted(located.start)
        for located in chunks_with(file.chunks, _counted, both)
        for around, span in _counted_names(located.chunk).items()
    }
    for located in chunks_with(file.chunks, _numbered, both):
        for around, places in _numbered_names(located.chunk).items():
            loop = of_loops.get(around)
            for span in (place.shifted(located.start) for place in places if loop is not None):
                branches = file.template.branches
                if loop is not None and _may_meet(branches.at(loop.start), branches.at(span.start)):
                    related = RelatedInformation(file.path, loop, "the part of the loop is named here")
                    name = file.template.source.slice(span)
                    yield Finding(span, f"a loop names one of its parts `{name}`", related=(related,))


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
