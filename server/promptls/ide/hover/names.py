"""Hover of names in tags: variables, keys, attributes, blocks, columns, and Jinja keywords."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from promptls.dialects.prompt_poet.vocabulary import RESERVED_INPUTS
from promptls.ide import callables
from promptls.ide.hover.markdown import Hover, code, sample_text, shown_value
from promptls.ide.key_facts import declared_schema, value_at
from promptls.ide.symbols.inputs import column_places
from promptls.ide.symbols.jinja import attribute_at, attribute_places, blocks_in, family, namespace_of
from promptls.ide.symbols.symbol import Occurrence
from promptls.ide.symbols.variable_symbols import key_symbol_at
from promptls.rendering.file_rendering import FileRendering
from promptls.semantic.flow.paths import Path as AccessPath
from promptls.semantic.flow.paths import Step, is_no_input, parameter_of, without_views
from promptls.semantic.flow.read_keys import access_path_of
from promptls.semantic.flow.shapes import flow_of, resolved_at, shape_under
from promptls.semantic.header import DeclaredInput
from promptls.semantic.names.file_names import chunk_bindings
from promptls.semantic.names.mentions import mention_at
from promptls.semantic.names.scopes import Binding
from promptls.semantic.template import Template
from promptls.semantic.types.shape import Shape
from promptls.syntax.jinja import builtins, nodes
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.escape import markdown_fence, markdown_prose, markdown_text
from promptls.text.positions import Span
from promptls.workspace.contract import needed_shapes
from promptls.workspace.macro_calls import paths_from_inputs
from promptls.workspace.snapshot import Snapshot

_MAX_ARGUMENTS: Final = 3
"""The maximum number of a macro's calls whose arguments are shown."""


def key_texts(
    snapshot: Snapshot, path: str, access_path: AccessPath, data: dict[str, Any], origin: str
) -> Iterator[str]:
    """Yield Markdown paragraphs; `data` is the sample, and `origin` describes it.

    For a macro's parameter, the arguments in the macro's calls are shown.
    """
    parameter = parameter_of(access_path)
    if parameter is not None:
        paths = paths_from_inputs(snapshot, path, access_path)
        if not paths:
            yield f"{code(str(access_path[-1].key))}: part of the parameter {code(parameter.name)}"
        for each in paths[:_MAX_ARGUMENTS]:
            of_sample = (data, origin) if each.path == path else ({}, "")
            yield from key_texts(snapshot, each.path, each.access_path, *of_sample)
        return
    where, schema = declared_schema(snapshot, path, access_path)
    shape = shape_under(needed_shapes(snapshot, path), access_path)
    kind = schema.get("type")
    usage = f", {markdown_text(kind)}" if isinstance(kind, str) else _used_as(shape)
    declared = f", declared in {code(Path(where).name)}" if schema else ""
    name = str(access_path[-1].key) if isinstance(access_path[-1].key, str) else "element"
    yield f"{code(name)}: part of the input {code(str(access_path[0].key))}{usage}{declared}"
    yield from _schema_texts(schema)
    value = value_at(data, access_path)
    if value is not None:
        yield f"in {origin}: {code(shown_value(value))}"


