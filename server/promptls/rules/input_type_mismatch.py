"""An input that is used in a way that its declared type does not allow.

## What it does

Compares the JSON Schemas of `input_keys` with how the file uses the inputs, their parts, and the
elements of lists: a loop over a number, an attribute that a text does not have, a call of what is no
function, arithmetic with a text, `escape_special_characters` of anything but a text. Nothing is said
of an input without a `type`, and of one whose type the template itself tests.

## Why is this bad?

Rendering fails, or, for an attribute that is not there, prints nothing.

## Example

```yaml
{#---
input_keys:
  user: {type: string}
---#}
- name: ticket
  content: |
    Written by {{ user.name | tojson }}.
                  ^^^^^^^^^ input-type-mismatch: `user` is declared as a string, which has no `name`
```

Use instead:

```yaml
{#---
input_keys:
  user: {type: object, properties: {name: {type: string}}}
---#}
- name: ticket
  content: |
    Written by {{ user.name | tojson }}.
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptls.meaning.paths import Path
from promptls.meaning.shape import Shape, shape_of_schema
from promptls.meaning.shapes import resolved_uses, used_shapes
from promptls.rules.declared_types import mismatch
from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, RelatedPlace, Rule


def check(context: FileContext) -> Iterator[Finding]:
    """The uses that a declared type does not allow."""
    typed = {key.name: key for key in context.template.declarations.inputs or () if "type" in key.schema}
    if not typed:
        return
    used = used_shapes(context.template)
    doubtful = {
        name
        for name, key in typed.items()
        if name in used and _may_differ(shape_of_schema(key.schema), used[name], key.schema)
    }
    if not doubtful:
        return
    uses = [use for use in resolved_uses(context.template) if use.path[0].key in doubtful]
    tested = {_keys(use.path) for use in uses if use.shape.kind == "any"}
    seen = set()
    for use in uses:
        name = str(use.path[0].key)
        if any(_keys(use.path)[: len(other)] == other for other in tested) or use.span in seen:
            continue
        said = mismatch(typed[name].schema, use)
        if said is not None:
            seen.add(use.span)
            related = RelatedPlace(context.path, typed[name].span, f"`{name}` is declared here")
            yield Finding(use.span, said, related=(related,))


def _keys(path: Path) -> tuple[object, ...]:
    return tuple(step.key for step in path)


def _may_differ(declared: Shape, used: Shape, schema: Any) -> bool:
    """Whether a use could be at odds with the declaration; said without going over the file."""
    if used.kind in {"unknown", "scalar"}:
        return False
    if used.kind != declared.kind or not isinstance(schema, Mapping):
        return True
    for name, below in used.keys:
        own = declared.key(name)
        if own is None and schema.get("additionalProperties") is False:
            return True
        properties = schema.get("properties")
        inner = properties.get(name) if isinstance(properties, Mapping) else None
        if own is not None and own.kind != "unknown" and _may_differ(own, below, inner):
            return True
    if used.element is None or declared.element is None or declared.element.kind == "unknown":
        return False
    return _may_differ(declared.element, used.element, schema.get("items"))


RULE = Rule(
    name="input-type-mismatch",
    summary="an input that is used in a way that its declared type does not allow",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
