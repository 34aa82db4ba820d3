"""Completion of names in expressions: variables, inputs, functions, attributes, keys, elements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.datasets.dataset_files import open_dataset
from promptls.dialects.prompt_poet.vocabulary import RESERVED_INPUTS
from promptls.ide import callables
from promptls.ide.completion.items import CompletionItem, ItemKind, Request, TagPlace, call_item, place_in
from promptls.ide.completion.tags import own_block_items
from promptls.ide.hover.markdown import code
from promptls.ide.hover.names import key_texts
from promptls.ide.key_facts import schema_along, value_at
from promptls.security.files import cached_by_file
from promptls.semantic.flow.paths import Each, Step, View, extend_path, is_no_input, path_of
from promptls.semantic.flow.paths import Path as AccessPath
from promptls.semantic.flow.read_keys import key_path_of
from promptls.semantic.flow.shapes import flow_of, resolved_at, shape_under
from promptls.semantic.flow.uses import TEXT_FILTERS
from promptls.semantic.header import DeclaredInput
from promptls.semantic.names.scopes import Binding
from promptls.semantic.names.visible import own_names
from promptls.semantic.template import Template
from promptls.semantic.types.schemas import shape_of_schema, shape_of_value
from promptls.semantic.types.shape import UNKNOWN, Shape, keys_of, merge_shapes, normalize
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.builtins import FUNCTIONS, LOOP, Signature, filter_signature, test_signature
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Filter, Keyword, Name
from promptls.syntax.jinja.problems import expressions_in, statement_of
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.jinja.tag_context import Expected, expected_in_tag, open_call
from promptls.text.errors import UserError
from promptls.workspace.contract import needed_shapes
from promptls.workspace.macro_calls import paths_from_inputs


def column_names(request: Request) -> tuple[str, ...]:
    """Return the columns of all datasets of the file's experiments, without duplicates."""
    return tuple(dict.fromkeys(name for dataset in _datasets(request) for name in _first_row(dataset)[0]))


def _datasets(request: Request) -> tuple[Path, ...]:
    folder = Path(request.path).parent
    experiments = request.declarations.settings.experiments.values()
    return tuple(dict.fromkeys(folder / each.dataset for each in experiments if each.dataset))


