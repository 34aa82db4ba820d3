"""An import that is never used.

## What it does

Reports names that an `import` or `from … import` binds and that neither the file nor anything it
includes reads.

## Why is this bad?

The other file is loaded for nothing, or the name is misspelt where it should be used.

## Example

```yaml
-- main.yml.j2 --
{% from "macros.yml.j2" import shout %}
                               ^^^^^ unused-import: nothing uses the import `shout`
- name: rules
  content: Be brief.
-- macros.yml.j2 --
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
```

Use instead:

```yaml
- name: rules
  content: Be brief.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, Rule
from promptls.rules.unread_names import unread


def check(context: FileContext) -> Iterator[Finding]:
    """The imported names that nothing reads."""
    for binding in unread(context, "import"):
        yield Finding(binding.span, f"nothing uses the import `{binding.name}`", unnecessary=True)


RULE = Rule(
    name="unused-import",
    summary="an import that is never used",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
