"""Wrong arguments of a call.

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

from collections.abc import Iterator, Mapping
from typing import Final

from promptls.lint.analysis.calls import (
    Callee,
    bound_names,
    called_names,
    callees_of,
    chunk_calls,
    is_call_block,
    misfits,
    wrong_loop_calls,
)
from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule, each_chunk
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.builtins import (
    FILTERS,
    FUNCTIONS,
    TESTS,
    Signature,
    Taken,
    filter_signature,
    test_signature,
)
from promptls.syntax.jinja.nodes import Attribute, Filter, Test
from promptls.syntax.jinja.problems import expressions_in, tag_problems

_OWN: Final = {
    **{name: FUNCTIONS[name][0] for name in ("range", "lipsum", "cycler", "joiner")},
    "escape_special_characters": Signature(
        "escape_special_characters", (Taken("string", "string", is_required=True),)
    ),
}
"""The functions that every template has, without `dict` and `namespace`, which take whatever Python's do."""


def check(file: File) -> Iterator[Finding]:
    """Yield the arguments that do not fit."""
    yield from _of_filters_and_tests(file)
    if called_names(file.chunks):
        callees = _callees(file)
        for located in file.chunks.where(called_names):
            for finding in _of_calls(located.chunk, callees):
                yield finding.shifted(located.start)


@each_chunk
def _of_filters_and_tests(chunk: Chunk) -> Iterator[Finding]:
    """Yield the arguments of filters and tests that do not fit."""
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name in FILTERS:
            signature = filter_signature(node.name)
        elif isinstance(node, Test) and node.name in TESTS:
            signature = test_signature(node.name)
        else:
            continue
        if signature.parameters or node.arguments:
            found = [*misfits(signature, node.arguments, node.name_span)]
            if not found or _is_broken(chunk, start):
                continue
            for finding in found:
                yield finding.shifted(start)
    yield from wrong_loop_calls(chunk)


def _is_broken(chunk: Chunk, start: int) -> bool:
    """Return whether the tag that begins there has a syntax error, which may be in the arguments."""
    return any(
        tag.span.start <= problem.span.start < tag.span.end
        for tag in chunk.tags
        if tag.span.start == start
        for problem in tag_problems(chunk)
    )


def _callees(file: File) -> dict[str, Callee]:
    """Return what the names lead to that the file calls, where that is one thing all over the file."""
    names_called = called_names(file.template.source.root)
    own = names_called & _OWN.keys() - bound_names(file.template.names)
    return {**callees_of(file, names_called), **{name: Callee(_OWN[name]) for name in own}}


def _of_calls(chunk: Chunk, callees: Mapping[str, Callee]) -> Iterator[Finding]:
    """Yield the arguments of calls in the chunk that do not fit."""
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


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
