"""Preset token count of a part.

## What it does

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
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.fixes.yaml_edits import without_entry
from promptls.lint.rule import PARTS_KINDS, File, Finding, Fix, Rule, each_chunk_given
from promptls.semantic.parts import chunk_items
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Scalar, key_text
from promptls.text.positions import Span
from promptls.workspace.contract import calls_to


def _is_allowed(file: File) -> bool:
    """Return whether a program that loads the file, or one that includes it, allows `tokens`."""
    paths = (file.path, *file.snapshot.includers(file.path))
    return any(call.allows_tokens for path in paths for call in calls_to(file.snapshot, path))


@each_chunk_given(_is_allowed)
def check(chunk: Chunk, is_allowed: bool) -> Iterator[Finding]:
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


RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
