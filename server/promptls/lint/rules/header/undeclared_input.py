"""Variable that is read but not declared.

## What it does

In a file that declares `input_keys`, reports every variable that is not provided by `input_keys`, the
file itself, its `functions` file, or Prompt Poet. A name that is similar to one of those is reported by
`undefined-variable`, a call by `unknown-function`. In a file without declarations, every free variable
is an input and nothing is reported.

An included file is checked against the templates that include it: it can use their inputs, and the
variables in scope at the include. In a template that declares its inputs, the undeclared variables of an
included file are reported at the include.

## Why is this bad?

Jinja prints nothing for an undefined variable. A caller who relies on `input_keys` does not know that
this one is needed, and gets a shorter prompt without any error.

## Example

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }} {{ locale }}
                  ^^^^^^ undeclared-input: `locale` is not in `input_keys`
```

Use instead:

```yaml
{#---
input_keys: [text, locale]
---#}
- name: ticket
  content: |
    {{ text }} {{ locale }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.analysis.loop_names import typos_of_loop_variables
from promptls.lint.analysis.unmatched_names import (
    declared_names,
    describe_entries,
    include_places,
    undeclared_in_includes,
    undeclared_references,
    unprovided_references,
)
from promptls.lint.fixes.yaml_edits import added_input
from promptls.lint.rule import JINJA_KINDS, File, Finding, Fix, Rule
from promptls.lint.rules.jinja import unquoted_text


def check(file: File) -> Iterator[Finding]:
    """Yield the references of undeclared variables that are not similar to a known name.

    If `input_keys` itself has a problem, the variables are its consequence.
    """
    declared = file.template.declarations.value_span("input_keys")
    problems = file.template.declarations.problems
    if declared is not None and any(declared.contains(each.span.start) for each in problems):
        return
    texts = {found.span for found in unquoted_text.check(file)}
    texts |= {each.reference.span for each in typos_of_loop_variables(file)}
    undeclared = [
        reference
        for reference, meant, elsewhere in undeclared_references(file)
        if meant is None and elsewhere is None and reference.span not in texts
    ]
    unread = (declared_names(file) or frozenset()) - file.template.names.read_names
    for reference in undeclared:
        name = reference.name
        fixes = added_input(file, name)
        if len({each.name for each in undeclared}) == len(unread) == 1:
            (meant,) = unread
            fixes = (Fix.change_to(reference.span, meant), *fixes)
        yield Finding(reference.span, f"`{name}` is not in `input_keys`", fixes)
    yield from undeclared_in_includes(file)
    for found in unprovided_references(file):
        if found.meant is None:
            others = "; others provide it" if found.is_provided_elsewhere else ""
            message = (
                f"`{found.reference.name}` is not in `input_keys` of {describe_entries(found)}, "
                f"which this file is included from{others}"
            )
            yield Finding(found.reference.span, message, related=include_places(found))


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
