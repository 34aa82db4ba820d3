"""Import of a missing file or name.

## What it does

Reports the written-out name of a template in an `import` or a `from … import` for which no file is
there: neither from the folder of an entry template that leads here, nor from the setting
`template_paths`, nor from a folder above. Names with `..` are reported too, because Jinja's loader
refuses them. Of a file that is there, reports names that are imported from it or asked of it
(`{{ lib.name }}`), and that it neither defines nor sets.

In an OpenCompass configuration in Python, reports imports below `with read_base():` of files that
are not there.

## Why is this bad?

Rendering fails with `TemplateNotFound`, also where no macro of the file is called; a name that the
file does not have prints nothing, and a call of it fails.

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

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.template_names import (
    lacking_imports,
    lacking_members,
    modules,
    owner_names,
    unresolved,
)
from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule

_KEYWORDS: Final = frozenset({"import", "from"})


def check(file: File) -> Iterator[Finding]:
    """Yield the template names of imports, and the imported names, that cannot be resolved."""
    yield from unresolved(file, _KEYWORDS)
    yield from lacking_imports(file)
    if owner_names(file.chunks):
        known = modules(file)
        for located in file.chunks.where(owner_names):
            for finding in lacking_members(located.chunk, known):
                yield finding.shifted(located.start)


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
