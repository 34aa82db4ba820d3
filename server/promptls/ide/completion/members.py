"""Completion behind a dot or between brackets: attributes and keys of a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from promptls.dialects.prompt_poet.vocabulary import DICT_METHODS
from promptls.ide.callables import exported_macro, exports_of, module_at, tag_of
from promptls.ide.completion.items import Item, ItemKind, Request
from promptls.ide.completion.place import TagPlace, place_in
from promptls.ide.completion.tags import own_block_items
from promptls.ide.completion.variables import first_rows
from promptls.ide.hover.hover import code
from promptls.ide.hover.names import key_texts
from promptls.ide.key_facts import schema_along, value_at
from promptls.semantic.flow.expression_paths import path_of
from promptls.semantic.flow.keys import way_of
from promptls.semantic.flow.paths import Each, Path, Step, View, extended, is_no_input
from promptls.semantic.flow.shapes import flow_of, resolved_at, shape_under
from promptls.semantic.flow.uses import TEXT_FILTERS
from promptls.semantic.names.scopes import Binding
from promptls.semantic.types.schemas import shape_of_schema, shape_of_value
from promptls.semantic.types.settled_shapes import settled
from promptls.semantic.types.shape import UNKNOWN, Shape, keys_of, merged
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.builtins import LOOP
from promptls.syntax.jinja.expected import expected_in_tag
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Filter, Keyword, Name
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.workspace.contract import needed_shapes
from promptls.workspace.macro_calls import paths_from_inputs


class Member(NamedTuple):
    """An attribute or key: what its value can be, and who says that there is one; empty for its uses."""

    shape: Shape | None
    origin: str


def way_to(request: Request, target: Expression | None, *, of_elements: bool = False) -> Path:
    """Return the way from an input to the value of `target`, or to its elements; empty where it is none."""
    way = path_of(target) if target is not None else ()
    if of_elements:
        way = extended(way, Step(Each.ELEMENT))
    return resolved_at(request.template, way, request.offset) if way else ()


def members_of(request: Request, target: Expression | None) -> tuple[dict[str, Member], Shape | None]:
    """Return what is known behind the value of `target`, by name, and of the value itself."""
    path = way_to(request, target)
    if not path and isinstance(target, Filter) and target.name in TEXT_FILTERS:
        return {}, Shape("text")
    return members_at(request, path)


def members_at(request: Request, path: Path) -> tuple[dict[str, Member], Shape | None]:
    """Return the same of the value at the end of a path; nothing for an empty one."""
    if not path:
        return {}, None
    found: dict[str, Member] = {}
    shape: Shape | None = None
    for origin, known in _shapes(request, path):
        shape = known if shape is None else merged(shape, known)
        for name, below in keys_of(known):
            if origin == "used" and name and name == request.typed and _is_only_typed(request):
                continue
            if name not in found:
                found[name] = Member(below, "" if origin == "used" else origin)
    return found, None if shape is None else settled(shape)


def _is_only_typed(request: Request) -> bool:
    """Return whether the word being typed is an attribute nowhere else."""
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


def _shapes(request: Request, path: Path) -> Iterator[tuple[str, Shape]]:
    """Yield what each source says of the value at the end of the path, the surest first."""
    view = path[-1].key
    if isinstance(view, View):
        if view.kind == "group":
            yield "group", Shape("mapping", keys=(("grouper", UNKNOWN), ("list", Shape("list"))))
        return
    if is_no_input(path[0].key):
        yield from _handed_to_macro(request, path)
        return
    schema = schema_at(request, path)
    if schema:
        yield "schema", shape_of_schema(schema)
    for origin, rows in (
        ("sample", (request.data,)),
        ("dataset", first_rows(request)),
    ):
        for row in rows:
            value = value_at(row, path)
            if value is not None:
                yield origin, shape_of_value(value)
    for entry in dict.fromkeys([request.path, *request.snapshot.entries(request.path)]):
        shape = shape_under(needed_shapes(request.snapshot, entry), path)
        if shape is not None:
            yield "used", shape
    yield from _handed_on(request, path)


def _handed_on(request: Request, path: Path) -> Iterator[tuple[str, Shape]]:
    """Yield what is known of a value that an including file hands on, as a loop's variable."""
    for inclusion in request.includes:
        if str(path[0].key) not in inclusion.bound:
            continue
        way = resolved_at(inclusion.template, path, inclusion.reference.span.start)
        examples = inclusion.template.declarations.examples
        value = value_at(examples[0].data, way) if examples and way else None
        if value is not None:
            yield "example", shape_of_value(value)
        shape = shape_under(needed_shapes(request.snapshot, inclusion.path), way) if way else None
        if shape is not None:
            yield "used", shape


