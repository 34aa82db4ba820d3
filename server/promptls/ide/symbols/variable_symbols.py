"""Variables, and keys of their values, across the files that share them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from promptls.ide.key_facts import bare_span
from promptls.ide.symbols.inputs import (
    DataKeys,
    data_places,
    inputs_beside,
    python_places,
    yaml_key_spans,
)
from promptls.ide.symbols.symbol import Occurrence, Symbol
from promptls.semantic.flow.paths import Each, Step, along, is_no_input, parameter_of
from promptls.semantic.flow.read_keys import KeyPath, access_path_of, key_path_of, key_read_at, keys_named
from promptls.semantic.flow.shapes import flow_of, resolved_at
from promptls.semantic.names import variables
from promptls.semantic.names.mentions import Mention, TemplateReference, mention_at, mentions_of
from promptls.semantic.template import Template
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Sequence, key_text, scalar_text
from promptls.text.positions import Span
from promptls.text.steps import Steps, finish
from promptls.workspace.contract import passes_data
from promptls.workspace.macro_calls import above, below
from promptls.workspace.snapshot import Snapshot


class VariableIn(NamedTuple):
    """A variable, and its file."""

    path: str
    variable: variables.Variable


def shared_variable(
    snapshot: Snapshot, path: str, variable: variables.Variable, *, by_data: bool = True
) -> tuple[tuple[VariableIn, ...], tuple[Occurrence, ...]]:
    """Return all variables that are the same symbol as the one in the file at `path`, and other references.

    The other references are names that are not variables: `greet` in `tools.greet()` and in `from
    'tools.yml.j2' import greet as hello`. Without `by_data`, prompts that only share data with this one are
    left out.
    """
    return finish(shared_variable_steps(snapshot, path, variable, by_data=by_data))


def shared_variable_steps(
    snapshot: Snapshot,
    path: str,
    variable: variables.Variable,
    *,
    by_data: bool,
    report: Callable[[VariableIn], object] | None = None,
) -> Steps[tuple[tuple[VariableIn, ...], tuple[Occurrence, ...]]]:
    """Return the same as `shared_variable`, in steps; `report` is called with each variable found."""
    found: dict[tuple[str, Span | None], VariableIn] = {}
    references: dict[Occurrence, None] = {}
    pending = [VariableIn(path, variable)]
    while pending:
        yield
        current = pending.pop(0)
        key = (current.path, _identity(current.variable))
        template = snapshot.template(current.path)
        if key in found or template is None:
            continue
        found[key] = current
        if report is not None:
            report(current)
        pending += _below(snapshot, *current)
        if current.variable.is_input:
            for above in _above(snapshot, *current):
                if above is None:
                    yield
                else:
                    pending.append(above)
            if by_data:
                sharing = yield from inputs_beside(snapshot, current.path, current.variable.name)
                pending += [VariableIn(*each) for each in sharing]
        if current.variable.is_exported:
            for imported in _imported_by(snapshot, *current):
                if imported is None:
                    yield
                    continue
                importer, occurrence = imported
                references[occurrence] = None
                if importer is not None:
                    pending.append(importer)
        pending += _imported_from(snapshot, current.path, template, current.variable)
    return tuple(found.values()), tuple(references)


def _identity(variable: variables.Variable) -> Span | None:
    return None if variable.is_input else min(binding.span for binding in variable.bindings)


def _below(snapshot: Snapshot, path: str, variable: variables.Variable) -> Iterator[VariableIn]:
    """Yield the variable in the files that this one includes."""
    for reference in variable.seen_by:
        target = snapshot.resolve(path, reference) if passes_data(reference) else None
        template = snapshot.template(target) if target else None
        if target is None or template is None or not _takes(snapshot, target, variable.name):
            continue
        seen = variables.input_variable(template, variable.name)
        if seen is not None:
            yield VariableIn(target, seen)


def _takes(snapshot: Snapshot, path: str, name: str) -> bool:
    """Return whether the file at `path`, or one that it includes, reads the variable from its caller."""
    return any(
        (template := snapshot.template(included)) is not None and name in template.names.input_names
        for included in snapshot.included(path)
    )


def _above(snapshot: Snapshot, path: str, variable: variables.Variable) -> Iterator[VariableIn | None]:
    """Yield the variable in the files that include this one; None separates the files."""
    for includer in sorted(snapshot.includers(path)):
        yield None
        template = snapshot.template(includer)
        if template is None:
            continue
        references = {
            reference.span
            for reference in template.references
            if passes_data(reference) and snapshot.resolve(includer, reference) == path
        }
        for other in variables.variables_named(template, variable.name) if references else ():
            seen = (reference.span for reference in other.seen_by)
            if not other.is_implied and not references.isdisjoint(seen):
                yield VariableIn(includer, other)


def _imported_by(
    snapshot: Snapshot, path: str, variable: variables.Variable
) -> Iterator[tuple[VariableIn | None, Occurrence] | None]:
    """Yield the references to the variable in importers, and the importer's variable if it has one.

    None separates the files.
    """
    for importer in sorted(snapshot.includers(path)):
        yield None
        template = snapshot.template(importer)
        for mention in mentions_of(template.source, variable.name) if template else ():
            assert template is not None
            if mention.kind not in {"imported", "attribute"}:
                continue
            if imported_file(snapshot, importer, template, mention) == path:
                own = variables.variable_at(template, variables.NamePlace(mention.name, mention.span))
                place = VariableIn(importer, own) if own is not None else None
                yield place, Occurrence(importer, mention.span, "read")


def imported_file(snapshot: Snapshot, path: str, template: Template, mention: Mention) -> str | None:
    """Return the file that an imported name, a module's name, or an attribute of a module comes from."""
    owner = mention.owner
    if mention.kind == "attribute":
        module = _module(template, template.source.slice(owner), owner)
        if module is None:
            return None
        owner = module.owner
    elif mention.kind not in {"imported", "module"}:
        return None
    reference = next((each for each in template.references if each.span == owner), None)
    return snapshot.resolve(path, reference) if reference is not None else None


