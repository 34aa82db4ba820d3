"""Keys that occur twice in a part or section, also for lack of a dash between two parts."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.fixes.yaml_edits import without_entry
from promptls.lint.rule import Edit, Finding, Fix, each_chunk
from promptls.semantic.parts import chunk_branches, chunk_items
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, key_text
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
