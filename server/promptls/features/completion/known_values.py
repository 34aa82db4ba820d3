"""What is known of a value that the caller gives: by its schema, samples, rows, uses, and who hands it on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from promptls.features.completion.columns import first_rows
from promptls.features.completion.request import Request
from promptls.features.key_schemas import schema_along
from promptls.features.sample_values import value_at
from promptls.meaning.demands import TEXT_FILTERS
from promptls.meaning.expression_paths import path_of
from promptls.meaning.parameter_roots import is_no_input
from promptls.meaning.paths import Each, Path, Step, View, extended
from promptls.meaning.schema_shape import shape_of_schema, shape_of_value
from promptls.meaning.settled_shapes import settled
from promptls.meaning.shape import UNKNOWN, Shape, keys_of, merged
from promptls.meaning.shapes import flow_of, resolved_at, shape_under
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import chunks_where, union, united
from promptls.syntax.jinja.nodes import Attribute, Expression, Filter
from promptls.syntax.jinja.problems import expressions_in
from promptls.workspace.macro_calls import paths_from_inputs
from promptls.workspace.needs import needed_shapes


class Member(NamedTuple):
    """An attribute or key: what its value can be, and who says that there is one; empty for its uses."""

    shape: Shape | None
    origin: str


def way_to(request: Request, target: Expression | None, *, of_elements: bool = False) -> Path:
    """The way from an input to the value of `target`, or to its elements; empty where it is none."""
    way = path_of(target) if target is not None else ()
    if of_elements:
        way = extended(way, Step(Each.ELEMENT))
    return resolved_at(request.template, way, request.offset) if way else ()


def members_of(request: Request, target: Expression | None) -> tuple[dict[str, Member], Shape | None]:
    """What is known behind the value of `target`, by name, and of the value itself."""
    path = way_to(request, target)
    if not path and isinstance(target, Filter) and target.name in TEXT_FILTERS:
        return {}, Shape("text")
    return members_at(request, path)


def members_at(request: Request, path: Path) -> tuple[dict[str, Member], Shape | None]:
    """The same of the value at the end of a path; nothing for an empty one."""
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
    """Whether the word being typed is an attribute nowhere else, so that only this place speaks for it."""
    typed = request.typed
    uses = 0
    for located in chunks_where(request.template.source.root, lambda piece: typed in _attribute_names(piece)):
        uses += sum(
            isinstance(node, Attribute) and node.name == typed for _, node in expressions_in(located.chunk)
        )
        if uses > 1:
            return False
    return True


def _chunk_attribute_names(chunk: Chunk) -> frozenset[str]:
    return frozenset(node.name for _, node in expressions_in(chunk) if isinstance(node, Attribute))


_attribute_names: Final = united(_chunk_attribute_names, union)
"""The names of all attributes that a piece of a file reads."""


def _shapes(request: Request, path: Path) -> Iterator[tuple[str, Shape]]:
    """What each source says of the value at the end of the path, the surest first."""
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
        ("data set", first_rows(request)),
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
    """What is known of a value that an including file hands on, as a loop's variable."""
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
    """What is known of the values that calls hand to a macro, and of how the macro uses them."""
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
    """The JSON Schema of the value at a path, where the input is declared with one."""
    for each in request.all_declarations:
        if path and any(key.name == path[0].key for key in each.inputs or ()):
            return schema_along(each.inputs or (), path)
    return {}
