"""Unknown attribute of `loop`.

Reports attributes of `loop` that Jinja does not have, such as `loop.count` and `loop.parent`. Outside of
a loop in the file, only those that are similar to a known one are reported: `loop.idx`, `loop.lenght`. In a
loop, also reports a misspelling of `loop` itself: `lop.index`, `loop_index`, and `documents[loop.index]` in a loop
over `documents`, unless the loop considers that the last one is followed by nothing. The same holds for
`documents[i + 1]` with the numbers of `range(documents | length)`, `documents[i]` with one number more, and for attributes of `loop.previtem` and
`loop.nextitem`. Reports `loop.cycle` without a call.

## Why is this bad?

Jinja prints nothing for them, and treats them as false in a condition.

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

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.unmatched_names import declared_names, without_source
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, each_chunk, rule
from promptls.semantic.names.template_names import placed_statement_at
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in, summary, union
from promptls.syntax.jinja.blocks import Pair, chunk_blocks
from promptls.syntax.jinja.builtins import LOOP
from promptls.syntax.jinja.file_blocks import blocks_around, blocks_inside
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Constant,
    Expression,
    Filter,
    Item,
    Name,
    Operation,
    conditional_ids,
)
from promptls.syntax.jinja.problems import expressions_in, tag_tree, uncalled_attributes
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest


@rule(severity="warning", kinds=JINJA_KINDS)
def unknown_loop_attribute(file: File) -> Iterator[Finding]:
    """Yield unknown attributes of `loop`, only typos outside of the loops of this file, and called values."""
    yield from _called(file)
    yield from _missing_neighbors(file)
    yield from _late_elements(file)
    yield from _misspelled_loops(file)
    root = file.template.source.root
    if not _unknown(root):
        return
    file_names = file.template.names
    is_ambiguous = "loop" in file_names.all_bound_names
    for located, resolver in file_names.scopes_where(_unknown):
        loops = {
            reference.span.start
            for reference in resolver.references(located.chunk, located.start)
            if reference.name == "loop" and reference.binding is not None
        }
        for name, span, target in _unknown_attributes(located.chunk):
            if nearest(name, LOOP) or (target.start + located.start in loops and not is_ambiguous):
                yield _finding(name, span).shifted(located.start)


@each_chunk
def _called(chunk: Chunk) -> Iterator[Finding]:
    """Yield the calls of attributes of `loop` that are values."""
    for start, node in expressions_in(chunk):
        match node:
            case Call(function=Attribute(target=Name(name="loop"), name=name, span=called), arguments=()) if (
                name in LOOP and name not in _FUNCTIONS
            ):
                brackets = Span(called.end, node.span.end).shifted(start)
                fix = Fix("Remove the brackets", (Edit(brackets, ""),))
                yield Finding(node.span.shifted(start), f"`loop.{name}` is a value, not a function", (fix,))
    for start, method in uncalled_attributes(chunk, _FUNCTIONS, frozenset({"callable"})):
        if isinstance(method.target, Name) and method.target.name == "loop":
            message = f"`loop.{method.name}` is a function, and nothing calls it"
            yield Finding(method.name_span.shifted(start), message)


_BEYOND: Final = re.compile(r"\bloop\.(?:last|length|nextitem|revindex)|\bdefined\b|\bdefault\b|\|\s*d\(")
"""What a loop reads that considers the element after the last one."""
_NEIGHBORS: Final = {"previtem": "first", "nextitem": "last"}
"""The neighbors of an element, and the iteration without each."""
_GUARD: Final = re.compile(
    r"\bloop\.(?:changed|first|index0?|last|length|revindex0?)\b|\bdefined\b|\bdefault\b|\|\s*d\("
    r"|\bloop\.(?:previtem|nextitem)\b(?![.\[])"
)
"""What a loop reads that may consider a neighbor that is not there."""


@each_chunk
def _missing_neighbors(chunk: Chunk) -> Iterator[Finding]:
    """Yield the reads of a neighbor of an element that the first or last iteration does not have."""
    if "item" not in chunk.text and "range" not in chunk.text:
        return
    for pair in chunk_blocks(chunk).pairs:
        opening, end = chunk.tags[pair.opening], chunk.tags[pair.closing].span.start
        if pair.keyword != "for" or pair.middles or _GUARD.search(chunk.text, opening.span.end, end):
            continue
        counted = _counted(chunk, opening)
        for start, node in _unconditional(chunk, pair):
            match node:
                case Attribute(
                    target=Attribute(target=Name(name="loop"), name=name, name_span=span), name=attribute
                ) if name in _NEIGHBORS:
                    message = f"the {_NEIGHBORS[name]} iteration has no `loop.{name}`, and reading its `{attribute}` fails"
                    yield Finding(span.shifted(start), message)
                case Item(target=target, key=key) if counted is not None:
                    number, more = _sum(key)
                    place = f"{number} + {more}" if more else number
                    is_listed = counted[:2] == (number, chunk.slice(target.span.shifted(start)))
                    if is_listed and more + counted[2] > 0:
                        message = f"the last iteration has no element at `{place}`"
                        yield Finding(key.span.shifted(start), message)


def _unconditional(chunk: Chunk, loop: Pair) -> Iterator[tuple[int, Expression]]:
    """Yield the expressions that each iteration of a loop evaluates, with the offset of their tag."""
    body = Span(chunk.tags[loop.opening].span.end, chunk.tags[loop.closing].span.start)
    inner = [
        Span(chunk.tags[each.opening].span.end, chunk.tags[each.closing].span.start)
        for each in chunk_blocks(chunk).pairs
        if each.keyword in {"if", "for"} and loop.opening < each.opening < loop.closing
    ]
    reads = [
        (start, node)
        for start, node in expressions_in(chunk)
        if body.covers(start) and not any(span.covers(start) for span in inner)
    ]
    conditional = conditional_ids(node for _, node in reads)
    yield from (read for read in reads if id(read[1]) not in conditional)


def _sum(node: Expression) -> tuple[str, int]:
    """Return the variable in an expression such as `i` and `i + 1`, and what is added; empty for others."""
    match node:
        case Name(name=name):
            return name, 0
        case Operation(operators=("+",), operands=(Name(name=name), Constant(value=int() as more))):
            return name, more
    return "", 0


def _counted(chunk: Chunk, opening: Tag) -> tuple[str, str, int] | None:
    """Return the variable of a loop over `range(listed | length + 1)`, what is listed, and what is added."""
    statement, more = tag_tree(opening).statement, 0
    match statement.targets, statement.expressions:
        case (Name(name=number),), (Call(function=Name(name="range"), arguments=(*_, last)),):
            match last:
                case Operation(operators=("+",), operands=(first, Constant(value=int() as more))):
                    last = first
            if isinstance(last, Filter) and last.name in {"length", "count"} and last.target is not None:
                return number, chunk.slice(last.target.span.shifted(opening.span.start)), more
    return None


@chunk_fact
def _at_index(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return what is indexed by `loop.index`, each with the place of `index`."""
    found = []
    for start, node in expressions_in(chunk) if "[loop.index]" in chunk.text else ():
        match node:
            case Item(target=target, key=Attribute(target=Name(name="loop"), name="index", name_span=span)):
                found.append((chunk.slice(target.span.shifted(start)), span.shifted(start)))
    return tuple(found)