def _handed_to_macro(request: Request, path: Path) -> Iterator[tuple[str, Shape]]:
    """Yield what is known of the values that calls hand to a macro, and of how the macro uses them."""
    flow = flow_of(request.template)
    shape = shape_under(flow.shapes, path)
    if shape is not None:
        yield "used", shape
    for each in paths_from_inputs(request.snapshot, request.path, path):
        if each.path == request.path:
            # What begins at a macro itself, and not at a parameter of it, leads back here.
            if not is_no_input(each.way[0].key):
                yield from _shapes(request, each.way)
            continue
        caller = request.snapshot.template(each.path)
        declared = schema_along((caller.declarations.inputs or ()) if caller is not None else (), each.way)
        if declared:
            yield "schema", shape_of_schema(declared)
        examples = caller.declarations.examples if caller is not None else ()
        value = value_at(examples[0].data, each.way) if examples else None
        if value is not None:
            yield "example", shape_of_value(value)
        used = shape_under(needed_shapes(request.snapshot, each.path), each.way)
        if used is not None:
            yield "used", used


def schema_at(request: Request, path: Path) -> dict[str, Any]:
    """Return the JSON Schema of the value at a path, where the input is declared with one."""
    for each in request.all_declarations:
        if path and any(key.name == path[0].key for key in each.inputs or ()):
            return schema_along(each.inputs or (), path)
    return {}


_MAPPING_METHODS: Final = ("items", "keys", "values", "get")
_TEXT_METHODS: Final = ("lower", "upper", "strip", "split", "startswith", "endswith", "replace", "splitlines")
_LIKELIEST: Final = 1
_KNOWN: Final = 10
_METHOD: Final = 40


def attribute_items(request: Request, target: Expression | None) -> Iterator[Item]:
    """Yield what may stand behind the dot of `target`."""
    if isinstance(target, Name):
        named = list(own_block_items(request) if target.name == "self" else _of_name(request, target.name))
        if named:
            yield from named
            return
    members, shape = members_of(request, target)
    for name, member in members.items():
        if name.isidentifier() and name not in DICT_METHODS:
            yield Item(name, "property", _KNOWN, detail=_detail(member))
    if shape is None:
        return
    if shape.kind == "mapping":
        for method in _MAPPING_METHODS:
            takes = method == "get"
            yield Item(
                method,
                "method",
                _METHOD,
                text="" if takes else f"{method}()",
                snippet=f"{method}($1)$0" if takes else "",
                detail="of a mapping",
            )
    elif shape.kind == "text":
        for method in _TEXT_METHODS:
            yield Item(method, "method", _METHOD, snippet=f"{method}($1)$0", detail="of a text")


def key_items(request: Request, target: Expression | None) -> Iterator[Item]:
    """Yield the keys that may stand between the quotes of `target["…"]`."""
    members, _ = members_of(request, target)
    for name, member in members.items():
        if not re.search(r"[\"'\\\n]", name):
            yield Item(name, "property", _KNOWN, detail=_detail(member))


def element_items(request: Request, target: Expression | None) -> Iterator[Item]:
    """Yield the keys of the elements of a list, for a filter that goes by one of them."""
    members, _ = members_at(request, way_to(request, target, of_elements=True))
    for name, member in members.items():
        if not re.search(r"[\"'\\\n.]", name):
            yield Item(name, "property", _KNOWN, detail=_detail(member))


def value_items(request: Request, target: Expression | None) -> Iterator[Item]:
    """Yield the texts that `target` may be compared with: the `enum` of its schema."""
    schema = schema_at(request, way_to(request, target))
    for value in schema.get("enum", ()) if isinstance(schema.get("enum"), list) else ():
        if isinstance(value, str):
            yield Item(value, "enum", _KNOWN)