def _schema_texts(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("description"):
        yield markdown_prose(str(schema["description"]))
    if isinstance(schema.get("enum"), list):
        yield f"one of {', '.join(code(shown_value(value)) for value in schema['enum'])}"
    if "default" in schema:
        yield f"default: {code(shown_value(schema['default']))}"


def _used_as(shape: Shape | None) -> str:
    """Return a description of how a value is used, as the end of a sentence; empty if it is unknown."""
    if shape is None or shape.kind in {"unknown", "any"}:
        return ""
    return f", used as {markdown_prose(shape.description)}"


def hover_key(
    snapshot: Snapshot, path: str, template: Template, offset: int, latest: FileRendering | None
) -> Hover | None:
    """Return the hover text of the key of an input's value at `offset`."""
    symbol = key_symbol_at(template, path, offset)
    if symbol is None:
        return None
    data = latest.sample.data if latest is not None else {}
    origin = sample_text(latest.sample) if latest is not None else ""
    return Hover(
        symbol.span, "\n\n".join(key_texts(snapshot, path, access_path_of(symbol.key_path), data, origin))
    )


def hover_attribute(path: str, template: Template, offset: int) -> Hover | None:
    """Return the hover text of the namespace attribute at `offset`."""
    symbol = attribute_at(template, path, offset)
    mention = mention_at(template.source, offset)
    owner = namespace_of(template, mention) if mention is not None else None
    if symbol is None or owner is None:
        return None
    lines: dict[str, list[int]] = {"declaration": [], "write": [], "read": []}
    for each in attribute_places(template, symbol):
        lines[each.use].append(template.source.line_column(each.span.start).line + 1)
    texts = [f"{code(symbol.name)}: attribute of the namespace {code(owner.name)}"]
    for use, usage in (("declaration", "begins"), ("write", "set"), ("read", "read")):
        if lines[use]:
            texts.append(f"{usage} in line {', '.join(map(str, dict.fromkeys(lines[use])))}")
    return Hover(symbol.span, "\n\n".join(texts))


def hover_word(snapshot: Snapshot, path: str, template: Template, offset: int) -> Hover | None:
    """Return the hover text of the keyword or name at `offset` of a tag; None for variables and operators."""
    located = template.source.located(offset)
    inside = offset - located.start
    for tag in located.chunk.tags:
        if tag.span.start > inside:
            return None
        if tag.kind in {"output", "statement"} and tag.span.touches(inside):
            return _in_tag(snapshot, path, tag, located.start + tag.span.start, offset)
    return None


def described_text(described: callables.Described) -> str:
    """Return a signature with its documentation and origin, in Markdown."""
    fence = "python" if described.code else "jinja"
    text = markdown_fence(described.code or described.signature.text, fence)
    return "\n\n".join(each for each in (text, described.documentation, described.origin) if each)


def _in_tag(snapshot: Snapshot, path: str, tag: Tag, start: int, offset: int) -> Hover | None:
    statement = tag_tree(tag).statement
    place = offset - start
    if statement.keyword != "output" and statement.keyword_span.touches(place):
        text = tag_text(statement.keyword)
        return Hover(statement.keyword_span.shifted(start), text) if text else None
    for imported in statement.imported:
        if imported.span.touches(place) or imported.alias_span.touches(place):
            target = callables.imported_template(snapshot, path, statement)
            described = callables.exported_macro(snapshot, target, imported.name) if target else None
            span = imported.span if imported.span.touches(place) else imported.alias_span
            return Hover(span.shifted(start), described_text(described)) if described else None
    tests = () if statement.loop_test is None else (statement.loop_test,)
    for expression in (*statement.expressions, *tests):
        for node in nodes.walk(expression):
            found = _of_node(snapshot, path, node, place, offset)
            if found is not None:
                return Hover(found[0].shifted(start), found[1])
    return None


def tag_text(keyword: str) -> str:
    """Return the documentation of a tag by its keyword; empty for no keyword of a tag."""
    if keyword.startswith("end") and keyword[3:] in builtins.TAGS:
        return builtins.end_documentation(keyword[3:])
    fact = builtins.TAGS.get(keyword)
    return fact.documentation if fact else ""


def _of_node(
    snapshot: Snapshot, path: str, node: nodes.Expression, place: int, offset: int
) -> tuple[Span, str] | None:
    if isinstance(node, nodes.Filter) and node.name_span.touches(place) and node.name in builtins.FILTERS:
        return node.name_span, signed(
            "| ", builtins.filter_signature(node.name), builtins.filter_documentation(node.name)
        )
    if isinstance(node, nodes.Test) and node.name_span.touches(place) and node.name in builtins.TESTS:
        return node.name_span, signed(
            "is ", builtins.test_signature(node.name), builtins.test_documentation(node.name)
        )
    if isinstance(node, nodes.Attribute) and node.name_span.touches(place) and node.name:
        text = _attribute_text(snapshot, path, node, offset)
        return (node.name_span, text) if text else None
    if isinstance(node, nodes.Call):
        return _argument(snapshot, path, node, place, offset)
    return None


def _argument(
    snapshot: Snapshot, path: str, node: nodes.Call, place: int, offset: int
) -> tuple[Span, str] | None:
    """Return the hover text of the parameter that a keyword argument refers to, with the called function."""
    for argument in node.arguments:
        if not isinstance(argument, nodes.Keyword):
            continue
        start = argument.span.start
        span = Span(start, start + len(argument.name))
        described = (
            callables.called_at(snapshot, path, offset, node.function) if span.touches(place) else None
        )
        parameters = described.signature.parameters if described is not None else ()
        named = next((each for each in parameters if each.name == argument.name), None)
        if described is not None and named is not None:
            return span, f"{code(named.text)}: parameter\n\n{described_text(described)}"
    return None


def signed(before: str, signature: builtins.Signature, text: str) -> str:
    """Return the documentation of a filter or test below its signature."""
    shown = signature.text if signature.parameters else signature.name
    return f"```jinja\n{before}{shown}\n```\n\n{text}".strip()


def _attribute_text(snapshot: Snapshot, path: str, node: nodes.Attribute, offset: int) -> str:
    """Return the hover text of a member of `loop` or of an import; empty for a key of a value."""
    if not isinstance(node.target, nodes.Name):
        return ""
    if node.target.name == "loop" and node.name in builtins.LOOP:
        return builtins.LOOP[node.name]
    module = callables.module_at(snapshot, path, offset, node.target.name)
    if module is None:
        return ""
    described = callables.exported_macro(snapshot, module, node.name)
    return described_text(described) if described else f"{code(node.name)} of {code(Path(module).name)}"


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
_REFERRING_KINDS: Final = frozenset({"set", "for", "with", "parameter"})
"""The kinds of bindings whose names may refer to an input or a part of one."""
_PLAIN_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null"})
_MAX_LINES: Final = 12


def hover_variable(
    snapshot: Snapshot, path: str, template: Template, offset: int, latest: FileRendering | None
) -> Hover | None:
    """Return the hover text of the variable that is read, bound or declared at `offset`."""
    for reference in template.names.references_in(offset):
        if reference.span.touches(offset):
            binding = reference.binding
            return _hover(
                snapshot, path, reference.name, reference.span, binding, latest, certain=reference.certain
            )
    located = template.source.located(offset)
    for local in chunk_bindings(located.chunk):
        binding = local._replace(span=local.span.shifted(located.start))
        if binding.span.touches(offset):
            return _hover(snapshot, path, binding.name, binding.span, binding, latest, certain=True)
    for declared in template.declarations.inputs:
        if declared.span.touches(offset):
            return _hover(snapshot, path, declared.name, declared.span, None, latest, certain=True)
    return None


def _hover(
    snapshot: Snapshot,
    path: str,
    name: str,
    span: Span,
    binding: Binding | None,
    latest: FileRendering | None,
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
            else f" in line {template.source.line_column(binding.span.start).line + 1}"
        )
        sometimes = "" if certain else ", on some ways to this place; else an input"
        access_path = _referenced_path(template, name, span, binding)
        used = _variable_used_as(_local_shape(snapshot, path, template, access_path))
        texts.append(f"{code(name)}: {_BINDING_WORDS.get(binding.kind, 'variable')}{line}{sometimes}{used}")
        texts += _local_values(snapshot, path, access_path, latest)
        texts += _called_texts(snapshot, path, template, name, span, binding)
    if binding is None or not certain:
        texts += _input_texts(snapshot, path, name, latest)
    texts += _elsewhere(snapshot, path, name, span, binding)
    return Hover(span, "\n\n".join(texts))


def _input_texts(snapshot: Snapshot, path: str, name: str, latest: FileRendering | None) -> Iterator[str]:
    described = callables.function_named(snapshot, path, name)
    if described is not None:
        yield described_text(described)
        return
    if name in RESERVED_INPUTS:
        yield RESERVED_INPUTS[name]
        return
    declared = _declared(snapshot, path, name)
    if declared is None:
        template = snapshot.template(path)
        lists = template is not None and template.declarations.declares_inputs
        unlisted = ", not in `input_keys`" if lists else ""
        yield f"{code(name)}: input{_variable_used_as(needed_shapes(snapshot, path).get(name))}{unlisted}"
    else:
        where, key = declared
        kind = key.schema.get("type")
        used = "" if kind in _PLAIN_TYPES else _variable_used_as(needed_shapes(snapshot, where).get(name))
        usage = f", {markdown_text(str(kind))}" if kind else ""
        yield f"{code(name)}: input{usage}, declared in {code(Path(where).name)}{used}"
        yield from _schema_texts(key.schema)
    if latest is not None and name in latest.sample.data:
        value = shown_value(latest.sample.data[name])
        yield f"in {sample_text(latest.sample)}: {code(value)}"


def _called_texts(
    snapshot: Snapshot, path: str, template: Template, name: str, span: Span, binding: Binding
) -> Iterator[str]:
    """Yield the signature and documentation of a macro, either the file's own or imported."""
    if binding.kind == "macro":
        described = callables.macro_of(template, binding, Path(path).name)
    elif binding.kind == "import":
        described = callables.named_at(snapshot, path, max(span.start, binding.span.end), name)
    else:
        return
    if described is not None:
        yield described_text(described)


def _referenced_path(template: Template, name: str, span: Span, binding: Binding) -> AccessPath:
    """Return the access path that a loop variable or other variable refers to.

    Empty if it is not a part of an input.
    """
    if binding.kind not in _REFERRING_KINDS:
        return ()
    place = span.start
    if binding.span == span:
        located = template.source.located(place)
        place = located.start + next(
            (tag.span.end for tag in located.chunk.tags if tag.span.end > place - located.start), 0
        )
    access_path = resolved_at(template, (Step(name),), place)
    return access_path if without_views(access_path) == access_path else ()


def _local_shape(snapshot: Snapshot, path: str, template: Template, access_path: AccessPath) -> Shape | None:
    """Return the shape of a local variable's value; None if it is unknown."""
    if not access_path:
        return None
    is_own = is_no_input(access_path[0].key)
    return shape_under(flow_of(template).shapes if is_own else needed_shapes(snapshot, path), access_path)


def _local_values(
    snapshot: Snapshot, path: str, access_path: AccessPath, latest: FileRendering | None
) -> Iterator[str]:
    """Yield a variable's value in the sample: the first iteration of a loop, the first argument."""
    for each in paths_from_inputs(snapshot, path, access_path)[:1]:
        value = (
            value_at(latest.sample.data, each.access_path)
            if latest is not None and each.path == path
            else None
        )
        if latest is not None and value is not None:
            yield f"in {sample_text(latest.sample)}: {code(shown_value(value))}"


def _variable_used_as(shape: Shape | None) -> str:
    """Return the same for a variable; empty if it is used as a scalar of any type, which says little."""
    return "" if shape is not None and shape.kind == "scalar" else _used_as(shape)


def _declared(snapshot: Snapshot, path: str, name: str) -> tuple[str, DeclaredInput] | None:
    """Return the declaration of an input, in the file or in an entry template that includes it."""
    for candidate in dict.fromkeys([path, *snapshot.entries(path)]):
        template = snapshot.template(candidate)
        for key in template.declarations.inputs if template else ():
            if key.name == name:
                return candidate, key
    return None


def _elsewhere(
    snapshot: Snapshot, path: str, name: str, span: Span, binding: Binding | None
) -> Iterator[str]:
    """Yield the other places that read the variable: lines of this file, and files that share the input."""
    template = snapshot.template(path)
    assert template is not None
    lines: dict[int, None] = {}
    for reference in template.names.searched_references(name):
        if reference.binding == binding and reference.span != span:
            lines[template.source.line_column(reference.span.start).line + 1] = None
        if len(lines) > _MAX_LINES:
            break
    if lines:
        shown = ", ".join(map(str, list(lines)[:_MAX_LINES]))
        more = ", …" if len(lines) > _MAX_LINES else ""
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


def hover_block(snapshot: Snapshot, path: str, template: Template, offset: int) -> Hover | None:
    """Return the hover text of the block whose name is at `offset`."""
    mention = mention_at(template.source, offset)
    if mention is None or mention.kind != "block":
        return None
    places = []
    for other in family(snapshot, path):
        file = snapshot.template(other)
        for each in blocks_in(file, other, mention.name) if file is not None else ():
            if each.use == "declaration" and file is not None:
                line = file.source.line_column(each.span.start).line + 1
                places.append(f"- {code(Path(other).name)}, line {line}{' (here)' if other == path else ''}")
    text = f"{code(mention.name)}: block, which a template that extends this one may fill in"
    return Hover(mention.span, "\n\n".join([text, "\n".join(places)]) if places else text)


def hover_column(path: str, template: Template, offset: int, latest: FileRendering | None) -> Hover | None:
    """Return the hover text of the column at `offset`, which the reader names or a text prints."""
    places = list(column_places(template, path, None))
    here = next((each for each in places if each.span.touches(offset)), None)
    if here is None:
        return None
    name = template.source.slice(here.span)
    same = [each for each in places if template.source.slice(each.span) == name]
    return Hover(here.span, "\n\n".join(_texts(template, name, here, same, latest)))


def _texts(
    template: Template, name: str, here: Occurrence, same: list[Occurrence], latest: FileRendering | None
) -> Iterator[str]:
    reader = template.declarations.data.get("reader_cfg")
    answer = reader.get("output_column") if isinstance(reader, dict) else None
    if name == answer:
        yield f"{code(name)}: column with the answer, which OpenCompass takes out of the row that is asked"
    elif any(each.use == "declaration" for each in same):
        yield f"{code(name)}: column with an input"
    else:
        yield f"{code(name)}: column that the reader does not name"
    if latest is not None and latest.sample.name != "placeholders" and name in latest.sample.data:
        value = shown_value(latest.sample.data[name])
        yield f"in {sample_text(latest.sample)}: {code(value)}"
    lines = dict.fromkeys(
        template.source.line_column(each.span.start).line + 1 for each in same if each.span != here.span
    )
    if lines:
        yield f"also in line {', '.join(map(str, lines))}"
