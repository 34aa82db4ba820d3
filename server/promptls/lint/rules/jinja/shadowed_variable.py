"""Name that hides an outer variable.

Reports a loop variable, a `with`, or a `set` inside a loop or another block with its own scope, if the
name is a declared input or is already bound outside of the block. Also reports names that hide one of
Jinja's (`range`, `dict`, `namespace`, …) or Prompt Poet's. A parameter of a macro is a hint, and so is the
variable of a loop over an undeclared input of the same name, as in `{% for x in x %}`. A `set` in a loop is a warning if its value is needed after the iteration: if it adds to the outer variable
(`{% set total = total + 1 %}`), or if only the outer variable is ever read.

## Why is this bad?

Inside the block, the outer value is inaccessible. And a variable that is `set` in a loop is lost after
each iteration: `{% set found = true %}` in a loop does not change the outer `found`. Use a `namespace`
to preserve it.

## Example

```yaml
{% set found = false %}
- name: tickets
  content: |
    {%- for ticket in tickets %}
    {%- if ticket.is_open %}{% set found = true %}{% endif %}
                                   ^^^^^ shadowed-variable: this `found` is lost at the end of the iteration, and nothing reads it; use a `namespace`
    {%- endfor %}
    {{ "Some are open." if found else "None is open." }}
```

Use instead:

```yaml
{% set seen = namespace(open=false) %}
- name: tickets
  content: |
    {%- for ticket in tickets %}
    {%- if ticket.is_open %}{% set seen.open = true %}{% endif %}
    {%- endfor %}
    {{ "Some are open." if seen.open else "None is open." }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.loop_names import singular_lists
from promptls.lint.analysis.unmatched_names import adds_up, in_namespace, is_lost, names_in_scope
from promptls.lint.rule import JINJA_KINDS, File, Finding, RelatedInformation, Severity, each_chunk, rule
from promptls.semantic.names.file_names import chunk_bindings
from promptls.semantic.names.scopes import (
    GLOBALS,
    INJECTED,
    Binding,
    NameEvent,
    Resolver,
    chunk_events,
    place_binding,
)
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in, occurring
from promptls.syntax.jinja.nodes import Name
from promptls.syntax.jinja.problems import loops_in
from promptls.text.positions import Span

_WORDS: Final = {"for": "this loop variable", "with": "this `with`", "parameter": "this parameter"}
_bound: Final = occurring(lambda chunk: [each.name for each in chunk_bindings(chunk)])


@rule(severity="information", kinds=JINJA_KINDS)
def shadowed_variable(file: File) -> Iterator[Finding]:
    """Yield the names that hide another name."""
    inputs = {key.name: key.span for key in file.template.declarations.inputs}
    bound = _bound(file.chunks)
    suspicious = bound.repeated | (bound.all & inputs.keys())
    for located, resolver in file.template.names.scopes_where(
        lambda piece: not suspicious.isdisjoint(_bound(piece).all)
    ):
        for event in chunk_events(located.chunk):
            for name, span, kind in event.bound if event.action == "open" else ():
                if kind in _WORDS:
                    yield from _hiding(file, resolver, inputs, name, span.shifted(located.start), kind)
            if event.action == "bind" and event.detail == "set":
                yield from _lost(resolver, event, located.start, file, inputs)
            if event.action != "read":
                resolver.pass_event(event, located.start)
    yield from _hiding_own_list(file, frozenset(inputs))
    yield from _hiding_known(file)


def _outer(resolver: Resolver, name: str) -> Binding | None:
    """Return the visible binding of the name in the file, or None."""
    for scope in resolver.visible_scopes():
        known = scope.bound.get(name)
        if known is not None:
            return place_binding(known) if known[0].kind != "implied" else None
    return None


def _hiding(
    file: File, resolver: Resolver, inputs: dict[str, Span], name: str, span: Span, kind: str
) -> Iterator[Finding]:
    outer = _outer(resolver, name)
    severity: Severity | None = "hint" if kind == "parameter" else None
    if outer is not None:
        line = file.template.source.line_column(outer.span.start).line + 1
        message = f"{_WORDS[kind]} hides the `{name}` of line {line}"
        related = RelatedInformation(file.path, outer.span, f"this `{name}` is hidden")
        yield Finding(span, message, related=(related,), severity=severity)
    elif name in inputs:
        related = RelatedInformation(file.path, inputs[name], "the input is declared here")
        message = f"{_WORDS[kind]} hides the input `{name}`"
        yield Finding(span, message, related=(related,), severity=severity)


def _lost(
    resolver: Resolver, event: NameEvent, start: int, file: File, inputs: dict[str, Span]
) -> Iterator[Finding]:
    """Yield a `set` in a block that does not change the outer variable of the same name."""
    if event.name in resolver.scopes[-1].bound or len(resolver.scopes) == 1:
        return
    outer = _outer(resolver, event.name)
    is_loop = resolver.scopes[-1].keyword == "for"
    when = "at the end of the iteration" if is_loop else f"at the end of this `{resolver.scopes[-1].keyword}`"
    message = f"this sets another `{event.name}`, which is gone {when}; the outer one stays as it is"
    place = outer.span if outer is not None else inputs.get(event.name)
    if place is None or not (outer is None or outer.kind in {"set", "for", "with", "parameter"}):
        return
    span = event.span.shifted(start)
    related = RelatedInformation(file.path, place, f"the outer `{event.name}`")
    if is_loop and outer is not None and adds_up(file.template, event.name, outer, span):
        message = f"each iteration starts with the outer `{event.name}`: only a `namespace` accumulates over iterations"
        fixes = tuple(in_namespace(file.template, event.name, outer))
        yield Finding(span, message, fixes, (related,), severity="warning")
    elif is_loop and outer is not None and is_lost(file.template, event.name, outer, span):
        fixes = tuple(in_namespace(file.template, event.name, outer))
        message = f"this `{event.name}` is lost at the end of the iteration, and nothing reads it; use a `namespace`"
        yield Finding(span, message, fixes, (related,), severity="warning")
    else:
        yield Finding(span, message, related=(related,))


@chunk_fact
def _own_lists(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the variables of loops that iterate over a value of the same name."""
    found = []
    for start, loop in loops_in(chunk):
        match loop.targets, loop.expressions[0]:
            case (Name(name=name) as target,), Name(name=source) if name == source:
                found.append((name, target.span.shifted(start)))
    return tuple(found)


def _hiding_own_list(file: File, inputs: frozenset[str]) -> Iterator[Finding]:
    """Yield the loops over an input that is not declared whose variable has the input's name."""
    own_lists = [*items_in(file.chunks, _own_lists)]
    own_typos = {each.reference.name for each in singular_lists(file)} if own_lists else set()
    for located, (name, place) in own_lists:
        span = place.shifted(located.start)
        if name not in inputs | own_typos and name not in names_in_scope(file.template.names, span.start):
            message = f"this loop variable hides the list `{name}` that the loop iterates over"
            yield Finding(span, message, severity="hint")


_OWNERS: Final = dict.fromkeys(GLOBALS - {"self"}, "Jinja") | dict.fromkeys(INJECTED, "Prompt Poet")


@each_chunk
def _hiding_known(chunk: Chunk) -> Iterator[Finding]:
    """Yield the names bound in the chunk that are predefined by Jinja or Prompt Poet."""
    for binding in chunk_bindings(chunk):
        owner = _OWNERS.get(binding.name)
        if owner is not None:
            message = f"this hides the `{binding.name}` of {owner}"
            yield Finding(binding.span, message, severity="hint" if binding.kind == "parameter" else None)
