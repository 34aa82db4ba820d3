"""A variable that the file reads and does not declare.

## What it does

In a file that declares `input_keys`, reports every variable that neither `input_keys`, nor
the file itself, nor its `functions` file, nor Prompt Poet provides. A file that declares
nothing has no such findings: there every free variable is an input.

## Why is this bad?

Jinja prints nothing for a variable that it is not given, so a misspelt name shortens the
prompt without a word.

## Example

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ txt }}
       ^^^ undeclared-input: `txt` is not in `input_keys`; did you mean `text`?
    {{ text }}
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from promptls.meaning.header import Declarations
from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.syntax.yaml.nodes import Mapping, Sequence
from promptls.text.span import Span
from promptls.workspace.contract import function_names


def check(context: FileContext) -> Iterator[Finding]:
    """The readings of variables that nothing declares."""
    declarations = context.template.declarations
    if declarations.inputs is None:
        return
    declared = {key.name for key in declarations.inputs}
    functions = function_names(context.snapshot, context.path)
    names = context.template.names
    for name in sorted(names.input_names - declared - (functions or frozenset())):
        for reading in names.readings_of(name):
            if reading.binding is not None or (functions is None and reading.how == "call"):
                continue
            finding = misspelt(reading.span, f"`{name}` is not in `input_keys`", name, declared)
            declaring = _declaring_edit(declarations, name)
            added = (Fix(f"Add `{name}` to `input_keys`", (declaring,)),) if declaring else ()
            yield replace(finding, fixes=(*finding.fixes, *added))


def _declaring_edit(declarations: Declarations, name: str) -> Edit | None:
    """An edit that adds `name` behind the last input key, in the way the others are written."""
    node = declarations.tree.value("input_keys") if declarations.tree else None
    if isinstance(node, Sequence) and node.items:
        end = node.items[-1].span.end
        if node.items[0].span.start > node.span.start and len(node.items) > 0 and _is_flow(node):
            return Edit(Span(end, end), f", {name}")
        return None
    if isinstance(node, Mapping) and node.entries:
        place = node.entries[0].key.span.start
        if node.span.start == place:
            return Edit(Span(place, place), f"{name}:\n  ")
    return None


def _is_flow(node: Sequence) -> bool:
    """Whether the list is written `[a, b]`: its first item then stands one character behind its start."""
    return node.items[0].span.start - node.span.start == 1


RULE = Rule(
    name="undeclared-input",
    summary="a variable that the file reads and does not declare",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
