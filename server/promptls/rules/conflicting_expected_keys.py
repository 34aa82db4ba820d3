"""Keys that a part expects of its data, at odds with what is declared and read.

## What it does

Compares the `expected_template_data_keys` of a part with the file's inputs and with what the part reads.
It reports

- a key that `input_keys` does not declare, in a file that declares its inputs,
- in other files, a key that neither the file nor anything that it includes reads,
- a variable that the part reads and the list does not have.

## Why is this bad?

Prompt Poet refuses data that lacks an expected key: "Missing replacement values for keys". A key too much
makes callers fail for nothing; a variable that the list leaves out can be missing without a word.

## Example

```yaml
{#---
input_keys: [character]
---#}
- name: intro
  expected_template_data_keys: [charcter]
                                ^^^^^^^^ conflicting-expected-keys: Prompt Poet refuses data without `charcter`, and `input_keys` does not have it; did you mean `character`?
  content: You are {{ escape_special_characters(character) }}.
```

Use instead:

```yaml
{#---
input_keys: [character]
---#}
- name: intro
  expected_template_data_keys: [character]
  content: "You are {{ escape_special_characters(character) }}."
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.meaning.parts import chunk_items
from promptls.meaning.scopes import GLOBALS, INJECTED, chunk_events
from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import chunks_where, united
from promptls.syntax.yaml.nodes import Sequence, scalar_text
from promptls.text.nearest import nearest
from promptls.text.span import Span
from promptls.workspace.contract import contract_of, function_names

_KEY: Final = "expected_template_data_keys"


class _Expecting(NamedTuple):
    """The keys that a part lists, where its list stands and could go on, and what the part reads."""

    listed: tuple[tuple[str, Span], ...]
    place: Span
    end: int | None
    read: frozenset[str]


def check(context: FileContext) -> Iterator[Finding]:
    """The expected keys of the file's parts that do not fit."""
    for located in chunks_where(context.template.source.root, _is_expecting):
        for part in _expecting(located.chunk):
            yield from _in_part(context, part, context.template.names.input_names, located.start)


def _in_part(context: FileContext, part: _Expecting, inputs: frozenset[str], start: int) -> Iterator[Finding]:
    functions = function_names(context.snapshot, context.path)
    unlisted = (part.read & inputs) - {name for name, _ in part.listed} - (functions or frozenset())
    for name, span in part.listed:
        if name in part.read or name in INJECTED or functions is None or name in functions:
            continue
        message = _objection(context, name)
        if message:
            meant = nearest(name, unlisted)
            yield misspelt(span.shifted(start), message, name, {meant} if meant else ())
            unlisted -= {meant or ""}
    if unlisted and functions is not None:
        names = ", ".join(f"`{name}`" for name in sorted(unlisted))
        message = f"this part reads {names} too, and nobody says so where that is missing"
        fixes: tuple[Fix, ...] = ()
        if part.end is not None:
            added = Edit(Span(part.end, part.end), "".join(f", {name}" for name in sorted(unlisted)))
            fixes = (Fix(f"Add {names}", (added,)).shifted(start),)
        yield Finding(part.place.shifted(start), message, fixes, severity="information")


def _objection(context: FileContext, name: str) -> str:
    """What is wrong with a key that its own part does not read; empty where nothing is."""
    declared = context.template.declarations.inputs
    if declared is not None:
        if name in {key.name for key in declared}:
            return ""
        return f"Prompt Poet refuses data without `{name}`, and `input_keys` does not have it"
    contract = contract_of(context.snapshot, context.path)
    if not contract.is_whole or name in contract.names:
        return ""
    return f"Prompt Poet refuses data without `{name}`, and nothing reads it"


@kept
def _expecting(chunk: Chunk) -> tuple[_Expecting, ...]:
    """The parts of a chunk with a written-out list of expected keys."""
    if _KEY not in chunk.text:
        return ()
    found = []
    parts = chunk_items(chunk).parts
    for index, part in enumerate(parts):
        entry = part.entry(_KEY)
        node = entry.value if entry else None
        if entry is None or not isinstance(node, Sequence):
            continue
        items = [(text, item.span) for item in node.items if (text := scalar_text(item)) is not None]
        if len(items) < len(node.items):
            continue
        end = parts[index + 1].span.start if index + 1 < len(parts) else len(chunk.text)
        read = {
            event.name
            for event in chunk_events(chunk)
            if event.action == "read" and event.detail != "call" and part.span.start <= event.span.start < end
        }
        is_flow = chunk.text[node.span.start : node.span.start + 1] == "["
        last = node.items[-1].span.end if node.items and is_flow else None
        found.append(_Expecting(tuple(items), entry.key.span, last, frozenset(read - GLOBALS - INJECTED)))
    return tuple(found)


_is_expecting: Final = united(lambda chunk: bool(_expecting(chunk)), any)

RULE = Rule(
    name="conflicting-expected-keys",
    summary="keys that a part expects of its data, at odds with what is declared and read",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
