"""All places of a symbol in the workspace, in the order of files and places."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final

from promptls.features.symbols.blocks import block_places, blocks_in
from promptls.features.symbols.data_columns import column_use_places, data_column_places
from promptls.features.symbols.declared_inputs import data_places, declared_places, python_places
from promptls.features.symbols.file_names import file_places
from promptls.features.symbols.find import NO_VARIABLES, symbol_variable
from promptls.features.symbols.keys import key_places, key_places_in
from promptls.features.symbols.macros import arguments_of, macro_of, other_names
from promptls.features.symbols.metrics_and_models import NAMED_KINDS, declared_symbol_places
from promptls.features.symbols.namespaces import attribute_places
from promptls.features.symbols.part_names import part_places
from promptls.features.symbols.python_functions import function_places
from promptls.features.symbols.shared_variable import VariableIn, shared_variable_steps
from promptls.features.symbols.symbol import Occurrence, Symbol, Use
from promptls.meaning.shapes import flow_of
from promptls.meaning.template import Template
from promptls.meaning.variables import NamePlace, Variable, variable_at
from promptls.text.span import Span
from promptls.text.steps import Steps, finished
from promptls.workspace.snapshot import Snapshot

_STEP: Final = 50
"""How many places of one file are looked for at a time."""
_DECLARING: Final = frozenset({"macro", "parameter", "import"})
"""Ways of binding that say what a thing is, and do not only give a value."""


def occurrences(snapshot: Snapshot, symbol: Symbol, *, in_data: bool = True) -> tuple[Occurrence, ...]:
    """Every place of the symbol, in each file that shares it; each once.

    Without `in_data`, files of data are not looked into.
    """
    return finished(occurrence_steps(snapshot, symbol, in_data=in_data))


def occurrence_steps(
    snapshot: Snapshot,
    symbol: Symbol,
    *,
    in_data: bool = True,
    tell: Callable[[tuple[Occurrence, ...]], object] | None = None,
) -> Steps[tuple[Occurrence, ...]]:
    """The same as `occurrences`, file by file; `tell` gets the new places of a file as they are found."""
    found: list[Occurrence] = []
    told: set[tuple[str, Span]] = set()
    first = 0

    def new() -> tuple[Occurrence, ...]:
        fresh = [each for each in _ordered(found[first:]) if (each.path, each.span) not in told]
        told.update((each.path, each.span) for each in fresh)
        return tuple(fresh)

    for each in _places(snapshot, symbol, in_data=in_data):
        if each is not None:
            found.append(each)
        elif tell is not None and first < len(found):
            tell(new())
            first = len(found)
        if each is None or len(found) % _STEP == 0:
            yield
    if tell is not None:
        tell(new())
    return _ordered(found)


def _places(snapshot: Snapshot, symbol: Symbol, *, in_data: bool) -> Iterator[Occurrence | None]:
    """Every place of the symbol, some more than once; None stands between the files."""
    template = snapshot.template(symbol.home)
    if template is None and symbol.kind not in NO_VARIABLES:
        return
    if symbol.kind in NO_VARIABLES:
        yield from _places_of_others(snapshot, symbol, in_data=in_data)
        return
    variable = symbol_variable(snapshot, symbol)
    if variable is None:
        return
    if symbol.kind == "own":
        yield from _variable_places(symbol.home, variable)
        return
    yield from _shared_places(snapshot, symbol.home, variable, in_data=in_data)
    if symbol.kind == "parameter" and template is not None:
        yield from _arguments(snapshot, template, symbol, variable)


def places_here(snapshot: Snapshot, symbol: Symbol) -> tuple[Occurrence, ...]:
    """The places of the symbol in the file where it was found; others are read only where they must be."""
    template = snapshot.template(symbol.path)
    is_elsewhere = symbol.kind == "import" or symbol.home != symbol.path
    if template is None or (symbol.kind not in {"block", "file"} and is_elsewhere):
        return tuple(each for each in occurrences(snapshot, symbol) if each.path == symbol.path)
    if symbol.kind == "block":
        return _ordered(blocks_in(template, symbol.path, symbol.name))
    if symbol.kind == "key" and not flow_of(template).passes:
        return _ordered(key_places_in(template, symbol.path, symbol.way))
    if symbol.kind in NO_VARIABLES:
        return tuple(
            each
            for each in _ordered(filter(None, _places_of_others(snapshot, symbol)))
            if each.path == symbol.path
        )
    variable = symbol_variable(snapshot, symbol)
    if variable is None:
        return ()
    found = list(_variable_places(symbol.path, variable))
    if variable.is_input:
        found += declared_places(template, symbol.path, symbol.name)
    if symbol.kind == "parameter":
        calls = _calls(template, symbol.path, variable)
        found += (
            Occurrence(symbol.path, span, "read")
            for span in arguments_of(template, symbol.name, calls.__contains__)
        )
    return _ordered(found)


def _places_of_others(
    snapshot: Snapshot, symbol: Symbol, *, in_data: bool = True
) -> Iterator[Occurrence | None]:
    if symbol.kind == "block":
        for each in block_places(snapshot, symbol.home, symbol.name):
            yield None
            yield each
    elif symbol.kind == "key":
        yield from key_places(snapshot, symbol, in_data=in_data)
    elif symbol.kind in NAMED_KINDS:
        yield from declared_symbol_places(snapshot, symbol)
    elif symbol.kind == "experiment":
        yield from function_places(snapshot, symbol.home, symbol.name)
    elif symbol.kind == "column":
        yield from data_column_places(snapshot, symbol)
    elif symbol.kind == "file":
        yield from file_places(snapshot, symbol.home)
    elif (template := snapshot.template(symbol.home)) is not None:
        if symbol.kind == "attribute":
            yield from attribute_places(template, symbol)
        else:
            yield from part_places(template, symbol.home, symbol.kind, symbol.name)


def _ordered(found: Iterable[Occurrence]) -> tuple[Occurrence, ...]:
    """The places in order, each once: as what it does, and not as what is read, where it is both."""
    once: dict[tuple[str, Span], Occurrence] = {}
    for each in found:
        known = once.get((each.path, each.span))
        if known is None or known.use == "read":
            once[each.path, each.span] = each
    return tuple(sorted(once.values(), key=lambda each: (each.path, each.span)))


def _shared_places(
    snapshot: Snapshot, path: str, variable: Variable, *, in_data: bool
) -> Generator[Occurrence | None, None, None]:
    found: list[VariableIn] = []
    steps = shared_variable_steps(snapshot, path, variable, by_data=in_data, tell=found.append)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            further: tuple[Occurrence, ...] = ended.value[1]
            break
        yield None
        yield from _places_of_all(snapshot, found, variable.name, in_data=in_data)
        found.clear()
    yield from _places_of_all(snapshot, found, variable.name, in_data=in_data)
    yield from further


def _places_of_all(
    snapshot: Snapshot, variables: list[VariableIn], name: str, *, in_data: bool
) -> Iterator[Occurrence | None]:
    """The places of some variables that are one, each in its own file."""
    for path, variable in variables:
        yield None
        yield from _variable_places(path, variable)
        template = snapshot.template(path)
        if variable.is_input and template is not None:
            yield from declared_places(template, path, name)
            if in_data:
                yield from data_places(snapshot, path, template, name)
                yield from column_use_places(snapshot, path, template, name)
            yield from python_places(snapshot, path, name)


def _variable_places(path: str, variable: Variable) -> Iterator[Occurrence]:
    for binding in variable.bindings:
        use: Use = "declaration" if binding.kind in _DECLARING else "write"
        yield Occurrence(path, binding.span, use)
    for reading in variable.readings:
        yield Occurrence(path, reading.span, "read")


def _arguments(
    snapshot: Snapshot, template: Template, symbol: Symbol, parameter: Variable
) -> Iterator[Occurrence | None]:
    """The keyword arguments that stand for a macro's parameter, wherever the macro is called."""
    macro = macro_of(template, symbol.home, parameter)
    called = variable_at(template, NamePlace(macro.name, macro.span)) if macro is not None else None
    if called is None:
        return
    places = []
    for place in _shared_places(snapshot, symbol.home, called, in_data=False):
        if place is None:
            yield None
        else:
            places.append(place)
    for path in dict.fromkeys(each.path for each in places):
        yield None
        other = snapshot.template(path)
        if other is None:
            continue
        spans = {each.span for each in places if each.path == path}
        spans.update([span for named in spans for span in other_names(other, named)])
        for span in arguments_of(other, symbol.name, spans.__contains__):
            yield Occurrence(path, span, "read")


def _calls(template: Template, path: str, parameter: Variable) -> frozenset[Span]:
    """The places of the file itself that read the macro of a parameter."""
    macro = macro_of(template, path, parameter)
    called = variable_at(template, NamePlace(macro.name, macro.span)) if macro is not None else None
    return frozenset(reading.span for reading in called.readings) if called is not None else frozenset()
