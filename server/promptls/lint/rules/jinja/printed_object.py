"""Value that is printed in Python's notation.

Reports a tag that prints the result of a method such as `append`: the method returns nothing, and the tag
prints `None`. Reports a macro or a function that is printed and not called, a printed `loop`, and what `cycler`, `joiner`,
`namespace` and `range` return. Also reports mappings, tuples and lists that are printed as part of a text. The severity of mappings
and lists of mappings is information, if `input_keys` declares them or all samples have them. Other lists,
those that `list` and `sort` return, and mappings and lists that the file itself sets, are hints.

## Why is this bad?

The model gets the notation of Python: `None` amid the text, or `{'paid': True, 'note': None}`, which is no JSON.

## Example

```yaml
- name: documents
  content: |
    {% set titles = [] %}
    {%- for document in documents %}
    {{ titles.append(document.title) }}
              ^^^^^^ printed-object: `append` returns nothing: this tag prints `None`
    {%- endfor %}
    {{ titles | join(", ") }}
```

Use instead:

```yaml
- name: documents
  content: |
    {% set titles = [] %}
    {%- for document in documents %}
    {%- set _ = titles.append(document.title) %}
    {%- endfor %}
    {{ titles | join(", ") }}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from promptls.lint.analysis.literal_types import LiteralTypes, type_of
from promptls.lint.analysis.sampled_values import sampled_schemas
from promptls.lint.rule import JINJA_KINDS, PARTS_KINDS, Edit, File, Finding, Fix, each_chunk_given, rule
from promptls.semantic.names.scopes import GLOBALS
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.parts import chunk_contents, tags_in
from promptls.semantic.printed_inputs import PrintedInput, no_inputs, printed_inputs, schema_at
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import chunks_with, items_in, summary, union
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Expression, Filter, Name, Statement
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span, stripped_span

_OF_LISTS: Final = frozenset({"append", "extend", "insert"})
"""Methods of lists that return nothing, and that other values hardly have."""
_CHANGING: Final = _OF_LISTS | {"clear", "remove", "reverse", "sort", "update"}
"""Methods of lists and mappings that return nothing."""

_QUOTES: Final = frozenset({"'", '"'})
_MAPPING: Final = "a mapping"
_MAPPINGS: Final = "a list of mappings"
_LIST: Final = "a list"
_KINDS: Final[dict[type, str]] = {dict: _MAPPING, list: _LIST}
_TUPLE: Final = "a tuple, because of its comma"
_LITERALS: Final = {"dict": _MAPPING, "list": _LIST, "tuple": _TUPLE}


@chunk_fact
def _changes(chunk: Chunk) -> tuple[tuple[Tag, Attribute], ...]:
    """Return the tags that print what a method returns that changes a value."""
    found: list[tuple[Tag, Attribute]] = []
    for tag in chunk.tags:
        if tag.kind == "output" and not tag.unclosed and not tag_tree(tag).problems:
            match tag_tree(tag).statement.expressions:
                case (Call(function=Attribute() as method),) if method.name in _CHANGING:
                    found.append((tag, method))
    return tuple(found)


@chunk_fact
def _printed_inputs(chunk: Chunk) -> tuple[PrintedInput, ...]:
    """Return the inputs that are printed as they are, amid the text of a content."""
    return tuple(
        value
        for value in printed_inputs(chunk)
        if value.expression == value.span and (value.is_in_block or value.style in _QUOTES)
    )


@chunk_fact
def _printed_values(chunk: Chunk) -> tuple[tuple[int, Name | Collection | Filter], ...]:
    """Return the names, literals and results of filters that are printed, with the starts of their tags."""
    return tuple(
        (tag.span.start, expression)
        for content in chunk_contents(chunk)
        if content.is_block or content.value.style in _QUOTES
        for tag in tags_in(chunk, content)
        if tag.kind == "output" and not tag.unclosed and not tag_tree(tag).problems
        for expression in tag_tree(tag).statement.expressions
        if isinstance(expression, Name | Collection | Filter)
    )


_printed_names: Final = summary(
    lambda chunk: frozenset(node.name for _, node in _printed_values(chunk) if isinstance(node, Name)), union
)


_printed_roots: Final = summary(
    lambda chunk: frozenset(value.name for value in _printed_inputs(chunk)), union
)


class _Structures(NamedTuple):
    """The names of a file that are mappings or lists: inputs with their schemas, and variables with their kinds.

    The variables of loops over inputs are among the inputs.
    """

    inputs: Mapping[str, dict[str, Any]]
    variables: Mapping[str, str]


def _structures(file: File) -> _Structures:
    if file.kind not in PARTS_KINDS:
        return _Structures({}, {})
    template = file.template
    names = template.names
    declared = template.declarations.schemas
    schemas = {**sampled_schemas(file), **{name: schema for name, schema in declared.items() if schema}}
    inputs = names.input_names - no_inputs(template)
    types = LiteralTypes(file)
    set_here = names.bound_names("set") & _printed_names(file.chunks)
    kinds = {name: _KINDS.get(types.type_of_name(name) or str) for name in set_here}
    known = {name: schema for name, schema in schemas.items() if name in inputs}
    return _Structures(
        {**known, **_elements(file, known)}, {name: kind for name, kind in kinds.items() if kind is not None}
    )


def _elements(file: File, inputs: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the schemas of the printed variables of loops over inputs, which contain whole parts."""
    names = file.template.names
    others = names.bound_otherwise("for") | names.input_names
    loops = (names.bound_names("for") & _printed_roots(file.chunks)) - others if inputs else frozenset()
    found: dict[str, list[dict[str, Any]]] = {}
    for binding in names.bindings_of("for") if loops else ():
        if binding.name in loops:
            statement = statement_at(file.template, binding.span.start)
            found.setdefault(binding.name, []).append(_element(statement, inputs))
    return {name: schemas[0] for name, schemas in found.items() if all(schemas) and len(schemas) == 1}


