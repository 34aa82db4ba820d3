"""Find the symbol at an offset, and its occurrences in the workspace."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final

from promptls.ide.symbols import columns, inputs, jinja
from promptls.ide.symbols.declared import (
    NAMED_KINDS,
    declared_symbol_at,
    declared_symbol_places,
    file_places,
    files_named_in,
    is_named_anywhere,
    name_span,
    reference_at,
    settings_files,
)
from promptls.ide.symbols.python_names import ENDING, function_meant, function_places
from promptls.ide.symbols.symbol import Occurrence, Symbol, SymbolKind, Use
from promptls.ide.symbols.variable_symbols import (
    VariableIn,
    imported_variable,
    key_places,
    key_places_in,
    key_symbol_at,
    shared_variable_steps,
)
from promptls.semantic.flow.shapes import flow_of
from promptls.semantic.kind import Kind
from promptls.semantic.names.mentions import Mention, mention_at
from promptls.semantic.names.scopes import GLOBALS, INJECTED
from promptls.semantic.names.variables import (
    NamePlace,
    Variable,
    input_variable,
    name_at,
    variable_at,
)
from promptls.semantic.template import Template
from promptls.text.positions import Span, word_at
from promptls.text.steps import Steps, finish
from promptls.workspace.contract import function_names, template_of
from promptls.workspace.python_calls import key_spans
from promptls.workspace.settings import is_settings_file
from promptls.workspace.snapshot import Snapshot


def is_program(path: str) -> bool:
    """Return whether a file of this name is a Python file."""
    return path.endswith(ENDING)


def python_symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the symbol at `offset`; None for names that only Python uses."""
    program = snapshot.template(path)
    text = program.source.text if program is not None else ""
    word = word_at(text, offset)
    if word is None:
        return None
    name = text[word.start : word.end]
    return (
        _passed(snapshot, path, text, word, name)
        or _column(snapshot, path, offset)
        or _function(snapshot, path, word, name)
        or _file(snapshot, path, offset)
    )


def _passed(snapshot: Snapshot, path: str, text: str, word: Span, name: str) -> Symbol | None:
    """Return the input that a call passes to a template under this name."""
    for call in snapshot.calls.get(path, ()):
        target = template_of(snapshot, call) if name in call.keys else None
        if target is None or word not in key_spans(text, call, (name,)):
            continue
        home = columns.input_home(snapshot, target, name)
        if home is not None:
            return Symbol("input", name, path, word, home)
    return None