@cached_by_file(32)
def _first_row(dataset: Path) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the columns and the first row.

    Both are empty for an unreadable dataset, which is reported when it is run.
    """
    try:
        opened = open_dataset(dataset)
        row = next(iter(opened.rows()), None)
        return tuple(opened.columns), dict(row.values) if row else {}
    except (UserError, OSError, ValueError):
        return (), {}


_KINDS: Final[dict[str, tuple[ItemKind, str, int]]] = {
    "for": ("variable", "loop variable", 10),
    "parameter": ("variable", "parameter", 10),
    "with": ("variable", "variable of `with`", 10),
    "implied": ("variable", "of this block", 16),
    "set": ("variable", "variable", 12),
    "macro": ("function", "macro", 26),
    "import": ("module", "import", 24),
}
_CONSTANTS: Final = ("true", "false", "none")
_INCLUDED: Final = 13
_INPUT: Final = 14
_DATA: Final = 20
_FUNCTION: Final = 30
_GLOBAL: Final = 40
_CONSTANT: Final = 60
_ITERABLE: Final = frozenset({"list", "mapping"})
_ITERABLE_TYPES: Final = frozenset({"array", "object"})


def expression_items(request: Request, expected: Expected, tag: Tag, start: int) -> Iterator[CompletionItem]:
    """Yield everything that may begin an expression at a place in `tag`, which begins at offset `start`."""
    place = request.offset - start
    if expected.calls:
        yield from _arguments(request, tag, place)
    bound = {**request.visible.bindings, **own_names(tag, start, place)}
    for name, binding in bound.items():
        yield _bound_item(request, name, binding)
    for inclusion in request.includes:
        for name in inclusion.bound.keys() - bound.keys():
            yield CompletionItem(name, "variable", _INCLUDED, detail=f"from {Path(inclusion.path).name}")
    yield from _inputs(request, expected, set(bound))
    for function in callables.functions_of(request.snapshot, request.path):
        parameters = Signature(function.name, function.parameters)
        yield _function(parameters, "function", _FUNCTION)
    yield _function(Signature(callables.ESCAPE), "Prompt Poet", _FUNCTION + 5, required=True)
    yield CompletionItem("token_limit", "constant", _FUNCTION + 6, detail="Prompt Poet")
    for signature, _ in FUNCTIONS.values():
        yield _function(signature, "Jinja", _GLOBAL)
    for constant in _CONSTANTS:
        yield CompletionItem(constant, "constant", _CONSTANT)
    if expected.keyword not in {"for", "call"}:
        yield CompletionItem("not", "keyword", _CONSTANT + 5, text="not ")


def _bound_item(request: Request, name: str, binding: Binding) -> CompletionItem:
    kind, detail, rank = _KINDS.get(binding.kind, ("variable", "variable", 12))
    rank += min(request.visible.scopes.get(name, 0), 1)
    if binding.kind == "macro":
        found = callables.macro_of(request.template, binding, "")
        if found is not None:
            return _function(found.signature, "macro", rank)
    if binding.kind == "import":
        described = callables.named_at(request.snapshot, request.path, request.offset, name)
        if described is not None:
            return _function(Signature(name, described.signature.parameters), "macro", rank)
    return CompletionItem(name, kind, rank, detail=detail)


def _function(signature: Signature, detail: str, rank: int, *, required: bool = False) -> CompletionItem:
    takes = required or bool(signature.parameters)
    return call_item(
        signature.name,
        "function",
        rank,
        detail,
        takes_arguments=takes,
        parameters=signature.parameter_list,
    )


def _inputs(request: Request, expected: Expected, bound: set[str]) -> Iterator[CompletionItem]:
    """Yield the inputs declared or read in the file or its entry templates, then other keys of the data."""
    declared = declared_inputs(request)
    names = dict.fromkeys([*declared, *read_inputs(request)])
    shapes = needed_shapes(request.snapshot, request.path)
    for name in names:
        if name in bound or name in RESERVED_INPUTS:
            continue
        shape = shapes.get(name, UNKNOWN)
        kind = declared[name].schema.get("type") if name in declared else None
        description = (
            kind if isinstance(kind, str) else "" if shape.kind in {"unknown", "any"} else shape.description
        )
        is_iterable = kind in _ITERABLE_TYPES or shape.kind in _ITERABLE
        rank = _INPUT if name in declared else _INPUT + 2
        rank = _INPUT - 5 if is_iterable and expected.keyword == "for" else rank
        detail = f"input, {description}" if description else "input"
        if shape.kind == "callable":
            yield call_item(name, "function", rank, detail, takes_arguments=True)
        else:
            yield CompletionItem(name, "variable", rank, detail=detail)
    for name, origin in known_data(request).items():
        if name not in names and name not in bound and name.isidentifier():
            yield CompletionItem(name, "variable", _DATA, detail=origin)


def declared_inputs(request: Request) -> dict[str, DeclaredInput]:
    """Return the inputs declared by the file or by an entry template that includes it."""
    return {key.name: key for declared in reversed(request.all_declarations) for key in declared.inputs}


def read_inputs(request: Request) -> list[str]:
    """Return the inputs read by the file or its entry templates, except for the word being typed."""
    found: set[str] = set()
    for template in request.entry_templates:
        found |= template.names.input_names
    typed = request.typed
    if typed in found and typed not in declared_inputs(request):
        places = [place for each in request.entry_templates for place in each.names.references_of(typed)]
        if len(places) <= 1:
            found.discard(typed)
    return sorted(found)


def known_data(request: Request) -> dict[str, str]:
    """Return the names in the sample and the dataset, each with its origin."""
    output = {declared.settings.output_key for declared in request.all_declarations}
    found = dict.fromkeys((str(key) for key in request.data), "sample")
    for name in column_names(request):
        found.setdefault(name, "dataset")
    return {name: origin for name, origin in found.items() if name not in output}


def _arguments(request: Request, tag: Tag, place: int) -> Iterator[CompletionItem]:
    """Yield the parameters of the enclosing call that have no argument yet, in order."""
    call = open_call(tag.text, tag.inner_start, place)
    if call is None:
        return
    if call.kind == "filter":
        signature = filter_signature(call.name)
    elif call.kind == "test":
        signature = test_signature(call.name)
    elif call.target is not None:
        described = callables.called_at(request.snapshot, request.path, request.offset, call.target)
        signature = described.signature if described else Signature(call.name)
    else:
        return
    for index, parameter in enumerate(signature.parameters):
        reached = parameter.name in call.given or (not call.given and index < call.arguments)
        if parameter.kind in {"any", "keyword"} and not reached:
            # The first required parameter is usually passed by position.
            rank = 17 + min(index, 2) if parameter.is_required else 1 + min(index, 8)
            yield CompletionItem(f"{parameter.name}=", "property", rank, detail="argument")


class Member(NamedTuple):
    """An attribute or key: the shape of its value, and its origin, which is empty if only uses are known."""

    shape: Shape | None
    origin: str


def access_path_to(request: Request, target: Expression | None, *, of_elements: bool = False) -> AccessPath:
    """Return the path from an input to the value of `target`, or to its elements; empty if there is none."""
    access_path = path_of(target) if target is not None else ()
    if of_elements:
        access_path = extend_path(access_path, Step(Each.ELEMENT))
    return resolved_at(request.template, access_path, request.offset) if access_path else ()


def members_of(request: Request, target: Expression | None) -> tuple[dict[str, Member], Shape | None]:
    """Return the known members of the value of `target` by name, and the shape of the value itself."""
    path = access_path_to(request, target)
    if not path and isinstance(target, Filter) and target.name in TEXT_FILTERS:
        return {}, Shape("text")
    return members_at(request, path)


def members_at(request: Request, path: AccessPath) -> tuple[dict[str, Member], Shape | None]:
    """Return the known members and the shape of the value at the end of a path; none for an empty path."""
    if not path:
        return {}, None
    found: dict[str, Member] = {}
    shape: Shape | None = None
    for origin, known in _shapes(request, path):
        shape = known if shape is None else merge_shapes(shape, known)
        for name, below in keys_of(known):
            if origin == "used" and name and name == request.typed and _is_only_typed(request):
                continue
            if name not in found:
                found[name] = Member(below, "" if origin == "used" else origin)
    return found, None if shape is None else normalize(shape)


def _is_only_typed(request: Request) -> bool:
    """Return whether the word being typed does not occur elsewhere as an attribute."""
    typed = request.typed
    uses = 0
    for located in request.template.source.root.where(lambda piece: typed in _attribute_names(piece)):
        uses += sum(
            isinstance(node, Attribute) and node.name == typed for _, node in expressions_in(located.chunk)
        )
        if uses > 1:
            return False
    return True


def _chunk_attribute_names(chunk: Chunk) -> frozenset[str]:
    return frozenset(node.name for _, node in expressions_in(chunk) if isinstance(node, Attribute))


_attribute_names: Final = summary(_chunk_attribute_names, union)
"""The names of all attributes that a piece of a file reads."""


def _shapes(request: Request, path: AccessPath) -> Iterator[tuple[str, Shape]]:
    """Yield the shape of the value at the end of the path from each source, the most reliable first."""
    view = path[-1].key
    if isinstance(view, View):
        if view.kind == "group":
            yield "group", Shape("mapping", keys=(("grouper", UNKNOWN), ("list", Shape("list"))))
        return
    if is_no_input(path[0].key):
        yield from _passed_to_macro(request, path)
        return
    schema = schema_at(request, path)
    if schema:
        yield "schema", shape_of_schema(schema)
    for origin, rows in (
        ("sample", (request.data,)),
        ("dataset", tuple(row for dataset in _datasets(request) if (row := _first_row(dataset)[1]))),
    ):
        for row in rows:
            value = value_at(row, path)
            if value is not None:
                yield origin, shape_of_value(value)
    for entry in dict.fromkeys([request.path, *request.snapshot.entries(request.path)]):
        shape = shape_under(needed_shapes(request.snapshot, entry), path)
        if shape is not None:
            yield "used", shape
    yield from _passed_on(request, path)


def _passed_on(request: Request, path: AccessPath) -> Iterator[tuple[str, Shape]]:
    """Yield the shapes of a value that an including file passes on, for example as a loop variable."""
    for inclusion in request.includes:
        if str(path[0].key) not in inclusion.bound:
            continue
        access_path = resolved_at(inclusion.template, path, inclusion.reference.span.start)
        if access_path:
            yield from _in_other_file(request, inclusion.path, inclusion.template, access_path)


def _in_other_file(
    request: Request, path: str, template: Template, access_path: AccessPath
) -> Iterator[tuple[str, Shape]]:
    """Yield the shape of a value in the first example of a file, and that of its uses there."""
    examples = template.declarations.examples
    value = value_at(examples[0].data, access_path) if examples else None
    if value is not None:
        yield "example", shape_of_value(value)
    shape = shape_under(needed_shapes(request.snapshot, path), access_path)
    if shape is not None:
        yield "used", shape


def _passed_to_macro(request: Request, path: AccessPath) -> Iterator[tuple[str, Shape]]:
    """Yield the shapes of the arguments that calls pass to a macro, and of the macro's uses of them."""
    shape = shape_under(flow_of(request.template).shapes, path)
    if shape is not None:
        yield "used", shape
    for each in paths_from_inputs(request.snapshot, request.path, path):
        if each.path == request.path:
            # A path that begins at the macro itself, and not at one of its parameters, would recurse
            # infinitely.
            if not is_no_input(each.access_path[0].key):
                yield from _shapes(request, each.access_path)
            continue
        caller = request.snapshot.template(each.path)
        if caller is None:
            continue
        declared = schema_along(caller.declarations.inputs, each.access_path)
        if declared:
            yield "schema", shape_of_schema(declared)
        yield from _in_other_file(request, each.path, caller, each.access_path)


