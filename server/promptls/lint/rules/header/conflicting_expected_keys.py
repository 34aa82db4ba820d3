"""Expected keys of a part contradict the declared or read inputs.

## What it does

Compares the `expected_template_data_keys` of a part with the file's inputs and with what the part reads.
Reports

- a key that `input_keys` does not declare, in a file that declares its inputs,
- in other files, a key that neither the file nor anything that it includes reads,
- a variable that the part reads but the list does not contain, unless the template handles it as
  optional wherever it reads it.

## Why is this bad?

Prompt Poet refuses data that lacks an expected key: "Missing replacement values for keys". An unneeded
key makes callers fail for no reason; a variable that is not in the list can be missing without an error.

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

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from promptls.lint.analysis.unmatched_names import declared_names
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.names.scopes import GLOBALS, INJECTED, chunk_events
from promptls.semantic.parts import chunk_items
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.yaml.nodes import Sequence, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.workspace.contract import contract_of, function_names

_KEY: Final = "expected_template_data_keys"


class _Expecting(NamedTuple):
    """The keys that a part lists, the list's span and insertion point, and the names that the part reads."""

    listed: tuple[tuple[str, Span], ...]
    place: Span
    end: int | None
    read: frozenset[str]


class _Fact(NamedTuple):
    """Whether a name is a required input, and the reason that listing it is wrong."""

    is_needed: bool
    problem: str


def check(file: File) -> Iterator[Finding]:
    """Yield the expected keys of parts that conflict with the file."""
    if _all_names(file.chunks):
        known = _facts(file)
        for located in file.chunks.where(_all_names):
            for finding in _in_chunk(located.chunk, known):
                yield finding.shifted(located.start)


def _facts(file: File) -> dict[str, _Fact]:
    """Return the facts about the names that parts list or read.

    Return nothing if the functions file, which may provide any of the names, cannot be read.
    """
    functions = function_names(file.snapshot, file.path)
    if functions is None:
        return {}
    inputs = file.template.names.input_names
    declared = declared_names(file)  # `undeclared-input` reports the other names
    undeclared = frozenset[str]() if declared is None else inputs - declared
    root = file.template.source.root
    listed = _listed(root)
    mentioned = _all_names(root) - functions
    shapes = used_shapes(file.template) if mentioned else {}
    return {
        name: _Fact(
            name in inputs - undeclared and not (name in shapes and shapes[name].optional),
            _problem_of(file, name) if name in listed else "",
        )
        for name in mentioned
    }


def _in_chunk(chunk: Chunk, known: Mapping[str, _Fact]) -> Iterator[Finding]:
    """Yield the expected keys of the chunk's parts that conflict with the facts."""
    for part in _expecting(chunk):
        unlisted = {name for name in part.read if name in known and known[name].is_needed}
        unlisted -= {name for name, _ in part.listed}
        for name, span in part.listed:
            if name in part.read or name in INJECTED or name not in known:
                continue
            if message := known[name].problem:
                meant = nearest(name, unlisted)
                yield misspelled(span, message, name, {meant} if meant else ())
                unlisted -= {meant or ""}
        if unlisted:
            written = ", ".join(f"`{name}`" for name in sorted(unlisted))
            message = f"this part reads {written} too, which is not among its expected keys"
            fixes: tuple[Fix, ...] = ()
            if part.end is not None:
                added = Edit(Span(part.end, part.end), "".join(f", {name}" for name in sorted(unlisted)))
                fixes = (Fix(f"Add {written}", (added,)),)
            yield Finding(part.place, message, fixes, severity="information")


def _problem_of(file: File, name: str) -> str:
    """Return the problem of a listed key that its part does not read; empty if there is none."""
    declared = file.template.declarations.inputs
    if declared is not None:
        if name in {key.name for key in declared}:
            return ""
        return f"Prompt Poet refuses data without `{name}`, and `input_keys` does not have it"
    contract = contract_of(file.snapshot, file.path)
    if not contract.is_whole or name in contract.names:
        return ""
    return f"Prompt Poet refuses data without `{name}`, and nothing reads it"


@chunk_fact
def _expecting(chunk: Chunk) -> tuple[_Expecting, ...]:
    """Return the parts of a chunk with a literal list of expected keys."""
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


_listed: Final = summary(
    lambda chunk: frozenset(name for part in _expecting(chunk) for name, _ in part.listed), union
)
"""The names that the parts of a piece list."""
_all_names: Final = summary(
    lambda chunk: union([_listed(chunk), *(part.read for part in _expecting(chunk))]), union
)
"""The names that the parts of a piece with expected keys list or read."""


RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
