"""An include, import or `extends` that leads to no file.

## What it does

Reports written-out template names for which no file is there: neither from the folder of
an entry template that leads here, nor from the setting `template_paths`, nor from a folder
above. Names with `..` are reported too, because Jinja's loader refuses them. `ignore
missing` keeps it silent.

## Why is this bad?

Rendering fails with `TemplateNotFound`. Names count from the folder of the *entry*
template, never from the file that they stand in.

## Example

```yaml
{% include 'sections/missing.yml.j2' %}
           ^^^^^^^^^^^^^^^^^^^^^^^^^ unresolved-include: there is no file `sections/missing.yml.j2` beside this template
- name: ticket
  content: Hello.
```

Use instead:

```yaml
{% include 'sections/missing.yml.j2' ignore missing %}
- name: ticket
  content: Hello.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, Rule
from promptls.workspace.include_names import parts_of_name


def check(context: FileContext) -> Iterator[Finding]:
    """The template names that lead nowhere."""
    for reference in context.template.references:
        if reference.name is None or reference.ignore_missing:
            continue
        if context.snapshot.resolve(context.path, reference):
            continue
        if not reference.alternatives and parts_of_name(reference.name) is None:
            message = (
                f"Jinja refuses `{reference.name}`: names have no `..` and count from the entry template"
            )
        elif reference.alternatives:
            message = (
                f"none of these files is there: {', '.join(f'`{name}`' for name in reference.alternatives)}"
            )
        else:
            entries = context.snapshot.entries(context.path)
            where = (
                "beside this template"
                if entries == (context.path,)
                else "beside the templates that lead here"
            )
            message = f"there is no file `{reference.name}` {where}"
        yield Finding(reference.span, message)


RULE = Rule(
    name="unresolved-include",
    summary="an include, import or `extends` that leads to no file",
    severity="error",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
