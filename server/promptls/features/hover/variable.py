"""A variable: where it comes from, what is declared of it, its value in the sample, where else it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.features.callables import function_named, macro_of, named_at
from promptls.features.hover.hover import Hover, code, shown_value
from promptls.features.hover.jinja_word import described_text
from promptls.features.sample_values import value_at
from promptls.meaning.header import InputKey
from promptls.meaning.names import chunk_bindings
from promptls.meaning.parameter_roots import is_no_input
from promptls.meaning.paths import Path as ValuePath
from promptls.meaning.paths import Step, without_views
from promptls.meaning.scopes import Binding
from promptls.meaning.shape import Shape
from promptls.meaning.shapes import flow_of, resolved_at, shape_under
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering
from promptls.systems.prompt_poet.vocabulary import RESERVED_INPUTS
from promptls.text.span import Span
from promptls.workspace.macro_calls import paths_from_inputs
from promptls.workspace.needs import needed_shapes
from promptls.workspace.snapshot import Snapshot

_BINDING_WORDS: Final = {
    "set": "variable set",
    "for": "loop variable",
    "with": "variable of a `with` block",
    "macro": "macro",
    "import": "import",
    "from": "import",
    "parameter": "parameter",
    "implied": "variable that Jinja sets in this block",
}
_STANDS_FOR: Final = frozenset({"set", "for", "with", "parameter"})
"""How names are bound that may stand for an input or a part of one."""
_PLAIN_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null"})
_MOST_LINES: Final = 12


def hover_variable(
    snapshot: Snapshot, path: str, template: Template, offset: int, newest: FileRendering | None
) -> Hover | None:
    """What is known of the variable that is read or bound at `offset`, or declared in the header."""
    for reading in template.names.readings_in(offset):
        if reading.span.contains(offset):
            binding = reading.binding
            return _hover(
                snapshot, path, reading.name, reading.span, binding, newest, certain=reading.certain
            )
    located = template.source.located(offset)
    for local in chunk_bindings(located.chunk):
        binding = local._replace(span=local.span.shifted(located.start))
        if binding.span.contains(offset):
            return _hover(snapshot, path, binding.name, binding.span, binding, newest, certain=True)
    for declared in template.declarations.inputs or ():
        if declared.span.contains(offset):
            return _hover(snapshot, path, declared.name, declared.span, None, newest, certain=True)
    return None


def _hover(
    snapshot: Snapshot,
    path: str,
    name: str,
    span: Span,
    binding: Binding | None,
    newest: FileRendering | None,
    *,
    certain: bool,
) -> Hover:
    texts = []
    if binding is not None:
        template = snapshot.template(path)
        assert template is not None
        line = (
            ""
            if binding.kind == "implied"
            else f" in line {template.source.place(binding.span.start).line + 1}"
        )
        sometimes = "" if certain else ", on some ways to this place; else an input"
        way = _stands_for(template, name, span, binding)
        used = _used_as(_local_shape(snapshot, path, template, way))
        texts.append(f"{code(name)}: {_BINDING_WORDS.get(binding.kind, 'variable')}{line}{sometimes}{used}")
        texts += _local_values(snapshot, path, way, newest)
        texts += _called_texts(snapshot, path, template, name, span, binding)
    if binding is None or not certain:
        texts += _input_texts(snapshot, path, name, newest)
    texts += _elsewhere(snapshot, path, name, span, binding)
    return Hover(span, "\n\n".join(texts))


def _input_texts(snapshot: Snapshot, path: str, name: str, newest: FileRendering | None) -> Iterator[str]:
    described = function_named(snapshot, path, name)
    if described is not None:
        yield described_text(described)
        return
    if name in RESERVED_INPUTS:
        yield RESERVED_INPUTS[name]
        return
    declared = _declared(snapshot, path, name)
    if declared is None:
        template = snapshot.template(path)
        lists = template is not None and template.declarations.inputs is not None
        unlisted = ", not in `input_keys`" if lists else ""
        yield f"{code(name)}: input{_used_as(_input_shape(snapshot, path, name))}{unlisted}"
    else:
        where, key = declared
        kind = key.schema.get("type")
        used = "" if kind in _PLAIN_TYPES else _used_as(_input_shape(snapshot, where, name))
        yield f"{code(name)}: input{f', {kind}' if kind else ''}, declared in {code(Path(where).name)}{used}"
        if description := key.schema.get("description"):
            yield str(description)
        if "enum" in key.schema:
            yield f"one of {', '.join(code(shown_value(value)) for value in key.schema['enum'])}"
        if "default" in key.schema:
            yield f"default: {code(shown_value(key.schema['default']))}"
    if newest is not None and name in newest.sample.data:
        value = shown_value(newest.sample.data[name])
        yield f"in {code(newest.sample.name)} ({newest.sample.source}): {code(value)}"


def _called_texts(
    snapshot: Snapshot, path: str, template: Template, name: str, span: Span, binding: Binding
) -> Iterator[str]:
    """The signature and documentation of a macro, the file's own or an imported one."""
    if binding.kind == "macro":
        described = macro_of(template, binding, Path(path).name)
    elif binding.kind == "import":
        described = named_at(snapshot, path, max(span.start, binding.span.end), name)
    else:
        return
    if described is not None:
        yield described_text(described)


