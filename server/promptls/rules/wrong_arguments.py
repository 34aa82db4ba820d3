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
from dataclasses import replace
from typing import Final

from promptls.meaning.scopes import INJECTED
from promptls.rules.argument_fit import misfits
from promptls.rules.macro_calls import callee_of, has_known_callee
from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, Rule
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import Piece, chunks_where, union, united
from promptls.syntax.jinja.builtins import FILTERS, FUNCTIONS, TESTS, filter_signature, test_signature
from promptls.syntax.jinja.nodes import Attribute, Call, Filter, Name, Test
from promptls.syntax.jinja.problems import expressions_in
from promptls.syntax.jinja.signature import Signature, Taken

_ESCAPE: Final = Signature("escape_special_characters", (Taken("string", "string", is_required=True),))
_CHECKED_FUNCTIONS: Final = frozenset({"range", "lipsum", "cycler", "joiner"})
"""Those of Jinja's functions that do not take whatever Python's `dict` takes."""


@kept
def _in_built_ins(chunk: Chunk) -> tuple[Finding, ...]:
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
            found += _shifted(misfits(signature, node.arguments, node.name_span), start)
    return tuple(found)


def _shifted(findings: Iterator[Finding], by: int) -> Iterator[Finding]:
    for finding in findings:
        fixes = tuple(fix.shifted(by) for fix in finding.fixes)
        yield replace(finding, span=finding.span.shifted(by), fixes=fixes)


_has_misfits: Final = united(lambda chunk: bool(_in_built_ins(chunk)), any)


@kept
def _calls(chunk: Chunk) -> dict[int, tuple[Call, int]]:
    """The calls of names, and of attributes of names, by where the name stands; and their tag's start."""
    found: dict[int, tuple[Call, int]] = {}
    for start, node in expressions_in(chunk):
        if isinstance(node, Call):
            owner = node.function.target if isinstance(node.function, Attribute) else node.function
            if isinstance(owner, Name):
                found[start + owner.span.start] = (node, start)
    return found


def _chunk_called(chunk: Chunk) -> frozenset[str]:
    found = set()
    for call, _ in _calls(chunk).values():
        owner = call.function.target if isinstance(call.function, Attribute) else call.function
        if isinstance(owner, Name):
            found.add(owner.name)
    return frozenset(found)


_called: Final = united(_chunk_called, union)
"""The names that a piece calls, or calls something of."""


def check(context: FileContext) -> Iterator[Finding]:
    """The calls whose arguments do not fit."""
    root = context.template.source.root
    for located in chunks_where(root, _has_misfits):
        yield from _shifted(iter(_in_built_ins(located.chunk)), located.start)
    known = _called(root) & (has_known_callee(context, _called(root)) | _CHECKED_FUNCTIONS | INJECTED)
    if not known:
        return

    def is_wanted(piece: Piece) -> bool:
        return not known.isdisjoint(_called(piece))

    for located, resolver in context.template.names.scopes_where(is_wanted):
        calls = _calls(located.chunk)
        for reading in resolver.readings(located.chunk, located.start):
            call, start = calls.get(reading.span.start - located.start, (None, 0))
            if call is None or reading.name not in known:
                continue
            if reading.binding is None and isinstance(call.function, Name):
                signature = _own_function(reading.name)
                if signature is not None:
                    findings = misfits(signature, call.arguments, call.function.span)
                    yield from _shifted(findings, located.start + start)
                    continue
            callee = callee_of(context, reading, call, located.chunk, start)
            if callee is not None:
                place = (
                    call.function.name_span if isinstance(call.function, Attribute) else call.function.span
                )
                findings = misfits(callee.signature, call.arguments, place, lacking=callee.lacking)
                yield from _shifted(findings, located.start + start)
                if callee.is_in_block and not callee.takes_caller:
                    message = f"`{callee.signature.name}` never uses `caller`, and a `call` block passes one"
                    yield Finding(place.shifted(located.start + start), message)


def _own_function(name: str) -> Signature | None:
    """What a function of Jinja or Prompt Poet takes."""
    if name in _CHECKED_FUNCTIONS:
        return FUNCTIONS[name][0]
    return _ESCAPE if name == _ESCAPE.name else None


RULE = Rule(
    name="wrong-arguments",
    summary="arguments that do not fit what is called",
    severity="error",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
