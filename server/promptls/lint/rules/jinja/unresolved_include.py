"""`include` or `extends` of a missing file.

## What it does

Reports written-out template names for which no file is there: neither from the folder of
an entry template that leads here, nor from the setting `template_paths`, nor from a folder
above. Names with `..` are reported too, because Jinja's loader refuses them, and offered a name
that it takes where such a file is there. `ignore missing` keeps it silent. Imports have a rule of
their own, `unresolved-import`.

Names count wherever the file writes them out: in a condition (`"a" if b else "c"`), as a default, in a variable
or a list that the tag takes its name from, and put together of those with `~`. A condition without an `else` is
a warning, because the tag has no name where it is false.

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

from collections.abc import Iterable
from typing import Final

from promptls.lint.analysis.template_names import unresolved
from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule

_KEYWORDS: Final = frozenset({"include", "extends"})


def check(file: File) -> Iterable[Finding]:
    """Return the template names that cannot be resolved."""
    return unresolved(file, _KEYWORDS)


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
