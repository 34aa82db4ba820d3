"""Import of a missing file or name.

## What it does

Reports the literal name of a template in an `import` or a `from … import` if there is no such file: in
the folder of an entry template that includes this file, in the setting `template_paths`, or in a parent
folder. Names with `..` are reported too, because Jinja's loader refuses them. Also reports imported
names, and attributes of imported files (`{{ lib.name }}`), that the file does not define.

In an OpenCompass configuration in Python, reports imports below `with read_base():` of files that do not
exist, misspelled modules of OpenCompass, and, in a checkout of OpenCompass, imports of modules, classes and functions
that it does not have.

## Why is this bad?

Rendering fails with `TemplateNotFound`, even if no macro of the file is called; a name that the file
does not define prints nothing, and a call of it fails.

## Example

```yaml
{% from 'macros/greetings.j2' import greet %}
        ^^^^^^^^^^^^^^^^^^^^^ unresolved-import: there is no file `macros/greetings.j2` next to this template
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

from promptls.lint.analysis.unresolved_templates import (
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