def schema_at(request: Request, path: AccessPath) -> dict[str, Any]:
    """Return the JSON Schema of the value at a path, if the input is declared with one."""
    for each in request.all_declarations:
        if path and any(key.name == path[0].key for key in each.inputs):
            return schema_along(each.inputs, path)
    return {}


_MAPPING_METHODS: Final = ("items", "keys", "values", "get")
_TEXT_METHODS: Final = ("lower", "upper", "strip", "split", "startswith", "endswith", "replace", "splitlines")
_LIKELIEST: Final = 1
_KNOWN: Final = 10
_METHOD: Final = 40


def attribute_items(request: Request, target: Expression | None) -> Iterator[CompletionItem]:
    """Yield the completions after the dot of `target`."""
    if isinstance(target, Name):
        named = list(own_block_items(request) if target.name == "self" else _of_name(request, target.name))
        if named:
            yield from named
            return
    members, shape = members_of(request, target)
    for name, member in members.items():
        if name.isidentifier() and not hasattr(dict, name):
            yield CompletionItem(name, "property", _KNOWN, detail=_detail(member))
    if shape is None:
        return
    if shape.kind == "mapping":
        for method in _MAPPING_METHODS:
            yield call_item(method, "method", _METHOD, "of a mapping", takes_arguments=method == "get")
    elif shape.kind == "text":
        for method in _TEXT_METHODS:
            yield call_item(method, "method", _METHOD, "of a text", takes_arguments=True)


