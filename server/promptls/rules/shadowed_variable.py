"""A name that hides another one.

## What it does

Reports a loop variable, a `with` and a `set` inside a loop or another block with names of its own, where
the name is a declared input or is bound outside of the block already. A parameter of a macro is a hint.

## Why is this bad?

Inside the block the outer value cannot be reached. And what is `set` in a loop is gone with each turn:
`{% set found = true %}` in a loop leaves the outer `found` as it was. A `namespace` keeps it.

## Example

```yaml
{% set found = false %}
- name: tickets
  content: |
    {%- for ticket in tickets %}
    {%- if ticket.is_open %}{% set found = true %}{% endif %}
                                   ^^^^^ shadowed-variable: this sets another `found`, which is gone at the end of the turn; the outer one stays as it is
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

from promptls.meaning.names import chunk_bindings
from promptls.meaning.scopes import Binding, NameEvent, Resolver, chunk_events, placed
from promptls.rules.rule import PARTS_KINDS, FileContext, Finding, RelatedPlace, Rule, Severity
from promptls.syntax.group import united
from promptls.text.span import Span

_WORDS: Final = {"for": "this loop variable", "with": "this `with`", "parameter": "this parameter"}
_may_hide: Final = united(
    lambda chunk: any(binding.kind in {*_WORDS, "set"} for binding in chunk_bindings(chunk)), any
)


def check(context: FileContext) -> Iterator[Finding]:
    """The names that hide another one."""
    root = context.template.source.root
    if not _may_hide(root):
        return
    inputs = {key.name: key.span for key in context.template.declarations.inputs or ()}
    for located, resolver in context.template.names.scopes_where(_may_hide):
        for event in chunk_events(located.chunk):
            if event.action == "read":
                continue
            if event.action == "open":
                for name, span, kind in event.bound:
                    if kind in _WORDS:
                        yield from _hiding(context, resolver, inputs, name, span.shifted(located.start), kind)
            elif event.action == "bind" and event.detail == "set" and len(resolver.scopes) > 1:
                yield from _lost(resolver, event, located.start, context, inputs)
            resolver.pass_event(event, located.start)


def _outer(resolver: Resolver, name: str) -> Binding | None:
    """What the name means around the place, as far as the file binds it."""
    for scope in reversed(resolver.scopes):
        known = scope.bound.get(name)
        if known is not None:
            return placed(known) if known[0].kind != "implied" else None
    return None


def _hiding(
    context: FileContext, resolver: Resolver, inputs: dict[str, Span], name: str, span: Span, kind: str
) -> Iterator[Finding]:
    outer = _outer(resolver, name)
    severity: Severity | None = "hint" if kind == "parameter" else None
    if outer is not None:
        line = context.template.source.place(outer.span.start).line + 1
        message = f"{_WORDS[kind]} hides the `{name}` of line {line}"
        related = RelatedPlace(context.path, outer.span, f"this `{name}` is hidden")
        yield Finding(span, message, related=(related,), severity=severity)
    elif name in inputs:
        related = RelatedPlace(context.path, inputs[name], "the input is declared here")
        message = f"{_WORDS[kind]} hides the input `{name}`"
        yield Finding(span, message, related=(related,), severity=severity)


def _lost(
    resolver: Resolver, event: NameEvent, start: int, context: FileContext, inputs: dict[str, Span]
) -> Iterator[Finding]:
    """A `set` in a block that leaves the outer variable of its name as it was."""
    if event.name in resolver.scopes[-1].bound:
        return
    outer = _outer(resolver, event.name)
    is_turn = resolver.scopes[-1].keyword == "for"
    when = "at the end of the turn" if is_turn else f"at the end of this `{resolver.scopes[-1].keyword}`"
    message = f"this sets another `{event.name}`, which is gone {when}; the outer one stays as it is"
    place = outer.span if outer is not None else inputs.get(event.name)
    if place is not None and (outer is None or outer.kind in {"set", "for", "with", "parameter"}):
        related = RelatedPlace(context.path, place, f"the outer `{event.name}`")
        yield Finding(event.span.shifted(start), message, related=(related,))


RULE = Rule(
    name="shadowed-variable",
    summary="a name that hides another one",
    severity="information",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
