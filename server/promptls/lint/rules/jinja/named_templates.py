"""Names of other templates: of files that do not exist, and of files that lead back.

# unresolved-include

`include` or `extends` of a missing file.

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

# unresolved-import

Import of a missing file or name.

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

# include-cycle

File that includes itself, directly or not.

Reports includes, imports and `extends` that lead back to the file that contains them, if each tag on the
path is outside of conditions, loops and macros.

## Why is this bad?

Rendering never ends: Jinja fails with a recursion error.

## Example

```yaml
{% include "main.yml.j2" %}
           ^^^^^^^^^^^^^ include-cycle: this include leads back to this file
- name: rules
  content: Be brief.
```

Use instead:

```yaml
{% if again %}{% include "main.yml.j2" %}{% endif %}
- name: rules
  content: Be brief.
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from promptls.lint.analysis.unresolved_templates import (
    lacking_imports,
    lacking_members,
    modules,
    owner_names,
    unresolved,
)
from promptls.lint.rule import JINJA_KINDS, File, Finding, rule
from promptls.workspace.snapshot import Snapshot


@rule(severity="error", kinds=JINJA_KINDS)
def unresolved_include(file: File) -> Iterable[Finding]:
    """Return the template names that cannot be resolved."""
    return unresolved(file, frozenset({"include", "extends"}))


@rule(severity="error", kinds=JINJA_KINDS)
def unresolved_import(file: File) -> Iterator[Finding]:
    """Yield the template names of imports, and the imported names, that cannot be resolved."""
    yield from unresolved(file, frozenset({"import", "from"}))
    yield from lacking_imports(file)
    if owner_names(file.chunks):
        known = modules(file)
        for located in file.chunks.where(owner_names):
            for finding in lacking_members(located.chunk, known):
                yield finding.shifted(located.start)


@rule(severity="error", kinds=JINJA_KINDS)
def include_cycle(file: File) -> Iterator[Finding]:
    """Yield the references that certainly lead back to the file."""
    for reference in file.template.references:
        target = file.snapshot.resolve(file.path, reference)
        if target is None or reference.alternatives or reference.is_choice:
            continue
        chain = _path_back(file.snapshot, target, file.path)
        if chain is not None and file.template.branches.is_unconditional(reference.span.start):
            over = f" over {', '.join(f'`{Path(path).name}`' for path in chain)}" if chain else ""
            yield Finding(reference.span, f"this {reference.keyword} leads back to this file{over}")


def _path_back(snapshot: Snapshot, start: str, goal: str) -> list[str] | None:
    """Return the files between `start` and `goal` on a path of certain includes, or None."""
    paths: dict[str, list[str]] = {start: [] if start == goal else [start]}
    waiting = [start]
    while waiting:
        current = waiting.pop(0)
        if current == goal:
            return paths[current]
        template = snapshot.template(current)
        for reference in template.references if template else ():
            is_certain = template is not None and template.branches.is_unconditional(reference.span.start)
            if not is_certain or reference.is_choice:
                continue
            target = snapshot.resolve(current, reference)
            if target and target not in paths:
                paths[target] = paths[current] if target == goal else [*paths[current], target]
                waiting.append(target)
    return None
