"""An attribute that `loop` does not have.

## What it does

Reports attributes of a loop's `loop` that Jinja does not know, such as `loop.count` and `loop.parent`. Where
no loop of the file is around, only those that are like one that it knows: `loop.idx`, `loop.lenght`.

## Why is this bad?

Jinja prints nothing for them, and takes them for false in a condition.

## Example

```yaml
{% for document in documents %}
- name: document
  content: |
    {{ loop.idx }}. {{ escape_special_characters(document) }}
            ^^^ unknown-loop-attribute: `loop` has no `idx`; did you mean `index`?
{% endfor %}
```

Use instead:

```yaml
{% for document in documents %}
- name: document
  content: |
    {{ loop.index }}. {{ escape_special_characters(document) }}
{% endfor %}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.rules.facts.aspects import names
from promptls.rules.fixes.misspelt import misspelt
from promptls.rules.rule import JINJA_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import union, united
from promptls.syntax.jinja.builtins import LOOP
from promptls.syntax.jinja.nodes import Attribute, Constant, Item, Name
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.nearest import nearest
from promptls.text.span import Span


def check(context: FileContext) -> Iterator[Finding]:
    """The attributes of `loop` that it does not have: in a loop of this file all, elsewhere those misspelt."""
    root = context.template.source.root
    if not _unknown(root):
        return
    file_names = context.template.names
    is_ambiguous = "loop" in union([file_names.bound_names(kind) for kind in _OWN_BINDINGS])
    for located, resolver in file_names.scopes_where(_unknown):
        loops = {
            reading.span.start
            for reading in resolver.readings(located.chunk, located.start)
            if reading.name == "loop" and reading.binding is not None
        }
        for name, span, target in _asked(located.chunk):
            if nearest(name, LOOP) or (target.start + located.start in loops and not is_ambiguous):
                yield _finding(name, span).shifted(located.start)


def _finding(name: str, span: Span) -> Finding:
    message = f"`loop` has no `{name}`"
    meant = _ELSEWHERE.get(name)
    if meant is None:
        return misspelt(span, message, name, LOOP)
    fix = Fix(f"Change to `{meant}`", (Edit(span, meant),))
    return Finding(span, f"{message}; did you mean `{meant}`?", (fix,))


@kept
def _asked(chunk: Chunk) -> tuple[tuple[str, Span, Span], ...]:
    """The attributes that the chunk asks of a `loop` and that no loop has: name, place, place of `loop`."""
    found = []
    for start, node in expressions_in(chunk):
        match node:
            case Attribute(target=Name(name="loop", span=target), name=name, name_span=span) if name:
                pass
            case Item(target=Name(name="loop", span=target), key=Constant(value=str() as name, span=quoted)):
                span = Span(quoted.start + 1, max(quoted.end - 1, quoted.start + 1))
            case _:
                continue
        if name not in LOOP:
            found.append((name, span.shifted(start), target.shifted(start)))
    return tuple(found)


_ELSEWHERE: Final = {
    "count": "length",
    "counter": "index",
    "counter0": "index0",
    "iteration": "index",
    "revcounter": "revindex",
    "revcounter0": "revindex0",
    "size": "length",
    "total": "length",
}
"""What the loops of other template languages have, and the same of Jinja's."""
_OWN_BINDINGS: Final = ("set", "for", "macro", "import", "with", "parameter")
_unknown: Final = united(lambda chunk: frozenset(name for name, *_ in _asked(chunk)), union, of_tags=True)
"""The attributes that a piece asks of a `loop` and that no loop has."""
_each_unknown: Final = united(
    lambda chunk: tuple(name for name, *_ in _asked(chunk)), tuple[object, ...], of_tags=True
)
"""The same, each as often as it is asked for."""


def _unknown_attributes(context: FileContext) -> object:
    return _each_unknown(context.template.source.root)


RULE = Rule(
    name="unknown-loop-attribute",
    summary="an attribute that `loop` does not have",
    severity="warning",
    module=__name__,
    kinds=JINJA_KINDS,
    check=check,
    looks_at=(_unknown_attributes, names),
)
