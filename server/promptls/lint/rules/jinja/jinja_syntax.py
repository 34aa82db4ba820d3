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
from typing import Final

from promptls.lint.fixes.tag_fixes import jinja_fixes
from promptls.lint.rule import DECLARING_KINDS, Edit, File, Finding, Fix, RelatedInformation, Rule
from promptls.lint.rules.jinja.single_brace import missed_end, spaced_tags
from promptls.semantic.template import Template
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.positions import Span

_MAX_TRIED: Final = 30_000
"""In longer files, fixes are offered without being tried."""
_MAX_PROBLEMS: Final = 20
"""The fixes of further errors are offered without being tried: each trial reads the file again."""


def check(file: File) -> Iterator[Finding]:
    """Yield the Jinja errors of the file."""
    yield from syntax_findings(file, "jinja", jinja_fixes)


def _has_cause(file: File, problem: SyntaxProblem) -> bool:
    """Return whether `single-brace` reports the tag that a block lacks."""
    return missed_end(problem, spaced_tags(file)) is not None


def syntax_findings(
    file: File, language: str, fixes: Callable[[Template, SyntaxProblem], Iterable[Fix]]
) -> Iterator[Finding]:
    """Yield a finding for each syntax error in one of the file's languages, with its fixes."""
    problems = [
        each
        for each in file.template.syntax_problems
        if each.language == language and not _has_cause(file, each)
    ]
    for index, problem in enumerate(problems):
        related = tuple(RelatedInformation(file.path, item.span, item.message) for item in problem.related)
        found = tuple(
            fix
            for fix in fixes(file.template, problem)
            if index >= _MAX_PROBLEMS or _removes(fix, file, problem)
        )
        yield Finding(problem.span, problem.message, found, related)


def _removes(fix: Fix, file: File, problem: SyntaxProblem) -> bool:
    """Return whether the fix leaves fewer errors of the problem's language on its line.

    Fixes in long files are not tried, nor those that change another line.
    """
    source = file.template.source
    line = source.line_span(source.line_column(problem.span.start).line)
    if len(source) > _MAX_TRIED or any(not _within(edit, line) for edit in fix.edits):
        return True
    text = source.text
    end = line.end
    for edit in sorted(fix.edits, key=lambda each: each.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
        end += len(edit.text) - (edit.span.end - edit.span.start)
    fixed = Template(Source.of(text, source.language))
    return _count(fixed, problem, line.start, end) < _count(file.template, problem, line.start, line.end)


def _within(edit: Edit, line: Span) -> bool:
    return line.start <= edit.span.start and edit.span.end <= line.end


def _count(template: Template, problem: SyntaxProblem, start: int, end: int) -> int:
    """Return the number of errors in the language of `problem` between two offsets."""
    return sum(
        each.language == problem.language and start <= each.span.start <= end
        for each in template.syntax_problems
    )


RULE = Rule(check, severity="error", kinds=DECLARING_KINDS)
