"""Part without a required key.

## What it does

Reports parts that have no `name`, or neither `content` nor `sections`, in any branch, and `sections`
without `name` or `content`. If two adjacent parts have all of these keys together, the dash between them
is reported. A part whose keys come from a loop, an include or a printed expression is
not checked. For a list of chat messages, each of which has only a `role` and a `content`, there is a
single hint. Another hint is a part without `role` that is named after a role other than `user`, if other parts
of the file have one.

## Why is this bad?

Prompt Poet cannot build the part: loading fails with "missing 1 required positional
argument".

## Example

```yaml
- role: system
  ^^^^ missing-part-key: this part has no `name`
  content: You are helpful.
```

Use instead:

```yaml
- name: instructions
  role: system
  content: You are helpful.
```
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.lint.fixes.yaml_edits import BLANK, is_flow, key_behind
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, each_chunk
from promptls.lint.rules.parts.unknown_part_key import meant_key
from promptls.semantic.parts import Part, chunk_branches, chunk_items
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.projection import stands_alone
from promptls.syntax.yaml.nodes import Mapping, Scalar, Sequence, key_text
from promptls.text.positions import Span
from promptls.workspace.disk import has_prompt_name

_TEXTS: Final = frozenset({"content", "sections"})
_NAMED_ROLE: Final = re.compile(r"(system|assistant)(?![^\W_])")
"""The name of a part that begins with a role other than the default one."""


def check(file: File) -> Iterator[Finding]:
    """Yield the missing required keys of parts; one hint for chat messages that all lack a name.

    A single one may be a part, in a file with the name of a prompt.
    """
    form = _form(file.chunks)
    if form.are_messages and form.parts > int(has_prompt_name(file.path)):
        yield from _messages(file)
    else:
        found = [*_in_chunk(file)]
        cut = [*_cut_parts(file)] if len(found) > 1 else []
        for _, _, dash in cut:
            fix = Fix("Remove the dash", (Edit(dash, " "),), preferred=True)
            yield Finding(dash, "this dash cuts the part above in two", (fix,))
        places = {start for above, below, _ in cut for start in (above, below)}
        yield from (finding for finding in found if finding.span.start not in places)
        if _has_roles(file.chunks):
            yield from _roleless(file)


_has_roles: Final = summary(
    lambda chunk: any(part.entry("role") is not None for part in chunk_items(chunk).parts), any
)


@each_chunk
def _roleless(chunk: Chunk) -> Iterator[Finding]:
    """Yield the parts that are named after another role than the `user` that they get."""
    for part in chunk_items(chunk).parts:
        name = part.value("name")
        if not isinstance(name, Scalar) or part.entry("content") is None or _may_have_role(chunk, part):
            continue
        named = _NAMED_ROLE.match(name.text)
        if named is not None:
            message = f"this part has no `role`, and gets `user`; its name begins with `{named[1]}`"
            written = f"role: {named[1]}"
            fixes = [
                replace(fix, title=f"Add `{written}`")
                for fix in key_behind(chunk, part.span, part.entries, written)
            ]
            yield Finding(name.span, message, tuple(fixes), severity="hint")


def _may_have_role(chunk: Chunk, part: Part) -> bool:
    is_open = part.has_dynamic_keys or part.entry("<<") is not None or _may_be_completed(chunk, part)
    return is_open or part.entry("role") is not None or _has_typo(part, {"role"})


def _cut_parts(file: File) -> Iterator[tuple[int, int, Span]]:
    """Yield the places of two adjacent parts that are one with a dash too many, and that dash.

    The first lacks `content`, the second one `name`, and they have no key in common.
    """
    source = file.template.source
    for first, second in pairwise(file.template.parts):
        keys, others = ({key_text(entry) for entry in each.part.entries} for each in (first, second))
        dash = source.slice(Span(first.span.end, second.span.start))
        if (
            "name" in keys
            and "content" in others
            and keys.isdisjoint({*others, *_TEXTS})
            and re.fullmatch(r"\s*- ", dash)
        ):
            place = second.span.start - len("- ")
            above, below = (_place(each.part).shifted(each.start).start for each in (first, second))
            yield above, below, Span(place, place + 1)


class _Form(NamedTuple):
    """The number of parts, and whether each has `role` and `content` and no other key."""

    parts: int
    are_messages: bool


def _form_of_chunk(chunk: Chunk) -> _Form:
    parts = chunk_items(chunk).parts
    keys = [sorted(key_text(entry) or "" for entry in part.entries) for part in parts]
    return _Form(len(parts), all(each == ["content", "role"] for each in keys))


_form: Final = summary(
    _form_of_chunk,
    lambda forms: _Form(sum(form.parts for form in forms), all(form.are_messages for form in forms)),
)


def _messages(file: File) -> Iterator[Finding]:
    """Yield one hint about a list of chat messages, with a fix that names them all."""
    edits = []
    for number, placed in enumerate(file.template.parts, start=1):
        located = file.template.source.located(placed.start)
        place = _place(placed.part)
        separator = (
            ", " if is_flow(located.chunk.text, placed.part.span) else f"\n{_indent(located.chunk, place)}"
        )
        start = placed.start + place.start
        edits.append(Edit(Span(start, start), f"name: message_{number}{separator}"))
    first = file.template.parts[0]
    fix = Fix("Add a name to each message", tuple(edits))
    message = "these are chat messages; for Prompt Poet, each needs a `name`"
    yield Finding(_place(first.part).shifted(first.start), message, (fix,), severity="hint")


@each_chunk
def _in_chunk(chunk: Chunk) -> Iterator[Finding]:
    for part in chunk_items(chunk).parts:
        if part.has_dynamic_keys or part.entry("<<") or _may_be_completed(chunk, part):
            continue
        place = _place(part)
        if part.entry("name") is None and not _has_typo(part, {"name"}):
            separator = ", " if is_flow(chunk.text, part.span) else f"\n{_indent(chunk, place)}"
            fix = Fix("Add a name", (Edit(Span(place.start, place.start), f"name: part{separator}"),))
            yield Finding(place, "this part has no `name`", (fix,))
        if part.entry("content") is None and part.entry("sections") is None and not _has_typo(part, _TEXTS):
            fixes = key_behind(chunk, part.span, part.entries, f"content: {BLANK}")
            yield Finding(place, "this part has neither `content` nor `sections`", fixes)
        yield from _in_one_branch(chunk, part)
        sections = part.value("sections")
        if isinstance(sections, Sequence):
            yield from _of_sections(chunk, sections)


def _in_one_branch(chunk: Chunk, part: Part) -> Iterator[Finding]:
    """Yield the required keys that a part has only if a condition is true."""
    ifs = {
        chunk.tags[pair.opening].span.start: pair
        for pair in chunk_blocks(chunk).pairs
        if pair.keyword == "if"
    }
    if not ifs:
        return
    branches = chunk_branches(chunk)
    for key in ("name", "content"):
        entries = [entry for entry in part.entries if key_text(entry) == key]
        if len(entries) != 1 or (key == "content" and part.entry("sections") is not None):
            continue
        around = branches.at(part.span.start)
        inside = branches.at(entries[0].key.span.start)
        if len(inside) != len(around) + 1 or inside[:-1] != around or inside[-1].keyword != "if":
            continue
        pair = ifs.get(_tag_start(chunk, inside[-1].opening))
        if pair is None or pair.middles:
            continue
        opening = chunk.tags[pair.opening]
        test = tag_tree(opening).statement.expressions[0].span
        message = f"where `{opening.text[test.start : test.end]}` is false, this part has no `{key}`"
        yield Finding(entries[0].key.span, message, severity="warning")


def _tag_start(chunk: Chunk, offset: int) -> int:
    """Return the offset of the tag that contains `offset`."""
    return next((tag.span.start for tag in chunk.tags if tag.span.start <= offset < tag.span.end), -1)


def _of_sections(chunk: Chunk, sections: Sequence) -> Iterator[Finding]:
    for item in sections.items:
        if not isinstance(item, Mapping):
            continue
        section = Part(item.span, item.entries)
        if section.has_dynamic_keys or section.entry("<<") or _may_be_completed(chunk, section):
            continue
        for key in ("name", "content"):
            if section.entry(key) is None:
                fixes = key_behind(chunk, item.span, item.entries, f"{key}: {BLANK}")
                yield Finding(_place(section), f"this section has no `{key}`", fixes)


def _has_typo(part: Part, keys: Container[str]) -> bool:
    """Return whether an unknown key is probably a typo of one of `keys`; `unknown-part-key` reports it."""
    unknown = {key for entry in part.entries if (key := key_text(entry)) and key not in PART_KEYS}
    return any(meant_key(key) in keys for key in unknown)


def _place(part: Part) -> Span:
    return part.entries[0].key.span if part.entries else part.span


def _indent(chunk: Chunk, place: Span) -> str:
    start = max(chunk.text.rfind("\n", 0, place.start), chunk.text.rfind("\r", 0, place.start)) + 1
    return " " * (place.start - start)


def _may_be_completed(chunk: Chunk, part: Part) -> bool:
    """Return whether a tag between the part's keys could print further ones."""
    for tag in chunk.tags:
        if not part.span.start <= tag.span.start <= part.span.end + 1:
            continue
        if tag.kind == "statement" and tag_tree(tag).statement.keyword not in {"include", "call"}:
            continue
        if tag.kind == "comment" or (tag.kind == "output" and not stands_alone(chunk, tag)):
            continue
        before = [entry for entry in part.entries if entry.key.span.start < tag.span.start]
        value = before[-1].value if before else None
        if not (isinstance(value, Scalar) and value.style in {"|", ">"}):
            return True
    return False


RULE = Rule(check, severity="error", kinds=PARTS_KINDS)