def key_items(request: Request, target: Expression | None) -> Iterator[CompletionItem]:
    """Yield the keys for `target["…"]`."""
    members, _ = members_of(request, target)
    for name, member in members.items():
        if not re.search(r"[\"'\\\n]", name):
            yield CompletionItem(name, "property", _KNOWN, detail=_detail(member))


def element_items(request: Request, target: Expression | None) -> Iterator[CompletionItem]:
    """Yield the keys of the elements of a list, for a filter whose argument is an attribute."""
    members, _ = members_at(request, access_path_to(request, target, of_elements=True))
    for name, member in members.items():
        if not re.search(r"[\"'\\\n.]", name):
            yield CompletionItem(name, "property", _KNOWN, detail=_detail(member))


def value_items(request: Request, target: Expression | None) -> Iterator[CompletionItem]:
    """Yield the texts that `target` may be compared with: the `enum` of its schema."""
    schema = schema_at(request, access_path_to(request, target))
    for value in schema.get("enum", ()) if isinstance(schema.get("enum"), list) else ():
        if isinstance(value, str):
            yield CompletionItem(value, "enum", _KNOWN)


def compared_items(request: Request, target: Expression | None, quote: str) -> Iterator[CompletionItem]:
    """Yield the values to compare `target` with, as written in a tag, with texts in these quotes."""
    values = schema_at(request, access_path_to(request, target)).get("enum") if target is not None else None
    for value in values if isinstance(values, list) else ():
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            text = f"{quote}{value}{quote}" if isinstance(value, str) else str(value)
            if re.search(r"[\"'\\\n]", str(value)):
                continue
            yield CompletionItem(text, "enum", _LIKELIEST, filter_text=str(value), detail="compared")