def _late_elements(file: File) -> Iterator[Finding]:
    """Yield the elements of a loop's own list at `loop.index`, which is one too late, and none in the end."""
    source = file.template.source
    for located, (indexed, place) in items_in(file.chunks, _at_index):
        span = place.shifted(located.start)
        inside = (block.shifted(located.start) for block in blocks_inside(located.chunk))
        loops = (
            block
            for block in (*inside, *blocks_around(source.root, span.start))
            if block.keyword == "for" and block.tags[0].end <= span.start < block.tags[-1].start
        )
        loop = max(loops, key=lambda block: block.tags, default=None)
        placed = placed_statement_at(file.template, loop.tags[0].start) if loop is not None else None
        if loop is None or placed is None or not placed[0].expressions:
            continue
        statement, start = placed
        iterated = source.slice(statement.expressions[0].span.shifted(start))
        if iterated == indexed and not _BEYOND.search(source.slice(loop.span)):
            message = "`loop.index` counts from 1, and the elements of the list from 0"
            yield Finding.suggest(span, message, "index0")


@chunk_fact
def _like_loop(chunk: Chunk) -> tuple[tuple[str, Span, str], ...]:
    """Return the variables that are probably misspellings of `loop`: name, span, and what is meant there."""
    found = []
    for start, node in expressions_in(chunk):
        match node:
            case Attribute(target=Name(name=owner, span=span), name=name) if (
                name in LOOP and is_typo(owner, "loop") and owner != "loops"
            ):
                found.append((owner, span.shifted(start), "loop"))
            case Name(name=name, span=span) if name.startswith("loop_") and name[5:] in LOOP:
                found.append((name, span.shifted(start), f"loop.{name[5:]}"))
    return tuple(found)


_names_like_loop: Final = summary(lambda chunk: frozenset(name for name, *_ in _like_loop(chunk)), union)


def _misspelled_loops(file: File) -> Iterator[Finding]:
    """Yield the misspellings of `loop` in the loops of a file that declares no inputs.

    Otherwise, they are undeclared.
    """
    suspicious = _names_like_loop(file.chunks)
    if declared_names(file) is not None:
        return
    suspicious = without_source(file, suspicious & file.template.names.input_names)
    for located in file.chunks.where(_names_like_loop) if suspicious else ():
        for name, span, meant in _like_loop(located.chunk):
            around = file.template.branches.at(located.start + span.start)
            if name in suspicious and any(block.keyword == "for" for block in around):
                yield Finding.suggest(span, f"nothing is named `{name}`", meant).shifted(located.start)


def _finding(name: str, span: Span) -> Finding:
    message = f"`loop` has no `{name}`"
    meant = _FOREIGN_NAMES.get(name)
    if meant is None:
        return misspelled(span, message, name, LOOP)
    return Finding.suggest(span, message, meant)


@chunk_fact
def _unknown_attributes(chunk: Chunk) -> tuple[tuple[str, Span, Span], ...]:
    """Return the unknown attributes of `loop` in the chunk: name, its offset, the offset of `loop`."""
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


_FUNCTIONS: Final = frozenset({"changed", "cycle"})
_FOREIGN_NAMES: Final = {
    "count": "length",
    "counter": "index",
    "counter0": "index0",
    "iteration": "index",
    "revcounter": "revindex",
    "revcounter0": "revindex0",
    "size": "length",
    "total": "length",
}
"""The loop attributes of other template languages, with their names in Jinja."""
_unknown: Final = summary(lambda chunk: frozenset(name for name, *_ in _unknown_attributes(chunk)), union)
"""The unknown attributes of `loop` that a piece uses."""
