"""Jinja syntax error.

## What it does

Reports tags, expressions and blocks that jinja2 refuses, each at the place of the error, with what was
expected and where the block or bracket was opened. One error never hides the others.

## Why is this bad?

The template cannot be loaded, so no prompt is sent.

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

from collections.abc import Callable, Iterable, Iterator

from promptls.lint.fixes.tag_fixes import jinja_fixes
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Fix, RelatedInformation, Rule
from promptls.semantic.template import Template
from promptls.syntax.problem import SyntaxProblem


def check(file: File) -> Iterator[Finding]:
    """Yield the Jinja errors of the file."""
    yield from syntax_findings(file, "jinja", jinja_fixes)


def syntax_findings(
    file: File, language: str, fixes: Callable[[Template, SyntaxProblem], Iterable[Fix]]
) -> Iterator[Finding]:
    """Yield a finding for each syntax error in one of the file's languages, with its fixes."""
    for problem in file.template.syntax_problems:
        if problem.language == language:
            related = tuple(
                RelatedInformation(file.path, item.span, item.message) for item in problem.related
            )
            yield Finding(problem.span, problem.message, tuple(fixes(file.template, problem)), related)


RULE = Rule(check, severity="error", kinds=DECLARING_KINDS)
