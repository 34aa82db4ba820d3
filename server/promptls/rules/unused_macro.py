"""A macro that is never called.

## What it does

Reports macros that neither the file nor anything it includes names. A file that has no parts of its
own, or that another file imports, is taken for a library.

## Why is this bad?

It is text that nobody gets.

## Example

```yaml
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
         ^^^^^ unused-macro: nothing calls `shout`
- name: rules
  content: Be brief.
```

Use instead:

```yaml
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
- name: rules
  content: "{{ shout('be brief') }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.aspects import files, names, problems, references
from promptls.rules.removed_tag import removed_tag
from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, Fix, Rule
from promptls.rules.unread_names import unread


def check(context: FileContext) -> Iterator[Finding]:
    """The macros that nothing names."""
    if not context.template.has_parts:
        return
    for binding in unread(context, "macro"):
        located = context.template.source.located(binding.span.start)
        removal = removed_tag(located, binding.span.start - located.start)
        fixes = (Fix("Remove this macro", (removal,)),) if removal else ()
        yield Finding(binding.span, f"nothing calls `{binding.name}`", fixes, unnecessary=True)


RULE = Rule(
    name="unused-macro",
    summary="a macro that is never called",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
    looks_at=(names, references, problems, files),
)
