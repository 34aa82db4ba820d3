"""Unknown role.

## What it does

Reports a `role` that is not in the setting `roles`: a literal, a text that a printed expression can
evaluate to (`{{ "usr" if is_first else "system" }}`), a text in the branches of an `if`, and a literal
that is assigned to the variable that a role prints, also in a loop over a literal list. A role that is
null, a list or a mapping is reported too. A role that differs from the one in the name of its part, as in
`system instructions`, is a hint.

## Why is this bad?

Prompt Poet passes on any role; the provider then refuses the message.

## Example

```yaml
- name: instructions
  role: sytem
        ^^^^^ unknown-role: no model knows the role `sytem`; did you mean `system`?
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
from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.part_values import BoundValues, printed_values
from promptls.lint.fixes.misspellings import misspelt
from promptls.lint.fixes.yaml_edits import colon_end
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, each_chunk_given
from promptls.semantic.parts import Part, chunk_items, written_span
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Scalar, key_text, scalar_text
from promptls.text.positions import Span

_BOUND: Final = BoundValues("role")
_MAX_OFFERS: Final = 3
"""The maximum number of suggestions for an empty role."""
_ROLE_IN_NAME: Final = re.compile(
    r"(system|user|assistant)[ _-]?(?:instruction|prompt|message|query|question|input|reply|response|answer)s?\b",
    re.IGNORECASE,
)
"""A name of a part that says who the author is."""


@each_chunk_given(lambda file: file.project)
def _in_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """Yield the unknown roles of the chunk's parts."""
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            if key_text(entry) == "role":
                yield from _of_entry(chunk, part, entry, project)


def check(file: File) -> Iterator[Finding]:
    """Yield the unknown roles of parts, and unknown roles assigned to variables that are used as roles."""
    yield from _in_chunk(file)
    roles = file.project.roles
    for name, printed in _BOUND.values(file):
        if printed.text not in roles:
            message = f"`{name}` is a role, and no model knows the role `{printed.text}`"
            yield misspelt(printed.span, message, printed.text, roles)


def _of_entry(chunk: Chunk, part: Part, entry: Entry, project: Project) -> Iterator[Finding]:
    value = entry.value
    if not isinstance(value, Scalar):
        yield Finding(value.span, "a role is a word, such as `user`; no model knows this one")
    elif value.dynamic:
        for word, span, condition in printed_values(chunk, entry.key.span, value):
            if condition:
                yield Finding(span, f"where `{condition}` is false, this role is empty")
            elif word and word not in project.roles:
                yield misspelt(span, f"no model knows the role `{word}`", word, project.roles)
    elif value.span.is_empty():
        if part.is_whole:
            place = Span(entry.key.span.end, colon_end(chunk.text, entry))
            fixes = tuple(
                Fix(f"Write `{role}`", (Edit(place, f": {role}"),)) for role in project.roles[:_MAX_OFFERS]
            )
            yield Finding(entry.key.span, "this role is empty: the model gets `null` for it", fixes)
    elif value.tag == "null" or value.text not in project.roles:
        shown = value.text.replace("\n", "\\n")
        yield misspelt(
            written_span(chunk, value), f"no model knows the role `{shown}`", value.text, project.roles
        )
    else:
        named = _ROLE_IN_NAME.match(scalar_text(part.value("name")) or "")
        meant = named[1].casefold() if named else value.text
        if meant != value.text and meant in project.roles:
            span = written_span(chunk, value)
            fix = Fix(f"Change to `{meant}`", (Edit(span, meant),))
            yield Finding(span, f"the part's name says `{meant}`", (fix,), severity="hint")
        for _, span, condition in printed_values(chunk, entry.key.span, value):
            if condition:
                yield Finding(span, f"where `{condition}` is false, this role is empty")


RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