def _input_shape(snapshot: Snapshot, path: str, name: str) -> Shape | None:
    """The shape of an input by its uses, in the file at `path` and in those that it includes."""
    return needed_shapes(snapshot, path).get(name)


def _stands_for(template: Template, name: str, span: Span, binding: Binding) -> ValuePath:
    """The path to what a loop's or another variable stands for; empty where that is no part of an input."""
    if binding.kind not in _STANDS_FOR:
        return ()
    place = span.start
    if binding.span == span:
        located = template.source.located(place)
        place = located.start + next(
            (tag.span.end for tag in located.chunk.tags if tag.span.end > place - located.start), 0
        )
    way = resolved_at(template, (Step(name),), place)
    return way if without_views(way) == way else ()


def _local_shape(snapshot: Snapshot, path: str, template: Template, way: ValuePath) -> Shape | None:
    """The shape of what a variable stands for; None where nothing is known of it."""
    if not way:
        return None
    is_own = is_no_input(way[0].key)
    return shape_under(flow_of(template).shapes if is_own else needed_shapes(snapshot, path), way)


def _local_values(
    snapshot: Snapshot, path: str, way: ValuePath, newest: FileRendering | None
) -> Iterator[str]:
    """What a variable is in the sample: in a loop's first turn, of a parameter what is handed to it first."""
    for each in paths_from_inputs(snapshot, path, way)[:1]:
        value = value_at(newest.sample.data, each.way) if newest is not None and each.path == path else None
        if newest is not None and value is not None:
            yield f"in {code(newest.sample.name)} ({newest.sample.source}): {code(shown_value(value))}"


def _used_as(shape: Shape | None) -> str:
    """What the uses of a value say of it, as the end of a sentence; empty where that is little."""
    if shape is None or shape.kind in {"unknown", "any", "scalar"}:
        return ""
    return f", used as {shape.words}"


def _declared(snapshot: Snapshot, path: str, name: str) -> tuple[str, InputKey] | None:
    """The declaration of an input: in the file, or in one through which the file is reached."""
    for candidate in dict.fromkeys([path, *snapshot.entries(path)]):
        template = snapshot.template(candidate)
        for key in (template.declarations.inputs or ()) if template else ():
            if key.name == name:
                return candidate, key
    return None


def _elsewhere(
    snapshot: Snapshot, path: str, name: str, span: Span, binding: Binding | None
) -> Iterator[str]:
    """The other places that read the variable: lines of this file, and files that share the input."""
    template = snapshot.template(path)
    assert template is not None
    lines: dict[int, None] = {}
    for reading in template.names.readings_of(name):
        if reading.binding == binding and reading.span != span:
            lines[template.source.place(reading.span.start).line + 1] = None
        if len(lines) > _MOST_LINES:
            break
    if lines:
        shown = ", ".join(map(str, list(lines)[:_MOST_LINES]))
        more = ", …" if len(lines) > _MOST_LINES else ""
        yield f"also read in line {shown}{more}"
    if binding is not None:
        return
    around = dict.fromkeys([*snapshot.entries(path), *snapshot.included(path)])
    files = [
        Path(other).name
        for other in around
        if other != path and (its := snapshot.template(other)) is not None and name in its.names.input_names
    ]
    if files:
        yield f"also an input of {', '.join(map(code, files))}"
