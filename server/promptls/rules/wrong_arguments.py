"""Arguments that do not fit what is called.

## What it does

Compares the arguments of filters, tests, Jinja's functions, macros and the functions of the `functions`
file with what these take: too many, too few, unknown names, one given twice. An argument that a macro
lacks is a hint: it is empty inside of the macro.

## Why is this bad?

Rendering fails with a TypeError where the call is reached.

## Example

```yaml
- name: ticket
  content: |
    {{ text | truncate(lenght=100) }}
                       ^^^^^^ wrong-arguments: `truncate` has no argument `lenght`; did you mean `length`?
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ text | truncate(length=100) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.rules.argument_fit import misfits
from promptls.rules.macro_calls import (
    Callees,
    bound_names,
    called_names,
    callees_of,
    chunk_calls,
    is_call_block,
)
from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, Rule
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import Piece, chunks_where, united
from promptls.syntax.jinja.builtins import FILTERS, FUNCTIONS, TESTS, filter_signature, test_signature
from promptls.syntax.jinja.nodes import Attribute, Filter, Name, Test
from promptls.syntax.jinja.problems import expressions_in
from promptls.syntax.jinja.signature import Signature, Taken

_OWN: Final = {
    **{name: FUNCTIONS[name][0] for name in ("range", "lipsum", "cycler", "joiner")},
    "escape_special_characters": Signature(
        "escape_special_characters", (Taken("string", "string", is_required=True),)
    ),
}
"""The functions that every template has, without `dict` and `namespace`, which take whatever Python's do."""


@kept
def _in_filters(chunk: Chunk) -> tuple[Finding, ...]:
    """The misfits in filters and tests of the chunk; spans count from its start."""
    found: list[Finding] = []
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name in FILTERS:
            signature = filter_signature(node.name)
        elif isinstance(node, Test) and node.name in TESTS:
            signature = test_signature(node.name)
        else:
            continue
        if signature.parameters or node.arguments:
            found += (each.shifted(start) for each in misfits(signature, node.arguments, node.name_span))
    return tuple(found)


@kept
def _in_functions(chunk: Chunk) -> tuple[Finding, ...]:
    """The misfits in calls of Jinja's and Prompt Poet's own functions; spans count from the chunk's start."""
    return tuple(
        finding.shifted(start)
        for start, name, call in chunk_calls(chunk)
        if name in _OWN and isinstance(call.function, Name)
        for finding in misfits(_OWN[name], call.arguments, call.function.span)
    )


_filter_misfits: Final = united(lambda chunk: bool(_in_filters(chunk)), any)
_function_misfits: Final = united(lambda chunk: bool(_in_functions(chunk)), any)


def check(context: FileContext) -> Iterator[Finding]:
    """The calls whose arguments do not fit."""
    root = context.template.source.root
    for located in chunks_where(root, _filter_misfits):
        yield from (each.shifted(located.start) for each in _in_filters(located.chunk))
    for located in chunks_where(root, _function_misfits):
        if _OWN.keys().isdisjoint(bound_names(context.template.names)):
            yield from (each.shifted(located.start) for each in _in_functions(located.chunk))
    callees = callees_of(context, called_names(root))
    if callees:
        yield from _in_piece(root, callees)


def _in_piece(piece: Piece, callees: Callees) -> tuple[Finding, ...]:
    """The misfits in calls of what the file knows, kept with the piece as long as that stays the same."""
    if called_names(piece).isdisjoint(callees):
        return ()
    known = piece.kept.get(_in_piece)
    if isinstance(known, tuple) and known[0] == callees:
        return known[1]  # type: ignore[no-any-return]  # put there below
    if isinstance(piece, Chunk):
        found = tuple(_in_chunk(piece, callees))
    else:
        children: tuple[Piece, ...] = piece.children
        found = tuple(
            finding.shifted(start)
            for start, child in zip(piece.starts, children, strict=False)
            for finding in _in_piece(child, callees)
        )
    piece.kept[_in_piece] = (callees, found)
    return found


def _in_chunk(chunk: Chunk, callees: Callees) -> Iterator[Finding]:
    for start, name, call in chunk_calls(chunk):
        callee = callees.get(name)
        function = call.function
        if isinstance(function, Attribute):
            callee = callee.members.get(function.name) if callee else None
        if callee is None or callee.signature is None:
            continue
        place = function.name_span if isinstance(function, Attribute) else function.span
        for finding in misfits(callee.signature, call.arguments, place, lacking=callee.lacking):
            yield finding.shifted(start)
        if callee.is_macro and not callee.takes_caller and is_call_block(chunk, start, call):
            message = f"`{callee.signature.name}` never uses `caller`, and a `call` block passes one"
            yield Finding(place.shifted(start), message)


RULE = Rule(
    name="wrong-arguments",
    summary="arguments that do not fit what is called",
    severity="error",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