def _element(statement: Statement | None, inputs: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of the elements of an input, or of a list in one, that a loop with one variable is over."""
    if statement is None or len(statement.targets) != 1 or not isinstance(statement.targets[0], Name):
        return {}
    node: Expression = statement.expressions[0]
    keys: list[str] = []
    while isinstance(node, Attribute):
        keys.append(node.name)
        node = node.target
    schema = inputs.get(node.name, {}) if isinstance(node, Name) else {}
    return schema_at(schema, (*reversed(keys), ""))


def _printed_functions(file: File) -> Iterator[Finding]:
    """Yield the printed functions of Jinja that the file also calls, that of Prompt Poet, and a printed `loop`."""
    names = file.template.names
    functions = (names.called_names & GLOBALS) | {"escape_special_characters", "loop", "super"}
    suspicious = (_whole_names(file.chunks) & functions) - names.all_bound_names
    for located in chunks_with(file.chunks, _whole_names, suspicious):
        for name, place in _whole(located.chunk):
            span = place.shifted(located.start)
            if name == "loop" and name in suspicious:
                if any(block.keyword == "for" for block in file.template.branches.at(span.start)):
                    message = "this prints the object itself and not its values"
                    yield Finding.suggest(span, message, "loop.index")
            elif name in suspicious:
                yield Finding(span, "this prints the function itself and not its result; `()` calls it")


_MAKERS: Final = {
    "cycler": "its `next()` returns the next value",
    "joiner": "calling it returns the separator",
    "namespace": "its attributes have the values",
    "range": "a loop gives its numbers",
}
"""The functions of Jinja that return an object without a text of its own, and how to get its values."""


@chunk_fact
def _made(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the functions whose results tags print without anything else."""
    return tuple(
        (node.function.name, node.span.shifted(tag.span.start))
        for tag in chunk.tags
        if tag.kind == "output" and not tag.unclosed
        for node in tag_tree(tag).statement.expressions
        if isinstance(node, Call) and isinstance(node.function, Name) and node.function.name in _MAKERS
    )


def _printed_results(file: File) -> Iterator[Finding]:
    """Yield the printed objects that functions of Jinja return, and the printed variables that are set to one."""
    names = file.template.names
    makers = names.called_names & _MAKERS.keys() - names.all_bound_names
    made: dict[str, str] = {}
    for binding in names.bindings_of("set") if makers else ():
        statement = statement_at(file.template, binding.span.start)
        value = statement.first if statement is not None else None
        if isinstance(value, Call) and isinstance(value.function, Name) and value.function.name in makers:
            made[binding.name] = value.function.name
    others = names.bound_otherwise("set") | names.input_names
    for located in file.chunks.placed() if makers else ():
        printed = [(maker, span) for maker, span in _made(located.chunk) if maker in makers]
        printed += [
            (made[name], span) for name, span in _whole(located.chunk) if name in made.keys() - others
        ]
        for maker, span in printed:
            message = f"this prints the object that `{maker}` returns; {_MAKERS[maker]}"
            yield Finding(span.shifted(located.start), message)


def _printed_macros(file: File) -> Iterator[Finding]:
    """Yield the macros that a tag prints instead of calling them."""
    names = file.template.names
    suspicious = _whole_names(file.chunks) & (names.bound_names("macro") | names.bound_names("import"))
    if not suspicious:
        return
    targets = {file.snapshot.resolve(file.path, each) for each in file.template.references}
    templates = [file.snapshot.template(target) for target in targets if target is not None]
    imported = union([each.names.bound_names("macro") for each in templates if each is not None])
    for located in chunks_with(file.chunks, _whole_names, suspicious):
        for name, place in _whole(located.chunk):
            reference = names.reference_at(place.shifted(located.start)) if name in suspicious else None
            binding = reference.binding if reference is not None else None
            if binding is None or not (
                binding.kind == "macro" or (binding.kind == "import" and name in imported)
            ):
                continue
            message = "this prints the macro itself and not its text; `()` calls it"
            yield Finding(place.shifted(located.start), message)


@chunk_fact
def _whole(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names that tags print without anything else."""
    return tuple(
        (node.name, node.span.shifted(tag.span.start))
        for tag in chunk.tags
        if tag.kind == "output" and not tag.unclosed
        for node in tag_tree(tag).statement.expressions
        if isinstance(node, Name)
    )


_whole_names: Final = summary(lambda chunk: frozenset(name for name, _ in _whole(chunk)), union)


@rule(severity="warning", kinds=JINJA_KINDS)
def printed_object(file: File) -> Iterator[Finding]:
    """Yield the calls that print `None`, and what is printed as it is: mappings, lists, macros and functions."""
    yield from _printed_macros(file)
    yield from _printed_functions(file)
    yield from _printed_results(file)
    types = LiteralTypes(file)
    for located, (tag, method) in items_in(file.chunks, _changes):
        known = types.type_of(method.target)
        if known in {list, dict} or (known is None and method.name in _OF_LISTS):
            yield _none(tag, method).shifted(located.start)
    yield from _in_chunks(file)


@each_chunk_given(_structures)
def _in_chunks(chunk: Chunk, known: _Structures) -> Iterator[Finding]:
    """Yield the mappings and lists that a chunk prints as they are."""
    for value in _printed_inputs(chunk) if known.inputs else ():
        what = _kind_of(schema_at(known.inputs.get(value.name, {}), value.keys))
        if what is not None:
            yield _finding(value.span, what)
    for start, node in _printed_values(chunk):
        match node:
            case Collection(kind=written):
                kind = _LITERALS.get(written)
            case Filter():
                kind = _LIST if type_of(node, lambda _: None) is list else None
            case Name(name=name):
                kind = known.variables.get(name)
        if kind is not None:
            yield replace(_finding(node.span.shifted(start), kind), severity="hint")


def _none(tag: Tag, method: Attribute) -> Finding:
    start, end = tag.span
    first = stripped_span(tag.text[tag.inner_start : tag.inner_end], start + tag.inner_start).start
    edits = (
        Edit(Span(start, start + 2), "{%"),
        Edit.insert(first, "set _ = "),
        Edit(Span(end - 2, end), "%}"),
    )
    message = f"`{method.name}` returns nothing: this tag prints `None`"
    return Finding(
        method.name_span.shifted(start), message, (Fix("Assign the result", edits, preferred=True),)
    )


def _kind_of(schema: Mapping[str, Any]) -> str | None:
    """Return what the values of a schema are, if Python's notation of them is no plain text."""
    if schema.get("type") == "object":
        return _MAPPING
    items = schema.get("items")
    if schema.get("type") != "array" or not isinstance(items, Mapping) or not items:
        return None
    return _MAPPINGS if items.get("type") == "object" else _LIST


def _finding(span: Span, what: str) -> Finding:
    message = f"this is {what}: it is printed in the notation of Python"
    if what == _TUPLE:
        return Finding(span, message)
    added = 'join(", ")' if what == _LIST else "tojson"
    fix = Fix(f"Add `| {added}`", (Edit.insert(span.end, f" | {added}"),))
    return Finding(span, message, (fix,), severity="hint" if what == _LIST else "information")
