"""The keys of parts.

# preset-tokens

Preset token count of a part.

Reports `tokens` in a part or a section, unless the value is null, or a program that loads the template
sets `allow_token_overrides`.

## Why is this bad?

Prompt Poet refuses the part, "Token encoding is not allowed to be set in the template", unless the
caller passes `allow_token_overrides=True`; a section is refused when tokens are counted. With the
override, the list is used instead of the tokens of the text, so the counts may be wrong.

## Example

```yaml
- name: history
  tokens: [1, 2, 3]
  ^^^^^^ preset-tokens: Prompt Poet refuses `tokens` in a part, unless the caller sets `allow_token_overrides`
  content: Hello.
```

Use instead:

```yaml
- name: history
  content: Hello.
```

# content-and-sections

Part with both `content` and `sections`.

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

# unknown-part-key

Unknown key of a part.

Reports keys of a part other than `name`, `content`, `role`, `truncation_priority`,
`sections`, `expected_template_data_keys` and `tokens`.

## Why is this bad?

Prompt Poet refuses the part: "PromptPart.__init__() got an unexpected keyword argument".

## Example

```yaml
- name: system
  contnet: You are helpful.
  ^^^^^^^ unknown-part-key: `contnet` is not a key of a part; did you mean `content`?
  content: You are helpful.
```

Use instead:

```yaml
- name: system
  content: You are helpful.
```

# missing-part-key

Part without a required key.

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
from itertools import pairwise, product
from typing import Final, NamedTuple

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, SECTION_KEYS
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import BLANK, indentation, is_flow, key_after, without_entry
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, each_chunk, each_chunk_given, rule
from promptls.semantic.branches import chunk_branches
from promptls.semantic.parts import Part, chunk_items, column_of
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.projection import stands_alone
from promptls.syntax.yaml.nodes import Entry, Mapping, Scalar, Sequence, key_text
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.workspace.contract import calls_to
from promptls.workspace.disk import has_prompt_name


def _is_allowed(file: File) -> bool:
    """Return whether a program that loads the file, or one that includes it, allows `tokens`."""
    paths = (file.path, *file.snapshot.includers(file.path))
    return any(call.allows_tokens for path in paths for call in calls_to(file.snapshot, path))


@rule(severity="warning", kinds=PARTS_KINDS)
@each_chunk_given(_is_allowed)
def preset_tokens(chunk: Chunk, is_allowed: bool) -> Iterator[Finding]:
    """Yield the `tokens` of the chunk's parts and sections."""
    for part in () if is_allowed else chunk_items(chunk).parts:
        yield from _in_mapping(chunk, part.span, part.entries, "part")
        for section in part.sections:
            yield from _in_mapping(chunk, section.span, section.entries, "section")


def _in_mapping(chunk: Chunk, span: Span, entries: tuple[Entry, ...], owner: str) -> Iterator[Finding]:
    for entry in entries:
        if key_text(entry) == "tokens" and not _is_null(entry):
            removal = without_entry(chunk, span, entries, entry)
            fixes = (Fix("Remove `tokens`", (removal,)),) if removal else ()
            message = (
                f"Prompt Poet refuses `tokens` in a {owner}, unless the caller sets `allow_token_overrides`"
            )
            yield Finding(entry.key.span, message, fixes)


def _is_null(entry: Entry) -> bool:
    value = entry.value
    return isinstance(value, Scalar) and value.tag == "null" and not value.dynamic


@rule(severity="error", kinds=PARTS_KINDS)
@each_chunk
def content_and_sections(chunk: Chunk) -> Iterator[Finding]:
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


_FOREIGN_NAMES: Final = {
    "body": "content",
    "expected_keys": "expected_template_data_keys",
    "message": "content",
    "priority": "truncation_priority",
    "prompt": "content",
    "speaker": "role",
    "text": "content",
    "title": "name",
}
"""Keys of a part in other libraries, with their equivalents."""


@rule(severity="error", kinds=PARTS_KINDS)
@each_chunk
def unknown_part_key(chunk: Chunk) -> Iterator[Finding]:
    """Yield the unknown keys of the chunk's parts."""
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            key = key_text(entry)
            if key is None or key in PART_KEYS or key == "<<":
                continue
            if not part.is_whole and not column_of(chunk, entry.key.span.start):
                continue  # the key is after the list, which is a YAML error
            marked = _KEY_AND_MARK.fullmatch(key)
            if marked is not None and marked["key"] in PART_KEYS:
                yield _swapped(chunk, entry, marked["key"], marked["mark"])
                continue
            found = _found(entry.key.span, key)
            is_taken = any(part.entry(edit.text) for fix in found.fixes for edit in fix.edits)
            yield replace(found, fixes=()) if is_taken else found
        yield from (found for section in part.sections for found in _in_section(section))


def _in_section(section: Mapping) -> Iterator[Finding]:
    for entry in section.entries:
        key = key_text(entry)
        if key is not None and key not in SECTION_KEYS and key != "<<":
            message = f"Prompt Poet ignores the key `{key}` of a section"
            yield misspelled(entry.key.span, message, key, SECTION_KEYS, severity="warning")
        elif key == "truncation_priority":
            message = "Prompt Poet never uses the `truncation_priority` of a section: whole parts are cut"
            yield Finding(entry.key.span, message, severity="hint")


_KEY_AND_MARK: Final = re.compile(r"(?P<key>\w+)[ ]*(?P<mark>[|>][-+]?)")
"""A key with the mark of a block before its colon."""


