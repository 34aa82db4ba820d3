"""Whole list printed inside its own loop.

## What it does

Reports a tag that prints nothing but the list that a loop around it iterates over.

## Why is this bad?

Each iteration of the loop prints the whole list in Python's notation. Usually, the current element is
meant.

## Example

```yaml
- name: documents
  role: user
  content: |
    {% for document in documents %}
    - {{ documents }}
         ^^^^^^^^^ list-in-own-loop: each iteration of the loop prints the whole list; did you mean `document`?
    {% endfor %}
```

Use instead:

```yaml
- name: documents
  role: user
  content: |
    {% for document in documents %}
    - {{ document }}
    {% endfor %}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Rule
from promptls.semantic.names.template_names import statement_at
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import Attribute, Name
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import Span


@chunk_fact
def _printed(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names that a tag prints without anything else, or with one attribute."""
    found = []
    for tag in chunk.tags:
        expressions = tag_tree(tag).statement.expressions if tag.kind == "output" else ()
        node = expressions[0] if len(expressions) == 1 else None
        if isinstance(node, Attribute) and node.name not in _OF_LISTS:
            node = node.target
        if isinstance(node, Name):
            found.append((node.name, node.span.shifted(tag.span.start)))
    return tuple(found)


_OF_LISTS: Final = frozenset({"count", "index", "length", "name", "title"})
"""Attributes of lists and of objects that can also be iterated."""


def _looped(chunk: Chunk) -> frozenset[str]:
    """Return the names that loops of the chunk iterate over."""
    statements = [tag_tree(tag).statement for tag in chunk.tags if tag.kind == "statement"]
    return frozenset(
        statement.expressions[0].name
        for statement in statements
        if statement.keyword == "for" and statement.expressions and isinstance(statement.expressions[0], Name)
    )


_printed_names: Final = summary(lambda chunk: frozenset(name for name, _ in _printed(chunk)), union)
_looped_names: Final = summary(_looped, union)


def check(file: File) -> Iterator[Finding]:
    """Yield the tags that print the list that a loop around them iterates over."""
    doubtful = _printed_names(file.chunks) & _looped_names(file.chunks)
    if not doubtful:
        return
    for located in file.chunks.where(lambda piece: not doubtful.isdisjoint(_printed_names(piece))):
        for name, place in _printed(located.chunk):
            span = place.shifted(located.start)
            element = _element(file, name, span) if name in doubtful else None
            if element is not None:
                meant = f"; did you mean `{element}`?" if element else ""
                fixes = (Fix(f"Change to `{element}`", (Edit(span, element),)),) if element else ()
                is_whole = file.template.source.slice(Span(span.end, span.end + 1)) != "."
                what = "each iteration of the loop prints the whole list"
                if not is_whole:
                    if any(each.binding is not None for each in file.template.names.references_of(element)):
                        continue
                    what = "this is an attribute of the list, in a loop that does not use its elements"
                yield Finding(span, f"{what}{meant}", fixes)


def _element(file: File, name: str, span: Span) -> str | None:
    """Return the variable of the loop over `name` around a place.

    Return an empty string if the loop has several variables, and None if there is no such loop.
    """
    for block in reversed(file.template.branches.at(span.start)):
        statement = statement_at(file.template, block.opening) if block.keyword == "for" else None
        if statement is None or block.branch:
            continue
        targets = [each.name for each in statement.targets if isinstance(each, Name)]
        if name in targets:
            return None
        source = statement.expressions[0] if statement.expressions else None
        if isinstance(source, Name) and source.name == name:
            return targets[0] if len(targets) == 1 else ""
    return None


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
