"""Unknown key of a part.

## What it does

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
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, SECTION_KEYS
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import PARTS_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.semantic.parts import chunk_items, column_of
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Mapping, key_text
from promptls.text.positions import Span
from promptls.text.suggest import nearest

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


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
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
            yield replace(misspelled(entry.key.span, message, key, SECTION_KEYS), severity="warning")
        elif key == "truncation_priority":
            message = "Prompt Poet never uses the `truncation_priority` of a section: whole parts are cut"
            yield Finding(entry.key.span, message, severity="hint")


_KEY_AND_MARK: Final = re.compile(r"(?P<key>\w+)[ ]*(?P<mark>[|>][-+]?)")
"""A key with the mark of a block ahead of its colon."""


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


RULE = Rule(check, severity="error", kinds=PARTS_KINDS)
