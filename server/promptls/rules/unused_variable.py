"""A variable that is set and never read.

## What it does

Reports names that `set` binds and that neither the file nor anything it includes reads. Names that
begin with `_`, and names that another file can import, are left alone.

## Why is this bad?

Either the text that should read it misspells it, or it can go.

## Example

```yaml
{% set tone = "kind" %}
       ^^^^ unused-variable: nothing reads `tone`
- name: rules
  content: Be brief.
```

Use instead:

```yaml
{% set tone = "kind" %}
- name: rules
  content: Be {{ tone }}.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.aspects import files, names, problems, references
from promptls.rules.removed_tag import removed_tag
from promptls.rules.rule import JINJA_KINDS, FileContext, Finding, Fix, Rule
from promptls.rules.unread_names import unread


def check(context: FileContext) -> Iterator[Finding]:
    """The variables that nothing reads."""
    for binding in unread(context, "set"):
        located = context.template.source.located(binding.span.start)
        removal = removed_tag(located, binding.span.start - located.start)
        fixes = (Fix("Remove this variable", (removal,)),) if removal else ()
        yield Finding(binding.span, f"nothing reads `{binding.name}`", fixes, unnecessary=True)


RULE = Rule(
    name="unused-variable",
    summary="a variable that is set and never read",
    severity="warning",
    module=__name__,
    kinds=JINJA_KINDS,
    check=check,
    looks_at=(names, references, problems, files),
)
