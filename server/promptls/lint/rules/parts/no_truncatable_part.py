"""Token limit without a part that can be truncated.

## What it does

In a file that declares `token_limit`, reports that neither the file nor anything that it includes has a
part with a `truncation_priority` above 0. Nothing is reported if Jinja prints a priority, or if an
include cannot be resolved.

## Why is this bad?

Truncation only removes parts with a positive priority. If the prompt exceeds the limit, it fails with
`TruncationError`, and nothing is sent.

## Example

```yaml
{#---
token_limit: 1000
^^^^^^^^^^^ no-truncatable-part: no part has a `truncation_priority` above 0: over the limit, truncation fails
---#}
- name: history
  content: Hello.
```

Use instead:

```yaml
{#---
token_limit: 1000
---#}
- name: history
  truncation_priority: 1
  content: Hello.
```
"""

from __future__ import annotations

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.lint.rule import File, Finding, Rule
from promptls.lint.rules.parts.unknown_part_key import meant_key
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_items
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.yaml.nodes import Scalar, key_text
from promptls.syntax.yaml.under_jinja import chunk_yaml


def check(file: File) -> tuple[Finding, ...]:
    """Yield a finding at the declared limit if no part can be truncated."""
    declarations = file.template.declarations
    place = declarations.key_span("token_limit")
    if place is None or declarations.settings.token_limit is None:
        return ()
    for path in file.snapshot.included(file.path):
        template = file.snapshot.template(path)
        if template is None or any(map(_may_be_cut, template.source.chunks)):
            return ()
        if any(
            not file.snapshot.resolve(path, reference) and not reference.ignore_missing
            for reference in template.references
        ):
            return ()
    message = "no part has a `truncation_priority` above 0: over the limit, truncation fails"
    return (Finding(place, message),)


@chunk_fact
def _may_be_cut(chunk: Chunk) -> bool:
    """Return whether a part of the chunk has, or may have, a positive priority."""
    if "truncation_priority" in chunk.text and chunk_yaml(chunk).problems:
        return True
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            key = key_text(entry)
            if key is None or key == "<<":
                return True
            is_priority = key == "truncation_priority" or (
                key not in PART_KEYS and meant_key(key) == "truncation_priority"
            )
            if is_priority and _is_positive(entry.value):
                return True
    return False


def _is_positive(value: object) -> bool:
    """Return whether a value is, or may be, above 0."""
    if not isinstance(value, Scalar) or value.dynamic:
        return True
    try:
        return float(value.text) > 0
    except ValueError:
        return True


RULE = Rule(check, severity="information", kinds=frozenset({Kind.PARTS}))