def imported_variable(
    snapshot: Snapshot, path: str, template: Template, mention: Mention
) -> VariableIn | None:
    """Return the variable of another file that an imported name, or an attribute of a module, refers to."""
    target = imported_file(snapshot, path, template, mention)
    other = snapshot.template(target) if target else None
    exported = variables.exported_variable(other, mention.name) if other is not None else None
    return VariableIn(target, exported) if target is not None and exported is not None else None


def _module(template: Template, name: str, span: Span) -> Mention | None:
    """Return the import that the name at `span` refers to."""
    variable = variables.variable_at(template, variables.NamePlace(name, span))
    for reference in variable.references if variable is not None else ():
        if reference.span == span and reference.binding is not None and reference.binding.kind == "import":
            mention = mention_at(template.source, reference.binding.span.start)
            return mention if mention is not None and mention.kind == "module" else None
    return None


def _imported_from(
    snapshot: Snapshot, path: str, template: Template, variable: variables.Variable
) -> Iterator[VariableIn]:
    """Yield the variable in the files that this one imports it from without renaming it."""
    for binding in variable.bindings:
        if binding.kind != "import":
            continue
        mention = mention_at(template.source, binding.span.start)
        if mention is None or mention.kind != "imported" or mention.span != binding.span:
            continue
        imported = imported_variable(snapshot, path, template, mention)
        if imported is not None:
            yield imported


class KeyPathIn(NamedTuple):
    """A path from an input of the file at `path`."""

    path: str
    key_path: KeyPath


def shared_key_steps(snapshot: Snapshot, path: str, key_path: KeyPath) -> Steps[tuple[KeyPathIn, ...]]:
    """Return the paths to the same value as `key_path` in the file at `path`, which comes first."""
    found: dict[KeyPathIn, None] = {}
    pending = [KeyPathIn(path, key_path)]
    while pending:
        yield
        current = pending.pop(0)
        template = snapshot.template(current.path)
        if current in found or template is None:
            continue
        found[current] = None
        pending += _shared_keys_below(snapshot, template, *current)
        for outer in _shared_keys_above(snapshot, *current):
            yield
            if outer.key_path:
                pending.append(outer)
        pending += (each for each in _through_macros(snapshot, template, *current) if each.key_path)
        root = str(current.key_path[0])
        if is_no_input(root):
            continue
        sharing = yield from inputs_beside(snapshot, current.path, root)
        pending += [KeyPathIn(other, current.key_path) for other, _ in sharing]
    return tuple(found)


