"""Whole list printed inside its own loop.

Reports a tag that prints nothing but the list that a loop around it iterates over, and one that passes the
list to a function or a filter if the loop does not read its variable. If nothing reads the variable, it also
reports a tag that prints the object whose attribute the list is. An attribute of the list in a longer expression is a hint,
and so is, outside of the loop, one that the loop reads of its elements.
Also reports an input that a loop prints, if the elements have a field of the same name by samples, calls in
Python or another loop, and the loop reads only other fields. A name that a loop only tests with `is defined` is a
hint, if the loop reads a field of that name of its element.

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

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.analysis.loop_names import looped_names
from promptls.lint.analysis.sampled_values import sampled_schemas
from promptls.lint.analysis.unmatched_names import declared_names, given_names
from promptls.lint.rule import JINJA_KINDS, File, Finding, Fix, rule
from promptls.semantic.branches import OpenBlock
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.types.shape import element_of, keys_of
from promptls.syntax.chunk import Chunk, Located, chunk_fact
from promptls.syntax.facts import chunks_with, items_in, summary, union
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name, Test
from promptls.syntax.jinja.problems import expressions_in, loops_in, tag_tree
from promptls.text.positions import Span
from promptls.workspace.contract import calls_to


class _Printed(NamedTuple):
    """A name that a tag prints, and whether it prints what a function returns for it.

    `may_be_of_list` is whether it is printed with an attribute that an object that can be iterated may have.
    """

    name: str
    span: Span
    is_passed_on: bool = False
    may_be_of_list: bool = False


@chunk_fact
def _printed(chunk: Chunk) -> tuple[_Printed, ...]:
    """Return the names that a tag prints without anything else, with one attribute, or through a function.

    A loop over an attribute of a name counts, too.
    """
    found = []
    for tag in chunk.tags:
        statement = tag_tree(tag).statement
        is_loop = tag.kind == "statement" and statement.keyword == "for"
        expressions = statement.expressions if tag.kind == "output" or is_loop else ()
        node = expressions[0] if len(expressions) == 1 else None
        if is_loop and not isinstance(node, Attribute):
            continue
        may_be_of_list = isinstance(node, Attribute) and node.name in _OF_OBJECTS
        if isinstance(node, Attribute) and node.name not in _OF_LISTS - _OF_OBJECTS:
            node = node.target
        if isinstance(node, Name):
            place = node.span.shifted(tag.span.start)
            found.append(_Printed(node.name, place, may_be_of_list=may_be_of_list))
        elif isinstance(node, Call) and isinstance(node.function, Name) and len(node.arguments) == 1:
            argument = node.arguments[0]
            if isinstance(argument, Attribute) and argument.name in _OF_OBJECTS:
                argument = argument.target
            if isinstance(argument, Name):
                place = argument.span.shifted(tag.span.start)
                found.append(_Printed(argument.name, place, is_passed_on=True))
    return tuple(found)


@chunk_fact
def _read_attributes(chunk: Chunk) -> tuple[tuple[str, str, Span], ...]:
    """Return the attributes of names that tags read but do not call: both names, and the span of the first."""
    called = set()
    found = []
    for start, node in expressions_in(chunk):
        if isinstance(node, Call):
            called.add(id(node.function))
        elif (
            isinstance(node, Attribute)
            and isinstance(node.target, Name)
            and id(node) not in called
            and node.name not in _OF_LISTS - _OF_OBJECTS
            and not hasattr(list, node.name)
            and not hasattr(dict, node.name)
        ):
            found.append((node.target.name, node.name, node.target.span.shifted(start)))
    return tuple(found)


_owners: Final = summary(lambda chunk: frozenset(name for name, *_ in _read_attributes(chunk)), union)


def _attributes_of_lists(file: File, reported: set[Span]) -> Iterator[Finding]:
    """Yield the attributes of a list that are read in its own loop, whose elements have attributes."""
    suspicious = _owners(file.chunks) & looped_names(file.chunks)
    times = Counter(
        (name, attribute)
        for located in (file.chunks.where(_owners) if suspicious else ())
        for name, attribute, _ in _read_attributes(located.chunk)
    )
    for located in chunks_with(file.chunks, _owners, suspicious):
        for name, attribute, place in _read_attributes(located.chunk):
            span = place.shifted(located.start)
            if name not in suspicious or span in reported:
                continue
            loop = _own_loop(file, name, span)
            element = loop.variable if loop is not None else ""
            if loop is None and attribute not in _OF_OBJECTS and attribute in _fields_of(file, name):
                message = f"a loop iterates over `{name}`, and its elements have `{attribute}`, not the list"
                yield Finding(span, message, severity="hint")
            if not element:
                continue
            uses = [each for each in file.template.names.references_of(element) if each.binding is not None]
            if times[name, attribute] == 1 and any(_has_attribute(file, each.span) for each in uses):
                yield Finding.suggest(
                    span, "this is an attribute of the list, not of its element", element, severity="hint"
                )


_OF_OBJECTS: Final = frozenset({"name", "title"})
"""Attributes of objects that can also be iterated."""
_OF_LISTS: Final = frozenset({"count", "index", "length"}) | _OF_OBJECTS
"""Attributes of lists, and of objects that can also be iterated."""


def _lists_inside(chunk: Chunk) -> frozenset[str]:
    """Return the names of the objects whose attributes loops iterate over."""
    sources = [loop.expressions[0] for _, loop in loops_in(chunk)]
    return frozenset(
        each.target.name for each in sources if isinstance(each, Attribute) and isinstance(each.target, Name)
    )


_owners_of_lists: Final = summary(_lists_inside, union)


class _Loop(NamedTuple):
    """A loop: its block, its variables, and what it iterates over."""

    block: OpenBlock
    variables: list[str]
    source: Expression

    @property
    def variable(self) -> str:
        """The variable, or an empty string if it has several."""
        return self.variables[0] if len(self.variables) == 1 else ""


def _loops_around(file: File, span: Span) -> Iterator[_Loop]:
    """Yield the loops around a place, the innermost first."""
    for block in reversed(file.template.branches.at(span.start)):
        statement = statement_at(file.template, block.opening) if block.keyword == "for" else None
        if statement is not None and statement.expressions:
            yield _Loop(block, statement.target_names, statement.expressions[0])


def _loop_around(file: File, span: Span) -> _Loop | None:
    """Return the innermost loop around a place; None without one, or if it has several variables."""
    loop = next(_loops_around(file, span), None)
    return loop if loop is not None and loop.variable else None


def _own_loop(file: File, name: str, span: Span) -> _Loop | None:
    """Return the loop over `name` around a place, in which the name still means the list."""
    for loop in _loops_around(file, span):
        if loop.block.branch:
            continue
        if name in loop.variables:
            return None
        if isinstance(loop.source, Name) and loop.source.name == name:
            return loop
    return None


def _owners_in_loops(file: File) -> Iterator[Finding]:
    """Yield the tags in a loop that print the owner of its list, if nothing reads the variable of the loop."""
    suspicious = _printed_names(file.chunks) & _owners_of_lists(file.chunks)
    for located in chunks_with(file.chunks, _printed_names, suspicious):
        for name, place, *_ in _printed(located.chunk):
            span = place.shifted(located.start)
            loop = _loop_around(file, span) if name in suspicious else None
            owner = loop.source.target if loop is not None and isinstance(loop.source, Attribute) else None
            if (
                loop is None
                or not isinstance(owner, Name)
                or owner.name != name
                or _has_attribute(file, span)
            ):
                continue
            element = loop.variable
            uses = file.template.names.references_of(element)
            if not any(loop.block in file.template.branches.at(each.span.start) for each in uses):
                message = f"each iteration of the loop prints all of `{name}`, and nothing reads `{element}`"
                yield Finding.suggest(span, message, element)


_printed_names: Final = summary(lambda chunk: frozenset(each.name for each in _printed(chunk)), union)


@rule(severity="warning", kinds=JINJA_KINDS)
def list_in_own_loop(file: File) -> Iterator[Finding]:
    """Yield the tags that print or read the list that a loop around them iterates over."""
    findings = [*_printed_lists(file)]
    yield from findings
    yield from _attributes_of_lists(file, {finding.span for finding in findings})
    yield from _owners_in_loops(file)
    yield from _inputs_for_fields(file)
    yield from _tested_inputs(file)


@chunk_fact
def _tested(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names that are tested with `is defined`."""
    return tuple(
        (node.target.name, node.target.span.shifted(start))
        for start, node in expressions_in(chunk)
        if isinstance(node, Test) and node.name == "defined" and isinstance(node.target, Name)
    )


