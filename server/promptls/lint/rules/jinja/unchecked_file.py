"""File too large or too deeply nested to analyze.

## What it does

Reports a prompt file with more than 2,000,000 characters, with more than 200 unclosed tags, with blocks
that are nested more than 100 levels deep, or with more than 200 tags that name other templates. No other
rule checks such a file, and editors show it without hovers, completions and the like.

## Why is this bad?

Analyzing such a file would take too long. Jinja refuses unclosed tags, and Python cannot compile a
template with so many nested blocks.

## Example

```yaml
- name: documents
^^^^^^^^^^^^^^^^^ unchecked-file: the file has 2,500,048 characters, and files are analyzed up to 2,000,000
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
    """Yield the reason that the file is not analyzed, if it is a file for promptls."""
    refusal = file.template.source.refusal
    project = file.snapshot.project(file.path)
    is_prompt = has_prompt_name(file.path) or project.includes(file.path)
    if refusal is not None and is_prompt and not project.excludes(file.path):
        yield Finding(refusal.span, refusal.message)


RULE = Rule(check, severity="error", kinds=frozenset({Kind.OTHER}))