def _swapped(chunk: Chunk, entry: Entry, key: str, mark: str) -> Finding:
    """Return the finding for `content |:`."""
    meant = f"{key}: {mark}"
    end = chunk.text.index(":", entry.key.span.end) + 1
    fix = Fix(f"Change to `{meant}`", (Edit(Span(entry.key.span.start, end), meant),))
    message = f"the `{mark}` of a block comes after the colon; did you mean `{meant}`?"
    return Finding(entry.key.span, message, (fix,))


def meant_key(key: str) -> str | None:
    """Return the part key that an unknown one was probably meant to be."""
    return _foreign_key(key) or nearest(key, PART_KEYS)


def _foreign_key(key: str) -> str | None:
    return _FOREIGN_NAMES.get(key.lower()) or (key.lower() if key.lower() in PART_KEYS else None)


def _found(span: Span, key: str) -> Finding:
    meant = _foreign_key(key)
    message = f"`{key}` is not a key of a part"
    if meant is None:
        return misspelled(span, message, key, PART_KEYS)
    return Finding.suggest(span, message, meant, preferred=key.lower() == meant)


_TEXTS: Final = frozenset({"content", "sections"})
_NAMED_ROLE: Final = re.compile(r"(system|assistant)(?![^\W_])")
"""The name of a part that begins with a role other than the default one."""


@rule(severity="error", kinds=PARTS_KINDS)
def missing_part_key(file: File) -> Iterator[Finding]:
    """Yield the missing required keys of parts; one hint for chat messages that all lack a name.

    A single one may be a part, in a file with the name of a prompt.
    """
    form = _form(file.chunks)
    if form.are_messages and form.parts > int(has_prompt_name(file.path)):
        yield from _messages(file)
    else:
        found = [*_in_chunk(file)]
        if found:
            shared = _with_shared_keys(file)
            found = [finding for finding in found if finding.span.start not in shared]
        cut = [*_cut_parts(file)] if len(found) > 1 else []
        for _, _, dash in cut:
            fix = Fix("Remove the dash", (Edit(dash, " "),), preferred=True)
            yield Finding(dash, "this dash cuts the part above in two", (fix,))
        places = {start for above, below, _ in cut for start in (above, below)}
        yield from (finding for finding in found if finding.span.start not in places)
        if _has_roles(file.chunks):
            yield from _roleless(file)


def _with_shared_keys(file: File) -> frozenset[int]:
    """Return the places of parts that begin in one branch of an `if` and share the keys after it with another."""
    branches, shared = file.template.branches, set[int]()
    for second, first in pairwise(reversed(file.template.parts)):
        around = branches.at(first.span.start)
        if not around or not second.part.entries or not branches.exclude(first.span.start, second.span.start):
            continue
        last = second.part.entries[-1].key.span.shifted(second.start)
        is_shared = second.part.first_key.shifted(second.start).start in shared
        if is_shared or branches.at(last.start) == around[:-1]:
            shared.add(first.part.first_key.shifted(first.start).start)
    return frozenset(shared)


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
                for fix in key_after(chunk, part.span, part.entries, written)
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
            above, below = (each.part.first_key.shifted(each.start).start for each in (first, second))
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
        place = placed.part.first_key
        separator = (
            ", "
            if is_flow(located.chunk.text, placed.part.span)
            else f"\n{indentation(located.chunk.text, place.start)}"
        )
        start = placed.start + place.start
        edits.append(Edit.insert(start, f"name: message_{number}{separator}"))
    first = file.template.parts[0]
    fix = Fix("Add a name to each message", tuple(edits))
    message = "these are chat messages; for Prompt Poet, each needs a `name`"
    yield Finding(first.part.first_key.shifted(first.start), message, (fix,), severity="hint")


@each_chunk
def _in_chunk(chunk: Chunk) -> Iterator[Finding]:
    for part in chunk_items(chunk).parts:
        if part.has_dynamic_keys or part.entry("<<") or _may_be_completed(chunk, part):
            continue
        place = part.first_key
        if part.entry("name") is None and not _has_typo(part, {"name"}):
            separator = (
                ", " if is_flow(chunk.text, part.span) else f"\n{indentation(chunk.text, place.start)}"
            )
            fix = Fix("Add a name", (Edit.insert(place.start, f"name: part{separator}"),))
            yield Finding(place, "this part has no `name`", (fix,))
        if part.entry("content") is None and part.entry("sections") is None and not _has_typo(part, _TEXTS):
            fixes = key_after(chunk, part.span, part.entries, f"content: {BLANK}")
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
        tag = chunk.tag_at(inside[-1].opening)
        pair = ifs.get(tag.span.start) if tag is not None else None
        if pair is None or pair.middles:
            continue
        opening = chunk.tags[pair.opening]
        test = tag_tree(opening).statement.expressions[0].span
        message = f"where `{opening.text[test.start : test.end]}` is false, this part has no `{key}`"
        yield Finding(entries[0].key.span, message, severity="warning")


def _of_sections(chunk: Chunk, sections: Sequence) -> Iterator[Finding]:
    for item in sections.items:
        if not isinstance(item, Mapping):
            continue
        section = Part(item.span, item.entries)
        if section.has_dynamic_keys or section.entry("<<") or _may_be_completed(chunk, section):
            continue
        for key in ("name", "content"):
            if section.entry(key) is None:
                fixes = key_after(chunk, item.span, item.entries, f"{key}: {BLANK}")
                yield Finding(section.first_key, f"this section has no `{key}`", fixes)


def _has_typo(part: Part, keys: Container[str]) -> bool:
    """Return whether an unknown key is probably a typo of one of `keys`; `unknown-part-key` reports it."""
    unknown = {key for entry in part.entries if (key := key_text(entry)) and key not in PART_KEYS}
    return any(meant_key(key) in keys for key in unknown)


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