def _tested_inputs(file: File) -> Iterator[Finding]:
    """Yield the names that a loop only tests, in place of a field of the same name that it reads."""
    for located, (name, place) in items_in(file.chunks, _tested):
        span = place.shifted(located.start)
        references = [*file.template.names.references_of(name)]
        loop = _loop_around(file, span) if len(references) == 1 and references[0].binding is None else None
        if loop is None or name in given_names(file) | (declared_names(file) or frozenset()):
            continue
        fields = [
            at
            for owner, field, at in _read_attributes(located.chunk)
            if (owner, field) == (loop.variable, name)
        ]
        if any(loop.block in file.template.branches.at(at.start + located.start) for at in fields):
            message = "this is no field of the element, and nothing else reads it"
            yield Finding.suggest(span, message, f"{loop.variable}.{name}", severity="hint")


def _inputs_for_fields(file: File) -> Iterator[Finding]:
    """Yield the inputs that a loop prints in place of a field of the same name, which it does not read."""
    lists = looped_names(file.chunks)
    printed = _printed_names(file.chunks) & file.template.names.input_names if lists else frozenset()
    fields = {each: _fields_of(file, each) for each in lists} if printed else {}
    suspicious = printed & frozenset().union(*fields.values())
    for located in chunks_with(file.chunks, _printed_names, suspicious):
        for name, place, *_ in _printed(located.chunk):
            span = place.shifted(located.start)
            loop = _loop_around(file, span) if name in suspicious else None
            if (
                loop is None
                or not isinstance(loop.source, Name)
                or name not in fields.get(loop.source.name, ())
            ):
                continue
            if _reads_only_other_fields(file, located, loop, name) and not _has_attribute(file, span):
                message = f"each iteration of the loop prints the same `{name}`"
                yield Finding.suggest(span, message, f"{loop.variable}.{name}")


