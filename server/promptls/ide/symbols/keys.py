"""Keys of an input's value: where they are read, declared and given."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from promptls.ide.key_facts import bare_span
from promptls.ide.symbols.data_keys import DataKeys, key_spans, yaml_key_spans
from promptls.ide.symbols.inputs import PACKED_ENDINGS, data_files, input_names
from promptls.ide.symbols.symbol import Occurrence, Symbol
from promptls.ide.symbols.variables import shared_key_steps
from promptls.semantic.flow.keys import Way, key_read_at, keys_named
from promptls.semantic.flow.paths import Each
from promptls.semantic.template import Template
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Sequence, key_text, scalar_text
from promptls.workspace.callers import calls_to
from promptls.workspace.python_keys import key_spans as python_key_spans
from promptls.workspace.snapshot import Snapshot


def key_symbol_at(template: Template, path: str, offset: int) -> Symbol | None:
    """Return the key of an input's value whose name is at `offset`."""
    read = key_read_at(template, offset)
    if read is not None:
        return Symbol("key", read.name, path, read.span, path, None, read.way) if len(read.way) > 1 else None
    declared = template.declarations
    if declared.tree is None or not declared.tree.span.contains(offset):
        return None
    for way in _declared_ways(template, offset):
        for each in declared_key_places(template, path, way):
            if each.span.contains(offset):
                return Symbol("key", template.source.slice(each.span), path, each.span, path, None, way)
    return None


def key_places(
    snapshot: Snapshot, symbol: Symbol, *, in_data: bool = True
) -> Generator[Occurrence | None, None, None]:
    """Yield every place of a key in the workspace; without `in_data`, files of data are not looked into.

    None separates the files.
    """
    yield None
    shared = shared_key_steps(snapshot, symbol.home, symbol.way)
    for path, way in (yield from shared):
        yield None
        template = snapshot.template(path)
        if template is None:
            continue
        yield from key_places_in(template, path, way)
        if in_data:
            yield from _in_data(snapshot, path, template, way)
        for call in calls_to(snapshot, path):
            program = snapshot.template(call.file)
            spans = python_key_spans(program.source.text, call, data_keys(way)) if program is not None else ()
            yield from (Occurrence(call.file, span, "write", "python") for span in spans)


def key_places_in(template: Template, path: str, way: Way) -> Iterator[Occurrence]:
    """Yield the places of a key in the tags of one file, and in what the file declares."""
    for read in keys_named(template, str(way[-1])):
        if read.way == way:
            yield Occurrence(path, read.span, "read")
    yield from declared_key_places(template, path, way)


def declared_key_places(template: Template, path: str, way: Way) -> Iterator[Occurrence]:
    """Yield the places of a key in the schema of its input, and in the examples."""
    declared = template.declarations
    inputs = declared.tree.value("input_keys") if declared.tree is not None else None
    schema = inputs.value(str(way[0])) if isinstance(inputs, Mapping) else None
    for entry, required in _in_schema(schema, way[1:]):
        span = bare_span(template, entry.key.span, str(way[-1]))
        if span is not None:
            yield Occurrence(path, span, "declaration", "header")
        for item in required.items if isinstance(required, Sequence) else ():
            name = bare_span(template, item.span, str(way[-1])) if scalar_text(item) == way[-1] else None
            if name is not None:
                yield Occurrence(path, name, "write", "header")
    if declared.examples:
        text = template.source.text
        for example in declared.examples:
            for span in yaml_key_spans(text, Mapping(example.span, example.entries), data_keys(way)):
                yield Occurrence(path, span, "write", "header")


def data_keys(way: Way) -> DataKeys:
    """Return the keys in data that a way goes along: a list's elements have none of their own."""
    return tuple(None if key is Each.VALUE else str(key) for key in way if key is not Each.ELEMENT)


def _in_data(snapshot: Snapshot, path: str, template: Template, way: Way) -> Iterator[Occurrence]:
    inputs = input_names(template) | {str(way[0])}
    for file in data_files(snapshot, path, template):
        held = snapshot.template(str(file))
        if held is None or file.name.lower().endswith(PACKED_ENDINGS):
            continue
        for span in key_spans(file.suffix.lower(), held.source.text, data_keys(way), inputs):
            yield Occurrence(str(file), span, "write", "data")


def _in_schema(schema: Node | None, way: Way) -> Iterator[tuple[Entry, Node | None]]:
    """Yield the property that a path leads to in a schema, and the list of required keys beside it."""
    for step, key in enumerate(way):
        if not isinstance(schema, Mapping):
            return
        if key is Each.ELEMENT:
            schema = schema.value("items")
        elif key is Each.VALUE:
            schema = schema.value("additionalProperties")
        else:
            properties = schema.value("properties")
            entry = properties.entry(str(key)) if isinstance(properties, Mapping) else None
            if entry is None:
                return
            if step == len(way) - 1:
                yield entry, schema.value("required")
            schema = entry.value


def _declared_ways(template: Template, offset: int) -> Iterator[Way]:
    """Yield the paths of the keys around a position of a schema or an example, as far as values have keys."""
    declared = template.declarations
    inputs = declared.tree.value("input_keys") if declared.tree is not None else None
    for entry in inputs.entries if isinstance(inputs, Mapping) else ():
        name = key_text(entry)
        if name is not None and entry.value.span.contains(offset):
            yield from _schema_ways(entry.value, offset, (name,))
    for example in declared.examples:
        if example.span.contains(offset):
            yield from _value_ways(Mapping(example.span, example.entries), offset, ())


def _schema_ways(schema: Node, offset: int, way: Way) -> Iterator[Way]:
    if not isinstance(schema, Mapping):
        return
    properties = schema.value("properties")
    for entry in properties.entries if isinstance(properties, Mapping) else ():
        name = key_text(entry)
        if name is None:
            continue
        if entry.key.span.contains(offset):
            yield (*way, name)
        elif entry.value.span.contains(offset):
            yield from _schema_ways(entry.value, offset, (*way, name))
    required = schema.value("required")
    for item in required.items if isinstance(required, Sequence) else ():
        name = scalar_text(item)
        if name is not None and item.span.contains(offset):
            yield (*way, name)
    for key, step in (("items", Each.ELEMENT), ("additionalProperties", Each.VALUE)):
        below = schema.value(key)
        if below is not None and below.span.contains(offset):
            yield from _schema_ways(below, offset, (*way, step))


def _value_ways(node: Node, offset: int, way: Way) -> Iterator[Way]:
    if isinstance(node, Sequence):
        for item in node.items:
            if item.span.contains(offset):
                yield from _value_ways(item, offset, (*way, Each.ELEMENT))
    for entry in node.entries if isinstance(node, Mapping) else ():
        name = key_text(entry)
        if name is None:
            continue
        if entry.key.span.contains(offset):
            if way:
                yield (*way, name)
        elif entry.value.span.contains(offset):
            yield from _value_ways(entry.value, offset, (*way, name))
