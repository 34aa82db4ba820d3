"""What a template expects of its inputs, and samples do not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptls.lint.analysis.declared_types import (
    declared_types,
    lacks_property,
    may_differ,
    mismatch,
    path_text,
    schema_along,
)
from promptls.lint.analysis.unmatched_names import needed_inputs
from promptls.lint.rule import File
from promptls.semantic.flow.paths import Path
from promptls.semantic.flow.shapes import resolved_uses, used_shapes
from promptls.semantic.flow.use import Use
from promptls.semantic.header import DeclaredInput
from promptls.semantic.template import Template
from promptls.semantic.types.assignability import Mismatch, given_value, lacking, mismatch_by_name
from promptls.semantic.types.shape import Shape, alternatives_of
from promptls.text.errors import UserError
from promptls.text.positions import NOWHERE, Span
from promptls.text.suggest import is_close, is_typo, nearest
from promptls.workspace.contract import include_chains, needed_shapes

if TYPE_CHECKING:
    from promptls.rendering.samples import Sample

_MAX_VALUES: Final = 200
_MAX_DEPTH: Final = 10
_MIN_LENGTH: Final = 4
"""The minimum length of a name for it to be considered a typo."""
_DECLARING: Final = frozenset({"properties", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"})
"""The keywords of a schema that says more than samples do."""


class UnsampledName(NamedTuple):
    """A key, or a text in a comparison, that no sample has and that is a typo of `meant`, which they have."""

    span: Span
    name: str
    meant: str
    message: str
    is_key: bool


def unsampled_names(file: File) -> Iterator[UnsampledName]:
    """Yield the typos of keys and texts in the samples of this file, or of the only one that includes it."""
    schemas = sampled_schemas(file)
    shapes = used_shapes(file.template) if schemas else {}
    typed = {name: DeclaredInput(name, NOWHERE, schema) for name, schema in schemas.items()}
    is_suspicious = any(
        _has_other_keys(schemas[name], shapes[name]) for name in schemas.keys() & shapes.keys()
    )
    if not is_suspicious and not (schemas and may_differ(file, typed)):
        return
    uses = [use for use in resolved_uses(file.template) if use.path[0].key in schemas]
    optional = {use.keys for use in uses if any(step.optional for step in use.path)}
    compared = {(use.keys, each.value) for use in uses for each in use.compared}
    for use in uses:
        if use.keys in optional:
            continue
        if use.compared:
            yield from _texts(schemas, use, compared)
        elif len(use.path) > 1:
            yield from _key(file.template, schemas, use)


def _has_other_keys(schema: Mapping[str, Any], shape: Shape) -> bool:
    """Return whether a template reads a typo of a key of the samples, without analyzing the file."""
    properties = schema.get("properties", {})
    return any(
        any(
            _has_other_keys(properties[name], inner) if name in properties else lacks_property(schema, name)
            for name, inner in each.keys
        )
        or (each.element is not None and _has_other_keys(schema.get("items", {}), each.element))
        for each in alternatives_of(shape)
    )


def _key(template: Template, schemas: Mapping[str, Any], use: Use) -> Iterator[UnsampledName]:
    """Yield the last key of a use if it is a typo of a key in the samples."""
    key = use.path[-1].key
    schema = _schema_at(schemas, use.path[:-1])
    place = Span(use.span.end - len(str(key)), use.span.end)
    if not isinstance(key, str) or schema is None or hasattr(dict, key) or not lacks_property(schema, key):
        return
    meant = [name for name in schema["properties"] if _is_misspelled(key, name)]
    if len(meant) == 1 and template.source.slice(Span(place.start - 1, place.end)) == f".{key}":
        yield UnsampledName(place, key, meant[0], f"no sample has `{path_text(use.path)}`", is_key=True)


def _texts(
    schemas: Mapping[str, Any], use: Use, compared: set[tuple[tuple[object, ...], object]]
) -> Iterator[UnsampledName]:
    """Yield the texts that a value is compared with and that are typos of a text in the samples.

    A file that compares with the latter as well means both.
    """
    texts = (_schema_at(schemas, use.path) or {}).get("enum", ())
    for each in use.compared:
        if not isinstance(each.value, str) or each.value in texts:
            continue
        meant = [text for text in texts if _is_misspelled(each.value, text) and _is_slip(each.value, text)]
        if len(meant) == 1 and (use.keys, meant[0]) not in compared:
            inside = Span(each.span.start + 1, each.span.end - 1)
            message = f"`{path_text(use.path)}` is never `{each.value}` in the samples"
            yield UnsampledName(inside, each.value, meant[0], message, is_key=False)


def _is_misspelled(word: str, meant: str) -> bool:
    """Return whether one word is a typo of the other; a plural, or another word after a prefix, is not."""
    shorter, longer = sorted((word.casefold(), meant.casefold()), key=len)
    if len(shorter) < _MIN_LENGTH or not is_typo(word, meant) or not is_close(word, meant):
        return False
    if shorter != longer and longer.startswith(shorter):
        return longer[-1] == longer[-2] != "s"
    return shorter == longer or not longer.endswith(shorter)


def _is_slip(text: str, meant: str) -> bool:
    """Return whether texts differ otherwise than by one letter in place of another, as `normal` and `formal` do."""
    first, second = text.casefold(), meant.casefold()
    return len(first) != len(second) or sorted(first) == sorted(second)


def _schema_at(schemas: Mapping[str, Any], path: Path) -> dict[str, Any] | None:
    """Return the schema of the values at a path; None if the samples do not show it."""
    schema = schema_along(schemas.get(str(path[0].key)), path[1:])
    return schema if isinstance(schema, dict) and schema else None


def sampled_schemas(file: File) -> dict[str, Any]:
    """Return the schema of each input by the samples, unless a declaration says what it is like."""
    entry, bound = file.path, frozenset[str]()
    if not (file.template.declarations.declares_inputs or file.template.declarations.settings.samples):
        chains = include_chains(file.snapshot, file.path)
        if len({chain.entry for chain in chains}) != 1:
            return {}
        entry, bound = chains[0].entry, frozenset[str]().union(*(chain.bound for chain in chains))
    template = file.snapshot.template(entry)
    values = _values(template, entry) if template is not None else {}
    declared = template.declarations.schemas if template else {}
    return {
        name: _schema([*each, *_default(declared.get(name, {}))], _MAX_DEPTH)
        for name, each in values.items()
        if name not in bound and _DECLARING.isdisjoint(declared.get(name, {}))
    }


def _default(schema: Mapping[str, Any]) -> list[Any]:
    return [schema["default"]] if "default" in schema else []


def _values(template: Template, path: str) -> dict[str, list[Any]]:
    """Return the values of each input in the samples file and the examples."""
    from promptls.rendering.samples import file_samples

    try:
        samples = file_samples(template, path)
    except UserError:
        return {}
    found: dict[str, list[Any]] = {}
    examples = (example.data for example in template.declarations.examples)
    for data in (*(sample.data for sample in samples), *examples):
        for name, value in data.items():
            if len(values := found.setdefault(str(name), [])) < _MAX_VALUES:
                values.append(value)
    return found


def _schema(values: list[Any], depth: int) -> dict[str, Any]:
    """Return a schema that values have in common: of mappings, lists or texts; empty for others."""
    if not values or not depth:
        return {}
    if all(isinstance(value, dict) for value in values):
        keys = {str(key) for value in values for key in value}
        inside = {
            key: _schema([value[key] for value in values if key in value], depth - 1) for key in sorted(keys)
        }
        return {"type": "object", "properties": inside}
    if all(isinstance(value, list) for value in values):
        items = list(islice((item for value in values for item in value), _MAX_VALUES))
        return {"type": "array", "items": _schema(items, depth - 1)}
    if all(isinstance(value, str) for value in values):
        return {"type": "string", "enum": list(dict.fromkeys(values))}
    return {}


def texts_used_as_mappings(file: File, columns: Iterable[str]) -> Iterator[tuple[str, Mismatch]]:
    """Yield the columns of a CSV file, whose cells are texts, that the template needs as mappings.

    Cells of an input with a declared type are read as JSON.
    """
    declared = file.template.declarations.settings.input_types()
    shapes = needed_shapes(file.snapshot, file.path)
    needed = {name for name, shape in shapes.items() if shape.kind == "mapping" and not shape.optional}
    texts = {name: Shape("text") for name in columns if name in needed and name not in declared}
    yield from mismatch_by_name(shapes, texts)


class SampleProblem(NamedTuple):
    """A problem of a sample, and its place in the sample: keys and indexes; empty for the sample itself."""

    message: str
    path: tuple[str | int, ...] = ()


def sample_problems(file: File, sample: Sample) -> Iterator[SampleProblem]:
    """Yield the inputs that a sample lacks, and its values that do not fit."""
    known = frozenset(map(str, sample.data))
    declared = file.template.declarations.schemas
    for name in needed_inputs(file, known):
        meant = nearest(name, known - declared.keys())
        suggestion = f"; it has `{meant}`" if meant else ""
        yield SampleProblem(
            f"the sample `{sample.name}` lacks `{name}`{suggestion}", (meant,) if meant else ()
        )
    for name, schema in declared.items():
        if problem := mismatch((name,), sample.data.get(name), schema):
            yield SampleProblem(f"the sample `{sample.name}`: {problem.message}", problem.path)
    if not declared:
        shapes = needed_shapes(file.snapshot, file.path)
        values = {str(name): given_value(value) for name, value in sample.data.items()}
        for name, when in sorted(lacking(shapes, values)):
            yield SampleProblem(f"the sample `{sample.name}` lacks `{name}`, which is read where {when}")
    else:
        untyped = {name for name, schema in declared.items() if declared_types(schema) is None}
        shapes = needed_shapes(file.snapshot, file.path) if untyped else {}
        values = {str(name): given_value(value) for name, value in sample.data.items() if name in untyped}
    for name, found in mismatch_by_name(shapes, values):
        yield SampleProblem(f"the sample `{sample.name}`: {found.message}", (name,))
