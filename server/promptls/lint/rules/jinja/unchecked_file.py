"""File too large or too deeply nested to analyze.

## What it does

Reports a prompt file with more than 2,000,000 characters, with more than 200 tags that are never closed,
with more than 100 blocks inside one another, or with more than 200 tags that name other templates. Nothing else is looked for in such a file, and an editor
shows it without hovers, completions and the like.

## Why is this bad?

Analysing such a file takes so long that nobody wants to wait for it. Jinja refuses unclosed tags, and
Python compiles no template with so many blocks inside one another.

## Example

```yaml
- name: documents
^^^^^^^^^^^^^^^^^ unchecked-file: the file has 2,500,048 characters, and files are analysed up to 2,000,000
  role: user
  content: |
    … 500,000 tokens of fixed text …
```

Use instead:

```yaml
- name: documents
  role: user
  content: |
    {{ documents }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.rule import File, Finding, Rule
from promptls.semantic.kind import Kind
from promptls.workspace.disk import has_prompt_name


def check(file: File) -> Iterator[Finding]:
    """Yield the reason that the file is not analysed, if it is a file for promptls."""
    refusal = file.template.source.refusal
    project = file.snapshot.project(file.path)
    is_prompt = has_prompt_name(file.path) or project.includes(file.path)
    if refusal is not None and is_prompt and not project.excludes(file.path):
        yield Finding(refusal.span, refusal.message)


RULE = Rule(check, severity="error", kinds=frozenset({Kind.OTHER}))
