"""A file that is too large, too broken or too deeply nested to be analysed.

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

from promptls.lint.rule import FileContext, Finding, Rule
from promptls.semantic.kind import Kind
from promptls.workspace.disk import has_prompt_name


def check(context: FileContext) -> Iterator[Finding]:
    """Report why the file is not analysed, where it is one of promptls's own."""
    refusal = context.template.source.refusal
    project = context.snapshot.project(context.path)
    is_prompt = has_prompt_name(context.path) or project.includes(context.path)
    if refusal is not None and is_prompt and not project.excludes(context.path):
        yield Finding(refusal.span, refusal.message)


RULE = Rule(
    name="unchecked-file",
    summary="file too large or too deeply nested to analyze",
    severity="error",
    module=__name__,
    kinds=frozenset({Kind.OTHER}),
    check=check,
)
