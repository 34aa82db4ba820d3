"""YAML syntax error.

## What it does

Removes the Jinja from the template, branch by branch, and reports the errors that libyaml, the parser of
Prompt Poet, finds in the rest. Nothing is reported if a printed value could make the text valid.

## Why is this bad?

The rendered text is not valid YAML, and the prompt fails when it is used.

## Example

```yaml
- name: system
  content: |
    You are helpful.
  role system
  ^^^^^^^^^^^ yaml-syntax: expected `:` after this key; text of a block scalar must be indented more than its key
```

Use instead:

```yaml
- name: system
  content: |
    You are helpful.
  role: system
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.fixes.yaml_edits import yaml_fixes
from promptls.lint.rule import YAML_KINDS, File, Finding, Rule
from promptls.lint.rules.jinja.jinja_syntax import syntax_findings
from promptls.lint.rules.parts.unrecognized_prompt import CONFLICT, CONFLICT_MESSAGE
from promptls.syntax.language import Host


def check(file: File) -> Iterator[Finding]:
    """Yield the YAML errors of the file; `invalid-json` reports those of JSON."""
    if file.template.source.language.host is Host.JSON:
        return
    source = file.template.source
    for finding in syntax_findings(file, "yaml", yaml_fixes):
        line = source.line_span(source.line_column(finding.span.start).line)
        if CONFLICT.match(source.slice(line)):
            yield Finding(line, CONFLICT_MESSAGE)
        else:
            yield finding


RULE = Rule(check, severity="error", kinds=YAML_KINDS)