def _shared_keys_above(snapshot: Snapshot, path: str, key_path: KeyPath) -> Iterator[KeyPathIn]:
    """Yield the paths to the value in the files that include this one."""
    for includer in sorted(snapshot.includers(path)):
        template = snapshot.template(includer)
        for reference in template.references if template is not None else ():
            if (
                template is not None
                and passes_data(reference)
                and snapshot.resolve(includer, reference) == path
            ):
                seen = resolved_at(template, access_path_of(key_path), _place(template, reference))
                yield KeyPathIn(includer, key_path_of(seen))


def _shared_keys_below(
    snapshot: Snapshot, template: Template, path: str, key_path: KeyPath
) -> Iterator[KeyPathIn]:
    """Yield the paths to the value in the files that this one includes."""
    for reference in template.references:
        target = snapshot.resolve(path, reference) if passes_data(reference) else None
        if target is None or target == path:
            continue
        names: set[str] = set()
        for included in snapshot.included(target):
            other = snapshot.template(included)
            names |= other.names.input_names if other is not None else frozenset()
        for name in sorted(names):
            seen = key_path_of(resolved_at(template, (Step(name),), _place(template, reference)))
            if seen and len(seen) < len(key_path) and key_path[: len(seen)] == seen:
                yield KeyPathIn(target, (name, *key_path[len(seen) :]))


def _place(template: Template, reference: TemplateReference) -> int:
    """Return the position whose variables a reference passes on: for `extends`, the end of the file."""
    return len(template.source) if reference.keyword == "extends" else reference.span.start


def _through_macros(
    snapshot: Snapshot, template: Template, path: str, key_path: KeyPath
) -> Iterator[KeyPathIn]:
    """Yield the parameters that receive the value in macros and call blocks, or their arguments in calls."""
    for handed in flow_of(template).passes:
        seen = key_path_of(handed.path)
        if seen and len(seen) < len(key_path) and key_path[: len(seen)] == seen:
            for each in below(snapshot, path, handed):
                yield KeyPathIn(each.path, (*key_path_of(each.access_path), *key_path[len(seen) :]))
    parameter = parameter_of(access_path_of(key_path[:1]))
    for each in above(snapshot, path, parameter) if parameter is not None else ():
        yield KeyPathIn(each.path, key_path_of(along(each.access_path, *access_path_of(key_path[1:]))))


def key_symbol_at(template: Template, path: str, offset: int) -> Symbol | None:
    """Return the key of an input's value whose name is at `offset`."""
    read = key_read_at(template, offset)
    if read is not None:
        return (
            Symbol("key", read.name, path, read.span, path, None, read.key_path)
            if len(read.key_path) > 1
            else None
        )
    declared = template.declarations
    if declared.tree is None or not declared.tree.span.touches(offset):
        return None
    for key_path in _declared_key_paths(template, offset):
        for each in declared_key_places(template, path, key_path):
            if each.span.touches(offset):
                return Symbol("key", template.source.slice(each.span), path, each.span, path, None, key_path)
    return None


def key_places(
    snapshot: Snapshot, symbol: Symbol, *, in_data: bool
) -> Generator[Occurrence | None, None, None]:
    """Yield every occurrence of a key in the workspace; without `in_data`, data files are not searched.

    None separates the files.
    """
    yield None
    shared = shared_key_steps(snapshot, symbol.home, symbol.key_path)
    for path, key_path in (yield from shared):
        yield None
        template = snapshot.template(path)
        if template is None:
            continue
        yield from key_places_in(template, path, key_path)
        if in_data:
            yield from data_places(snapshot, path, template, data_keys(key_path))
        yield from python_places(snapshot, path, data_keys(key_path))