def _detail(member: Member) -> str:
    shape = member.shape
    description = shape.description if shape is not None and shape.kind != "unknown" else ""
    return ", ".join(each for each in (description, member.origin) if each)


# -- names defined by Jinja or the template ------------------------------------------------------


def _of_name(request: Request, name: str) -> Iterator[CompletionItem]:
    binding = request.visible.bindings.get(name)
    if name == "loop" and binding is not None and binding.kind == "implied":
        for attribute in LOOP:
            rank = _KNOWN if attribute in {"index", "first", "last", "length"} else _KNOWN + 2
            if attribute in {"cycle", "changed"}:
                yield call_item(attribute, "method", rank, "loop", takes_arguments=True)
            else:
                yield CompletionItem(attribute, "property", rank, detail="loop")
    elif binding is not None and binding.kind == "import":
        yield from _of_module(request, name)
    elif binding is not None and binding.kind == "set":
        yield from _of_namespace(request, name, binding)


def _of_module(request: Request, name: str) -> Iterator[CompletionItem]:
    path = callables.module_at(request.snapshot, request.path, request.offset, name)
    template = request.snapshot.template(path) if path else None
    if path is None or template is None:
        return
    for exported, binding in callables.exports_of(template).items():
        described = callables.exported_macro(request.snapshot, path, exported)
        if described is None:
            kind: ItemKind = "function" if binding.kind == "macro" else "variable"
            yield CompletionItem(exported, kind, _KNOWN + 5, detail=binding.kind)
        else:
            yield _function(Signature(exported, described.signature.parameters), "macro", _KNOWN)


def _of_namespace(request: Request, name: str, binding: Binding) -> Iterator[CompletionItem]:
    """Yield the variables of a `namespace(…)`: its arguments, and the attributes that are assigned."""
    made = callables.tag_of(request.template, binding)
    value = made[1].first if made else None
    if (
        not isinstance(value, Call)
        or not isinstance(value.function, Name)
        or value.function.name != "namespace"
    ):
        return
    found = dict.fromkeys(each.name for each in value.arguments if isinstance(each, Keyword))
    for chunk in request.template.source.chunks:
        for tag in chunk.tags if name in chunk.text else ():
            statement = statement_of(tag)
            for target in statement.targets if statement is not None and statement.keyword == "set" else ():
                if isinstance(target, Attribute) and target.target == Name(target.target.span, name):
                    found[target.name] = None
    for attribute in found:
        yield CompletionItem(attribute, "property", _KNOWN, detail=f"of {name}")


def member_documentation(request: Request, label: str) -> str:
    """Return the description of the key `label` of the completed value.

    Empty if it does not have this key.
    """
    at = place_in(request.template, request.offset)
    if not isinstance(at, TagPlace):
        return ""
    expected = expected_in_tag(at.tag.text, at.tag.inner_start, at.tag.inner_end, at.place)
    if expected is None or expected.what not in {"attribute", "key", "element"}:
        return ""
    access_path = access_path_to(request, expected.target, of_elements=expected.what == "element")
    if not key_path_of(access_path):
        return ""
    origin = code(request.latest.sample.name) if request.latest else "the first sample"
    path = (*access_path, Step(label))
    return "\n\n".join(key_texts(request.snapshot, request.path, path, request.data, origin))