def _column(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the column that an experiment reads from its row."""
    found = snapshot.written.get(path)
    column = next((each for each in found.columns if each.span.touches(offset)), None) if found else None
    if found is None or column is None:
        return None
    for stem in sorted(found.loaded):
        for prompt in finish(inputs.prompts_with(snapshot, stem)):
            template = snapshot.template(prompt)
            if template is None or not columns.reads_rows_of(snapshot, path, column, prompt, template):
                continue
            home = columns.input_home(snapshot, prompt, column.name)
            if home is not None:
                return Symbol("input", column.name, path, column.span, home)
            for file in columns.datasets_of(snapshot, prompt, template):
                if file.rpartition("/")[2].startswith(f"{stem}."):
                    return Symbol("column", column.name, path, column.span, file)
    return None


def _function(snapshot: Snapshot, path: str, word: Span, name: str) -> Symbol | None:
    """Return the function, if it is an experiment or if a header or settings file names it as a metric."""
    if not _may_be_known(snapshot, name):
        return None
    home = function_meant(snapshot, path, word.start, name)
    if home is None:
        return None
    written = snapshot.written.get(home)
    if written is not None and any(each.name == name for each in written.experiments):
        return Symbol("experiment", name, path, word, home)
    is_metric = finish(is_named_anywhere(snapshot, home, name))
    return Symbol("metric", name, path, word, home) if is_metric else None


def _file(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the template or dataset whose name is at `offset`."""
    if path not in snapshot.calls and path not in snapshot.written:
        return None
    for named in files_named_in(snapshot, path):
        if named.span.touches(offset):
            return Symbol("file", named.name, path, named.span, named.target)
    return None


def _may_be_known(snapshot: Snapshot, name: str) -> bool:
    """Return whether a function may be an experiment or named as a metric, without parsing."""
    if any(each.name == name for found in snapshot.written.values() for each in found.experiments):
        return True
    named = f":{name}"
    texts = (snapshot.template(path) for path in settings_files(snapshot))
    in_settings = any(each is not None and named in each.source.text for each in texts)
    return in_settings or bool(finish(inputs.prompts_with(snapshot, named)))


_KINDS: Final[dict[str, SymbolKind]] = {"macro": "macro", "parameter": "parameter", "import": "import"}
NO_VARIABLES: Final = frozenset(
    {
        "attribute",
        "block",
        "key",
        "part",
        "section",
        "file",
        "metric",
        "named metric",
        "model",
        "experiment",
        "column",
    }
)
"""Kinds of symbols that are not variables."""


def is_parsed_as_prompt(snapshot: Snapshot, path: str) -> bool:
    """Return whether a file is parsed as a prompt, not as a program, data or settings."""
    if is_program(path) or is_settings_file(path):
        return False
    return not columns.is_data_file(path) or snapshot.kind(path) is not Kind.OTHER


def symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the symbol whose name contains or ends at `offset`; None if there is none.

    In Python, settings and data files, only names that are shared with prompts are symbols.
    """
    if is_parsed_as_prompt(snapshot, path):
        return _in_prompt(snapshot, path, offset)
    if is_program(path):
        return python_symbol_at(snapshot, path, offset)
    if is_settings_file(path):
        return _named_in_settings(snapshot, path, offset)
    return columns.data_symbol_at(snapshot, path, offset)


def _in_prompt(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    template = snapshot.template(path)
    if template is None:
        return None
    place = name_at(template, offset)
    if place is not None:
        return _variable(snapshot, path, template, place)
    mention = mention_at(template.source, offset)
    if mention is not None:
        mentioned = _mentioned(snapshot, path, template, mention)
        return (
            mentioned or jinja.attribute_at(template, path, offset) or key_symbol_at(template, path, offset)
        )
    reference = reference_at(template, offset)
    if reference is not None:
        target = snapshot.resolve(path, reference)
        return Symbol("file", reference.name or "", path, name_span(reference), target) if target else None
    declared = inputs.declared_at(template, path, offset)
    if declared is not None:
        return Symbol("input", template.source.slice(declared.span), path, declared.span, path)
    key = key_symbol_at(template, path, offset) or _named_in_header(snapshot, template, path, offset)
    if key is not None:
        return key
    named = jinja.part_name_at(template, offset)
    return Symbol(named.kind, named.name, path, named.span, path, named.span) if named is not None else None


def _named_in_header(snapshot: Snapshot, template: Template, path: str, offset: int) -> Symbol | None:
    tree = template.declarations.tree
    is_inside = tree is not None and tree.span.touches(offset)
    return _named_in_settings(snapshot, path, offset) if is_inside else None


def _named_in_settings(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    return declared_symbol_at(snapshot, path, offset) or columns.option_symbol_at(snapshot, path, offset)


def _variable(snapshot: Snapshot, path: str, template: Template, place: NamePlace) -> Symbol | None:
    variable = variable_at(template, place)
    if variable is None:
        return None
    kind = variable_kind(snapshot, path, variable)
    return Symbol(kind, place.name, path, place.span, path, place.span)


def variable_kind(snapshot: Snapshot, path: str, variable: Variable) -> SymbolKind:
    """Return the kind of a variable of the file at `path`."""
    if variable.is_implied:
        return "own"
    for binding in variable.bindings:
        if binding.kind in _KINDS:
            return _KINDS[binding.kind]
    if variable.bindings:
        return "variable"
    if variable.name in GLOBALS | INJECTED:
        return "own"
    return "function" if variable.name in (function_names(snapshot, path) or ()) else "input"


def symbol_variable(snapshot: Snapshot, symbol: Symbol) -> Variable | None:
    """Return the variable of a symbol in its home; None if it is not a variable, or no longer exists."""
    template = snapshot.template(symbol.home)
    if template is None or symbol.kind in NO_VARIABLES:
        return None
    if symbol.anchor is not None:
        return variable_at(template, NamePlace(symbol.name, symbol.anchor))
    return input_variable(template, symbol.name) or inputs.unread_input(symbol.name)


def _mentioned(snapshot: Snapshot, path: str, template: Template, mention: Mention) -> Symbol | None:
    if mention.kind == "block":
        return Symbol("block", mention.name, path, mention.span, path, mention.span)
    if mention.kind == "argument":
        return _parameter(snapshot, path, template, mention)
    imported = imported_variable(snapshot, path, template, mention)
    if imported is None:
        return None
    target, variable = imported
    kind = variable_kind(snapshot, target, variable)
    return Symbol(kind, mention.name, path, mention.span, target, variable.bindings[0].span)


def _parameter(snapshot: Snapshot, path: str, template: Template, mention: Mention) -> Symbol | None:
    """Return the parameter of the called macro that the argument refers to."""
    called = name_at(template, mention.owner.start)
    owner = called if called is not None and called.span == mention.owner else None
    place = owner or mention_at(template.source, mention.owner.start)
    macro = jinja.macro_meant(snapshot, path, place) if place is not None else None
    span = jinja.parameters_of(snapshot, macro).get(mention.name) if macro is not None else None
    if macro is None or span is None:
        return None
    return Symbol("parameter", mention.name, path, mention.span, macro.path, span)


_STEP: Final = 50
"""The number of places in one file that are searched in one step."""
_DECLARING: Final = frozenset({"macro", "parameter", "import"})
"""Kinds of bindings that declare a name, and do not only assign a value."""


def occurrences(snapshot: Snapshot, symbol: Symbol) -> tuple[Occurrence, ...]:
    """Return all occurrences of the symbol in all files that share it, without duplicates."""
    return finish(occurrence_steps(snapshot, symbol))


def occurrence_steps(
    snapshot: Snapshot,
    symbol: Symbol,
    *,
    in_data: bool = True,
    report: Callable[[tuple[Occurrence, ...]], object] | None = None,
) -> Steps[tuple[Occurrence, ...]]:
    """Return the same as `occurrences`, with a step for each file.

    Without `in_data`, data files are not searched. `report` is called with the new occurrences in a file as
    they are found.
    """
    found: list[Occurrence] = []
    reported: set[tuple[str, Span]] = set()
    first = 0

    def new() -> tuple[Occurrence, ...]:
        fresh = [each for each in _order(found[first:]) if (each.path, each.span) not in reported]
        reported.update((each.path, each.span) for each in fresh)
        return tuple(fresh)

    for each in _places(snapshot, symbol, in_data=in_data):
        if each is not None:
            found.append(each)
        elif report is not None and first < len(found):
            report(new())
            first = len(found)
        if each is None or len(found) % _STEP == 0:
            yield
    if report is not None:
        report(new())
    return _order(found)


def _places(snapshot: Snapshot, symbol: Symbol, *, in_data: bool) -> Iterator[Occurrence | None]:
    """Yield all occurrences of the symbol, with duplicates; None separates the files."""
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
    """Return the occurrences of the symbol in the file where it was found.

    Other files are read only if necessary.
    """
    template = snapshot.template(symbol.path)
    is_elsewhere = symbol.kind == "import" or symbol.home != symbol.path
    if template is None or (symbol.kind not in {"block", "file"} and is_elsewhere):
        return tuple(each for each in occurrences(snapshot, symbol) if each.path == symbol.path)
    if symbol.kind == "block":
        return _order(jinja.blocks_in(template, symbol.path, symbol.name))
    if symbol.kind == "key" and not flow_of(template).passes:
        return _order(key_places_in(template, symbol.path, symbol.key_path))
    if symbol.kind in NO_VARIABLES:
        return tuple(
            each
            for each in _order(filter(None, _places_of_others(snapshot, symbol)))
            if each.path == symbol.path
        )
    variable = symbol_variable(snapshot, symbol)
    if variable is None:
        return ()
    found = list(_variable_places(symbol.path, variable))
    if variable.is_input:
        found += inputs.declared_places(template, symbol.path, symbol.name)
    if symbol.kind == "parameter":
        calls = _calls(template, symbol.path, variable)
        found += (
            Occurrence(symbol.path, span, "read")
            for span in jinja.arguments_of(template, symbol.name, calls.__contains__)
        )
    return _order(found)


def _places_of_others(
    snapshot: Snapshot, symbol: Symbol, *, in_data: bool = True
) -> Iterator[Occurrence | None]:
    if symbol.kind == "block":
        for each in jinja.block_places(snapshot, symbol.home, symbol.name):
            yield None
            yield each
    elif symbol.kind == "key":
        yield from key_places(snapshot, symbol, in_data=in_data)
    elif symbol.kind in NAMED_KINDS:
        yield from declared_symbol_places(snapshot, symbol)
    elif symbol.kind == "experiment":
        yield from function_places(snapshot, symbol.home, symbol.name)
    elif symbol.kind == "column":
        yield from columns.data_column_places(snapshot, symbol)
    elif symbol.kind == "file":
        yield from file_places(snapshot, symbol.home)
    elif (template := snapshot.template(symbol.home)) is not None:
        if symbol.kind == "attribute":
            yield from jinja.attribute_places(template, symbol)
        else:
            yield from jinja.part_places(template, symbol.home, symbol.kind, symbol.name)


def _order(found: Iterable[Occurrence]) -> tuple[Occurrence, ...]:
    """Return the occurrences in order, without duplicates; if one is both written and read, it is a write."""
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
    steps = shared_variable_steps(snapshot, path, variable, by_data=in_data, report=found.append)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            references: tuple[Occurrence, ...] = ended.value[1]
            break
        yield None
        yield from _places_of_all(snapshot, found, variable.name, in_data=in_data)
        found.clear()
    yield from _places_of_all(snapshot, found, variable.name, in_data=in_data)
    yield from references


def _places_of_all(
    snapshot: Snapshot, variables: list[VariableIn], name: str, *, in_data: bool
) -> Iterator[Occurrence | None]:
    """Yield the occurrences of variables that represent one symbol, each in its own file."""
    for path, variable in variables:
        yield None
        yield from _variable_places(path, variable)
        template = snapshot.template(path)
        if variable.is_input and template is not None:
            yield from inputs.declared_places(template, path, name)
            if in_data:
                yield from inputs.data_places(snapshot, path, template, (name,))
                yield from columns.column_use_places(snapshot, path, template, name)
            yield from inputs.python_places(snapshot, path, (name,))


def _variable_places(path: str, variable: Variable) -> Iterator[Occurrence]:
    for binding in variable.bindings:
        use: Use = "declaration" if binding.kind in _DECLARING else "write"
        yield Occurrence(path, binding.span, use)
    for reference in variable.references:
        yield Occurrence(path, reference.span, "read")


def _arguments(
    snapshot: Snapshot, template: Template, symbol: Symbol, parameter: Variable
) -> Iterator[Occurrence | None]:
    """Yield the keyword arguments for a macro's parameter in all calls of the macro."""
    macro = jinja.macro_of(template, symbol.home, parameter)
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
        spans.update([span for named in spans for span in jinja.other_names(other, named)])
        for span in jinja.arguments_of(other, symbol.name, spans.__contains__):
            yield Occurrence(path, span, "read")


def _calls(template: Template, path: str, parameter: Variable) -> frozenset[Span]:
    """Return the spans in the file itself where the macro of a parameter is read."""
    macro = jinja.macro_of(template, path, parameter)
    called = variable_at(template, NamePlace(macro.name, macro.span)) if macro is not None else None
    return frozenset(reference.span for reference in called.references) if called is not None else frozenset()