def key_places_in(template: Template, path: str, key_path: KeyPath) -> Iterator[Occurrence]:
    """Yield the occurrences of a key in the tags of one file, and in the file's declarations."""
    for read in keys_named(template, str(key_path[-1])):
        if read.key_path == key_path:
            yield Occurrence(path, read.span, "read")
    yield from declared_key_places(template, path, key_path)


def declared_key_places(template: Template, path: str, key_path: KeyPath) -> Iterator[Occurrence]:
    """Yield the occurrences of a key in the schema of its input, and in the examples."""
    declared = template.declarations
    inputs = declared.tree.value("input_keys") if declared.tree is not None else None
    schema = inputs.value(str(key_path[0])) if isinstance(inputs, Mapping) else None
    for entry, required in _in_schema(schema, key_path[1:]):
        span = bare_span(template, entry.key.span, str(key_path[-1]))
        if span is not None:
            yield Occurrence(path, span, "declaration", "header")
        for item in required.items if isinstance(required, Sequence) else ():
            name = (
                bare_span(template, item.span, str(key_path[-1]))
                if scalar_text(item) == key_path[-1]
                else None
            )
            if name is not None:
                yield Occurrence(path, name, "write", "header")
    if declared.examples:
        text = template.source.text
        for example in declared.examples:
            for span in yaml_key_spans(text, Mapping(example.span, example.entries), data_keys(key_path)):
                yield Occurrence(path, span, "write", "header")


def data_keys(key_path: KeyPath) -> DataKeys:
    """Return the keys in data that correspond to a path: lists are skipped."""
    return tuple(None if key is Each.VALUE else str(key) for key in key_path if key is not Each.ELEMENT)


def _in_schema(schema: Node | None, key_path: KeyPath) -> Iterator[tuple[Entry, Node | None]]:
    """Yield the property at a path in a schema, and the list of required keys next to it."""
    for step, key in enumerate(key_path):
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
            if step == len(key_path) - 1:
                yield entry, schema.value("required")
            schema = entry.value


def _declared_key_paths(template: Template, offset: int) -> Iterator[KeyPath]:
    """Yield the paths of the keys around a position in a schema or an example."""
    declared = template.declarations
    inputs = declared.tree.value("input_keys") if declared.tree is not None else None
    for entry in inputs.entries if isinstance(inputs, Mapping) else ():
        name = key_text(entry)
        if name is not None and entry.value.span.touches(offset):
            yield from _schema_key_paths(entry.value, offset, (name,))
    for example in declared.examples:
        if example.span.touches(offset):
            yield from _value_key_paths(Mapping(example.span, example.entries), offset, ())


def _schema_key_paths(schema: Node, offset: int, key_path: KeyPath) -> Iterator[KeyPath]:
    if not isinstance(schema, Mapping):
        return
    properties = schema.value("properties")
    for entry in properties.entries if isinstance(properties, Mapping) else ():
        name = key_text(entry)
        if name is None:
            continue
        if entry.key.span.touches(offset):
            yield (*key_path, name)
        elif entry.value.span.touches(offset):
            yield from _schema_key_paths(entry.value, offset, (*key_path, name))
    required = schema.value("required")
    for item in required.items if isinstance(required, Sequence) else ():
        name = scalar_text(item)
        if name is not None and item.span.touches(offset):
            yield (*key_path, name)
    for key, step in (("items", Each.ELEMENT), ("additionalProperties", Each.VALUE)):
        below = schema.value(key)
        if below is not None and below.span.touches(offset):
            yield from _schema_key_paths(below, offset, (*key_path, step))


def _value_key_paths(node: Node, offset: int, key_path: KeyPath) -> Iterator[KeyPath]:
    if isinstance(node, Sequence):
        for item in node.items:
            if item.span.touches(offset):
                yield from _value_key_paths(item, offset, (*key_path, Each.ELEMENT))
    for entry in node.entries if isinstance(node, Mapping) else ():
        name = key_text(entry)
        if name is None:
            continue
        if entry.key.span.touches(offset):
            if key_path:
                yield (*key_path, name)
        elif entry.value.span.touches(offset):
            yield from _value_key_paths(entry.value, offset, (*key_path, name))
