"""Jinja that cannot be parsed.

## What it does

Reports tags, expressions and blocks that jinja2 refuses, each where it is wrong, with what
was expected and where the thing was opened. One error never hides the others.

## Why is this bad?

The template cannot be loaded, and nothing of it reaches the model.

## Example

```yaml
- name: ticket
  role: user
  content: |
    {{ text | }}
              ^^ jinja-syntax: expected a filter's name
```

Use instead:

```yaml
- name: ticket
  role: user
  content: |
    {{ text | trim }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, RelatedPlace, Rule


def check(context: FileContext) -> Iterator[Finding]:
    """The Jinja errors of the file."""
    yield from syntax_findings(context, "jinja")


def syntax_findings(context: FileContext, language: str) -> Iterator[Finding]:
    """The syntax errors of one of the file's languages, as findings."""
    for problem in context.template.syntax_problems:
        if problem.language == language:
            related = tuple(RelatedPlace(context.path, item.span, item.message) for item in problem.related)
            yield Finding(problem.span, problem.message, related=related)


RULE = Rule(
    name="jinja-syntax",
    summary="Jinja that cannot be parsed",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
)