def compared_items(request: Request, target: Expression | None, quote: str) -> Iterator[Item]:
    """Yield the values to compare `target` with, as written in a tag, texts in these quotes."""
    values = schema_at(request, way_to(request, target)).get("enum") if target is not None else None
    for value in values if isinstance(values, list) else ():
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            text = f"{quote}{value}{quote}" if isinstance(value, str) else str(value)
            if re.search(r"[\"'\\\n]", str(value)):
                continue
            yield Item(text, "enum", _LIKELIEST, filter_text=str(value), detail="compared")


def _detail(member: Member) -> str:
    words = member.shape.words if member.shape is not None and member.shape.kind != "unknown" else ""
    return ", ".join(each for each in (words, member.origin) if each)


# -- names that Jinja or the template give a meaning ---------------------------------------------


def _of_name(request: Request, name: str) -> Iterator[Item]:
    binding = request.visible.bindings.get(name)
    if name == "loop" and binding is not None and binding.kind == "implied":
        for attribute in LOOP:
            called = attribute in {"cycle", "changed"}
            yield Item(
                attribute,
                "method" if called else "property",
                _KNOWN if attribute in {"index", "first", "last", "length"} else _KNOWN + 2,
                snippet=f"{attribute}($1)$0" if called else "",
                detail="loop",
            )
    elif binding is not None and binding.kind == "import":
        yield from _of_module(request, name)
    elif binding is not None and binding.kind == "set":
        yield from _of_namespace(request, name, binding)


def _of_module(request: Request, name: str) -> Iterator[Item]:
    path = module_at(request.snapshot, request.path, request.offset, name)
    template = request.snapshot.template(path) if path else None
    if path is None or template is None:
        return
    for exported, binding in exports_of(template).items():
        described = exported_macro(request.snapshot, path, exported)
        kind: ItemKind = "function" if binding.kind == "macro" else "variable"
        if described is None:
            yield Item(exported, kind, _KNOWN + 5, detail=binding.kind)
            continue
        parameters = described.signature.parameters
        yield Item(
            exported,
            kind,
            _KNOWN,
            text="" if parameters else f"{exported}()",
            snippet=f"{exported}($1)$0" if parameters else "",
            detail="macro",
            parameters=f"({', '.join(each.text for each in parameters)})",
        )


def _of_namespace(request: Request, name: str, binding: Binding) -> Iterator[Item]:
    """Yield the variables of a `namespace(…)`: those that it begins with, and those that are set."""
    made = tag_of(request.template, binding)
    value = made[1].expressions[0] if made and made[1].expressions else None
    if (
        not isinstance(value, Call)
        or not isinstance(value.function, Name)
        or value.function.name != "namespace"
    ):
        return
    found = dict.fromkeys(each.name for each in value.arguments if isinstance(each, Keyword))
    for chunk in request.template.source.chunks:
        for tag in chunk.tags if name in chunk.text else ():
            statement = tag_tree(tag).statement if tag.kind == "statement" else None
            for target in statement.targets if statement is not None and statement.keyword == "set" else ():
                if isinstance(target, Attribute) and target.target == Name(target.target.span, name):
                    found[target.name] = None
    for attribute in found:
        yield Item(attribute, "property", _KNOWN, detail=f"of {name}")


def member_documentation(request: Request, label: str) -> str:
    """Return what is known of the key `label` of the value whose members were asked for.

    Empty where it has none.
    """
    at = place_in(request.template, request.offset)
    if not isinstance(at, TagPlace):
        return ""
    expected = expected_in_tag(at.tag.text, at.tag.inner_start, at.tag.inner_end, at.place)
    if expected is None or expected.what not in {"attribute", "key", "element"}:
        return ""
    way = way_to(request, expected.target, of_elements=expected.what == "element")
    if not way_of(way):
        return ""
    origin = code(request.newest.sample.name) if request.newest else "the first sample"
    path = (*way, Step(label))
    return "\n\n".join(key_texts(request.snapshot, request.path, path, request.data, origin))
