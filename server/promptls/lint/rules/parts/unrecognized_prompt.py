"""File that looks like a prompt and is none.

## What it does

Reports a file with the name of a prompt that is not recognized as a prompt because of a single common
mistake: the dash before a part is missing, the keys are capitalized or misspelled, or the list of
messages is below a key such as `messages`.

## Why is this bad?

Prompt Poet refuses such a file, and promptls cannot check it: no other rule applies to it.

## Example

```yaml
name: system
^^^^ unrecognized-prompt
role: system
content: You answer questions about invoices.
```

Use instead:

```yaml
- name: system
  role: system
  content: You answer questions about invoices.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.rule import Edit, File, Finding, Fix, Rule
from promptls.semantic.kind import Kind
from promptls.semantic.near_prompt import near_prompt
from promptls.syntax.language import Host
from promptls.workspace.disk import has_prompt_name


def check(file: File) -> Iterator[Finding]:
    """Yield the reason that the file is not recognized as a prompt."""
    if not has_prompt_name(file.path) or file.snapshot.project(file.path).excludes(file.path):
        return
    source = file.template.source
    near = (
        near_prompt(source.text) if source.refusal is None and source.language.host is not Host.JSON else None
    )
    if near is not None:
        fix = Fix(near.fix, tuple(Edit(span, text) for span, text in near.edits))
        yield Finding(near.span, near.message, (fix,) if near.edits else ())


RULE = Rule(check, severity="warning", kinds=frozenset({Kind.OTHER}))
