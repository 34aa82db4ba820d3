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

from collections.abc import Iterator, Mapping
from typing import Any, Final

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
from promptls.lint.rule import JINJA_KINDS, CheckNames, FileContext, Finding, Rule
from promptls.settings.project import Project
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


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
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


def facts(context: FileContext) -> dict[str, object]:
    """Return what the names lead to that the file calls, where that is one thing all over the file."""
    names_called = called_names(context.template.source.root)
    own = names_called & _OWN.keys() - bound_names(context.template.names)
    return {**callees_of(context, names_called), **{name: Callee(_OWN[name]) for name in own}}


def check_names(chunk: Chunk, callees: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the arguments of calls in the chunk that do not fit."""
    for start, name, call in chunk_calls(chunk):
        callee: Callee | None = callees.get(name)
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
    summary="wrong arguments of a call",
    severity="error",
    module=__name__,
    kinds=JINJA_KINDS,
    check_chunk=check_chunk,
    reads_prose=False,
    check_names=CheckNames(facts, called_names, check_names),
)
