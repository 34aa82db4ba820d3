"""Completion at the beginning of an expression: names in scope, inputs, functions, constants, columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from promptls.dialects.prompt_poet.vocabulary import RESERVED_INPUTS
from promptls.ide.callables import ESCAPE, functions_of, macro_of, named_at
from promptls.ide.completion.items import Item, ItemKind, Request
from promptls.security.files import kept_by_file
from promptls.semantic.header import InputKey
from promptls.semantic.names.scopes import Binding
from promptls.semantic.names.visible import own_names
from promptls.semantic.types.shape import UNKNOWN
from promptls.syntax.jinja.builtins import FUNCTIONS, Signature, filter_signature, test_signature
from promptls.syntax.jinja.expected import Expected
from promptls.syntax.jinja.nodes import Name
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.jinja.token_context import open_call
from promptls.text.errors import UserError
from promptls.workspace.contract import needed_shapes


def column_names(request: Request) -> tuple[str, ...]:
    """Return the columns of every dataset that the file's experiments name, each once."""
    return tuple(dict.fromkeys(name for dataset in _datasets(request) for name in _first_row(dataset)[0]))


def first_rows(request: Request) -> tuple[dict[str, Any], ...]:
    """Return the first row of each of those datasets."""
    return tuple(row for dataset in _datasets(request) if (row := _first_row(dataset)[1]))


def _datasets(request: Request) -> tuple[Path, ...]:
    folder = Path(request.path).parent
    experiments = request.declarations.settings.experiments
    return tuple(
        dict.fromkeys(folder / each.dataset for each in (experiments or {}).values() if each.dataset)
    )


@kept_by_file(32)
def _first_row(dataset: Path) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the columns and the first row.

    Nothing of a dataset that cannot be read, which a run reports.
    """
    from promptls.datasets.files import open_dataset

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


def expression_items(request: Request, expected: Expected, tag: Tag, start: int) -> Iterator[Item]:
    """Yield everything that may begin an expression at the place in `tag`, which begins at offset `start`."""
    place = request.offset - start
    if expected.calls:
        yield from _arguments(request, tag, place)
    bound = {**request.visible.bindings, **own_names(tag, start, place)}
    for name, binding in bound.items():
        yield _bound_item(request, name, binding)
    for inclusion in request.includes:
        for name in inclusion.bound.keys() - bound.keys():
            yield Item(name, "variable", _INCLUDED, detail=f"from {Path(inclusion.path).name}")
    yield from _inputs(request, expected, set(bound))
    for function in functions_of(request.snapshot, request.path):
        parameters = Signature(function.name, function.parameters)
        yield _function(parameters, "function", _FUNCTION)
    yield _function(Signature(ESCAPE), "Prompt Poet", _FUNCTION + 5, required=True)
    yield Item("token_limit", "constant", _FUNCTION + 6, detail="Prompt Poet")
    for signature, _ in FUNCTIONS.values():
        yield _function(signature, "Jinja", _GLOBAL)
    for constant in _CONSTANTS:
        yield Item(constant, "constant", _CONSTANT)
    if expected.keyword not in {"for", "call"}:
        yield Item("not", "keyword", _CONSTANT + 5, text="not ")


def _bound_item(request: Request, name: str, binding: Binding) -> Item:
    kind, detail, rank = _KINDS.get(binding.kind, ("variable", "variable", 12))
    rank += min(request.visible.scopes.get(name, 0), 1)
    if binding.kind == "macro":
        found = macro_of(request.template, binding, "")
        if found is not None:
            return _function(found.signature, "macro", rank)
    if binding.kind == "import":
        described = named_at(request.snapshot, request.path, request.offset, name)
        if described is not None:
            return _function(Signature(name, described.signature.parameters), "macro", rank)
    return Item(name, kind, rank, detail=detail)


def _function(signature: Signature, detail: str, rank: int, *, required: bool = False) -> Item:
    """Return a function with its parentheses, and the place in between where it takes something."""
    takes = required or bool(signature.parameters)
    shown = ", ".join(each.text for each in signature.parameters)
    return Item(
        signature.name,
        "function",
        rank,
        text="" if takes else f"{signature.name}()",
        snippet=f"{signature.name}($1)$0" if takes else "",
        detail=detail,
        parameters=f"({shown})",
    )


def _inputs(request: Request, expected: Expected, bound: set[str]) -> Iterator[Item]:
    """Yield the inputs declared or read in the file or its entry templates, then other keys of the data."""
    declared = declared_inputs(request)
    names = dict.fromkeys([*declared, *read_inputs(request)])
    shapes = needed_shapes(request.snapshot, request.path)
    for name in names:
        if name in bound or name in RESERVED_INPUTS:
            continue
        shape = shapes.get(name, UNKNOWN)
        kind = declared[name].schema.get("type") if name in declared else None
        words = kind if isinstance(kind, str) else "" if shape.kind in {"unknown", "any"} else shape.words
        is_iterable = kind in _ITERABLE_TYPES or shape.kind in _ITERABLE
        rank = _INPUT if name in declared else _INPUT + 2
        yield Item(
            name,
            "function" if shape.kind == "callable" else "variable",
            _INPUT - 5 if is_iterable and expected.keyword == "for" else rank,
            text=name,
            snippet=f"{name}($1)$0" if shape.kind == "callable" else "",
            detail=f"input, {words}" if words else "input",
        )
    for name, origin in known_data(request).items():
        if name not in names and name not in bound and name.isidentifier():
            yield Item(name, "variable", _DATA, detail=origin)


def declared_inputs(request: Request) -> dict[str, InputKey]:
    """Return the inputs that the file or an entry template of it declares."""
    return {key.name: key for declared in reversed(request.all_declarations) for key in declared.inputs or ()}


def read_inputs(request: Request) -> list[str]:
    """Return the inputs that the file or its entry templates read, but for the word that is being typed."""
    found: set[str] = set()
    for template in request.entry_templates:
        found |= template.names.input_names
    typed = request.typed
    if typed in found and typed not in declared_inputs(request):
        places = [place for each in request.entry_templates for place in each.names.readings_of(typed)]
        if len(places) <= 1:
            found.discard(typed)
    return sorted(found)


def known_data(request: Request) -> dict[str, str]:
    """Return the names that the sample and the dataset hold, each with where it comes from."""
    output = {declared.settings.output_key for declared in request.all_declarations}
    found = dict.fromkeys((str(key) for key in request.data), "sample")
    for name in column_names(request):
        found.setdefault(name, "dataset")
    return {name: origin for name, origin in found.items() if name not in output}


def _arguments(request: Request, tag: Tag, place: int) -> Iterator[Item]:
    """Yield the parameters of the call around the place that no argument reaches yet, in their order."""
    call = open_call(tag.text, tag.inner_start, place)
    if call is None:
        return
    if call.kind == "filter":
        signature = filter_signature(call.name)
    elif call.kind == "test":
        signature = test_signature(call.name)
    elif isinstance(call.target, Name) or call.target is not None:
        from promptls.ide.callables import called_at

        described = called_at(request.snapshot, request.path, request.offset, call.target)
        signature = described.signature if described else Signature(call.name)
    else:
        return
    for index, parameter in enumerate(signature.parameters):
        reached = parameter.name in call.given or (not call.given and index < call.arguments)
        if parameter.kind in {"any", "keyword"} and not reached:
            # What is asked for first is mostly given by its place.
            rank = 17 + min(index, 2) if parameter.is_required else 1 + min(index, 8)
            yield Item(f"{parameter.name}=", "property", rank, detail="argument")
