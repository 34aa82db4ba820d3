"""`include` or `extends` of a missing file.

## What it does

Reports literal template names if there is no such file: in the folder of an entry template that includes
this file, in the setting `template_paths`, or in a parent folder. Names with `..` are reported too,
because Jinja's loader refuses them; if the file exists, a valid name is suggested. With
`ignore missing`, nothing is reported. Imports have a separate rule, `unresolved-import`.

Names are checked wherever the file contains them as literals: in a condition (`"a" if b else "c"`), as a
default, in a variable or list that the tag takes its name from, and in concatenations of these with `~`.
A condition without an `else` is a warning, because the tag has no name if it is false.

## Why is this bad?

Rendering fails with `TemplateNotFound`. Names are relative to the folder of the *entry* template, never
to the file that contains them.

## Example

```yaml
{% include 'sections/missing.yml.j2' %}
           ^^^^^^^^^^^^^^^^^^^^^^^^^ unresolved-include: there is no file `sections/missing.yml.j2` next to this template
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

from collections.abc import Iterable
from typing import Final

from promptls.lint.analysis.unresolved_templates import unresolved
from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule

_KEYWORDS: Final = frozenset({"include", "extends"})


def check(file: File) -> Iterable[Finding]:
    """Return the template names that cannot be resolved."""
    return unresolved(file, _KEYWORDS)


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