def _reads_only_other_fields(file: File, located: Located, loop: _Loop, name: str) -> bool:
    """Return whether a loop reads fields of its variable, but not this one, and the name `name` once."""
    names, branches = file.template.names, file.template.branches
    reads = [
        each for each in names.references_of(loop.variable) if loop.block in branches.at(each.span.start)
    ]
    times = sum(loop.block in branches.at(each.span.start) for each in names.references_of(name))
    fields = [
        field
        for owner, field, at in _read_attributes(located.chunk)
        if owner == loop.variable and loop.block in branches.at(at.start + located.start)
    ]
    return times == 1 and name not in fields and len(fields) == len(reads) > 0


def _fields_of(file: File, name: str) -> set[str]:
    """Return the fields of the elements of a list, by its uses, its declaration, samples and calls."""
    shapes = [used_shapes(file.template).get(name)]
    shapes += [dict(call.given).get(name) for call in calls_to(file.snapshot, file.path)]
    elements = [element_of(each) for each in shapes if each is not None]
    declared = file.template.declarations.schemas
    schema = sampled_schemas(file).get(name) or declared.get(name, {})
    items = schema.get("items") if isinstance(schema, dict) else None
    fields = items.get("properties") if isinstance(items, dict) else None
    return {key for each in elements if each is not None for key, _ in keys_of(each)} | {*(fields or ())}


def _printed_lists(file: File) -> Iterator[Finding]:
    suspicious = _printed_names(file.chunks) & looped_names(file.chunks)
    for located in chunks_with(file.chunks, _printed_names, suspicious):
        for name, place, is_passed_on, may_be_of_list in _printed(located.chunk):
            span = place.shifted(located.start)
            loop = _own_loop(file, name, span) if name in suspicious else None
            if loop is not None:
                element = loop.variable
                meant = f"; did you mean `{element}`?" if element else ""
                fixes = (Fix.change_to(span, element),) if element else ()
                is_whole = not _has_attribute(file, span)
                uses = [
                    each for each in file.template.names.references_of(element) if each.binding is not None
                ]
                if is_passed_on and (
                    not element or loop in [_own_loop(file, name, each.span) for each in uses]
                ):
                    continue
                if may_be_of_list and (uses or element.startswith("_")):
                    continue
                what = "each iteration of the loop prints the whole list"
                if not is_whole:
                    # A value whose elements are mappings is a list; other ones may be keys of a mapping.
                    if uses and not any(_has_attribute(file, each.span) for each in uses):
                        continue
                    what = "this is an attribute of the list, not of its element"
                yield Finding(span, f"{what}{meant}", fixes)


def _has_attribute(file: File, span: Span) -> bool:
    return file.template.source.slice(Span(span.end, span.end + 1)) == "."
