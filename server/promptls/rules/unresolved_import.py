"""An import that leads to no file.

## What it does

Reports the written-out name of a template in an `import` or a `from … import` for which no file is
there: neither from the folder of an entry template that leads here, nor from the setting
`template_paths`, nor from a folder above. Names with `..` are reported too, because Jinja's loader
refuses them.

## Why is this bad?

Rendering fails with `TemplateNotFound`, also where no macro of the file is called.

## Example

```yaml
{% from 'macros/greetings.j2' import greet %}
        ^^^^^^^^^^^^^^^^^^^^^ unresolved-import: there is no file `macros/greetings.j2` beside this template
- name: ticket
  content: "{{ greet() }}"
```

Use instead:

```yaml
{% macro greet() %}Hello.{% endmacro %}
- name: ticket
  content: "{{ greet() }}"
```
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from promptls.rules.aspects import files, references
from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, Rule
from promptls.rules.unresolved_reference import unresolved

_KEYWORDS: Final = frozenset({"import", "from"})


def check(context: FileContext) -> Iterable[Finding]:
    """The template names of imports that lead nowhere."""
    return unresolved(context, _KEYWORDS)


RULE = Rule(
    name="unresolved-import",
    summary="an import that leads to no file",
    severity="error",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
    looks_at=(references, files),
)
