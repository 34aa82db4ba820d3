"""A call of a function that nobody provides.

## What it does

In a file that declares its inputs or names a `functions` file, reports calls of a name that is no macro, no
import, no function of Jinja or Prompt Poet, no function of that file, and no declared input. Where the
`functions` file cannot be read, nothing is said.

## Why is this bad?

Rendering fails: "'titel' is undefined".

## Example

```yaml
{#---
input_keys: [text]
---#}
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
- name: ticket
  content: |
    {{ shuot(text) }} {{ shout(text) }}
       ^^^^^ unknown-function: nothing provides the function `shuot`; did you mean `shout`?
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
{% macro shout(words) %}{{ words | upper }}{% endmacro %}
- name: ticket
  content: |
    {{ shout(text) }}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from promptls.meaning.scopes import GLOBALS, INJECTED
from promptls.rules.added_input import added_input
from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, Rule
from promptls.workspace.contract import function_names, functions_path
from promptls.workspace.disk import read_text

_CALLABLE_KINDS = ("macro", "import")
_NO_FUNCTIONS = frozenset({"self", "token_limit"})


def check(context: FileContext) -> Iterator[Finding]:
    """The calls of names that nothing provides."""
    declared = context.template.declarations.inputs
    if declared is None and functions_path(context.snapshot, context.path) is None:
        return
    functions = function_names(context.snapshot, context.path)
    if functions is None:
        return
    names = context.template.names
    known = functions | {key.name for key in declared or ()}
    suggested = functions.union(*(names.bound_names(kind) for kind in _CALLABLE_KINDS)) | GLOBALS | INJECTED
    for name in sorted(names.input_names - known - {"loop", "caller", "super"}):
        for reading in names.readings_of(name):
            if reading.how == "call" and reading.binding is None and not _is_mentioned(context, name):
                message = f"nothing provides the function `{name}`"
                finding = misspelt(reading.span, message, name, suggested - _NO_FUNCTIONS)
                yield replace(finding, fixes=(*finding.fixes, *added_input(context, name)))


def _is_mentioned(context: FileContext, name: str) -> bool:
    """Whether the `functions` file holds the name at all: it may make functions in ways that only running shows."""
    file = functions_path(context.snapshot, context.path)
    text = read_text(file) if file else None
    return text is not None and re.search(rf"\b{re.escape(name)}\b", text) is not None


RULE = Rule(
    name="unknown-function",
    summary="a call of a function that nobody provides",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
