"""A key that stands twice in a header, a prompt object or an evaluation prompt.

## What it does

Reports a key that an earlier line of the same mapping has already, at any depth, and a name that stands
twice in the list of `input_keys`. Keys in branches that exclude each other are fine. What parts hold is
for `duplicate-part-key`.

## Why is this bad?

YAML keeps the last one and says nothing: what the first one says is lost.

## Example

```yaml
instruction: Answer the question.
instruction: Answer in one word.
^^^^^^^^^^^ duplicate-key: `instruction` stands twice; YAML drops the first one
input_keys: [question]
output_key: answer
```

Use instead:

```yaml
instruction: Answer the question in one word.
input_keys: [question]
output_key: answer
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from promptls.meaning.branches import are_exclusive, chunk_branches
from promptls.meaning.kind import Kind
from promptls.rules.aspects import declarations
from promptls.rules.mapping_edits import removed_item
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Fix, Rule
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence, key_text, scalar_text
from promptls.text.span import Span

_Exclude = Callable[[Span, Span], bool]


def check(context: FileContext) -> Iterator[Finding]:
    """The keys that stand twice in what the file declares."""
    tree = context.template.declarations.tree
    if tree is None:
        return
    excludes = _excludes(context) if context.kind in {Kind.OBJECT, Kind.EVALUATION} else None
    yield from _in(tree, excludes)
    names = tree.value("input_keys")
    if isinstance(names, Sequence):
        yield from _in_list(context, names)


def _excludes(context: FileContext) -> _Exclude:
    branches = chunk_branches(context.template.source.first_chunk)
    return lambda one, other: are_exclusive(branches.at(one.start), branches.at(other.start))


def _in(node: Node, excludes: _Exclude | None) -> Iterator[Finding]:
    if isinstance(node, Mapping):
        seen: dict[str, Span] = {}
        for entry in node.entries:
            key = key_text(entry)
            if key is not None and key != "<<":
                first = seen.setdefault(key, entry.key.span)
                if first != entry.key.span and not (excludes and excludes(first, entry.key.span)):
                    yield Finding(entry.key.span, f"`{key}` stands twice; YAML drops the first one")
            yield from _in(entry.value, excludes)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _in(item, excludes)


def _in_list(context: FileContext, names: Sequence) -> Iterator[Finding]:
    seen: set[str] = set()
    for item in names.items:
        name = scalar_text(item)
        if name is not None and name in seen:
            removed = removed_item(context.template.source.text, names, item)
            fixes = (Fix(f"Remove the second `{name}`", (removed,), preferred=True),) if removed else ()
            yield Finding(item.span, f"`{name}` stands twice in `input_keys`", fixes)
        elif name is not None:
            seen.add(name)


RULE = Rule(
    name="duplicate-key",
    summary="a key that stands twice in a header, a prompt object or an evaluation prompt",
    severity="warning",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
    looks_at=(declarations,),
)
