"""Go to definition and declaration, and document links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, NamedTuple

from promptls.ide.key_facts import bare_span
from promptls.ide.symbols import Occurrence, Symbol, occurrence_steps, symbol_at
from promptls.ide.symbols.declared import NamedValue, file_beside, metric_file, named_value_at, named_values
from promptls.ide.symbols.jinja import macro_meant
from promptls.ide.symbols.occurrences import NO_VARIABLES, holds_prompt, symbol_variable
from promptls.ide.symbols.variable_symbols import declared_key_places, imported_file
from promptls.semantic.names.mentions import TemplateReference, mention_at
from promptls.semantic.names.scopes import GLOBALS, INJECTED, Binding
from promptls.semantic.names.variables import NamePlace, name_at
from promptls.semantic.template import Template
from promptls.text.positions import Span
from promptls.text.steps import Steps
from promptls.workspace.contract import functions_path
from promptls.workspace.python_functions import functions_in
from promptls.workspace.settings import place_of_setting
from promptls.workspace.snapshot import Snapshot

_QUOTED: Final = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A range of the file that links to the file at `target`."""

    span: Span
    target: str

    @property
    def tooltip(self) -> str:
        """The tooltip of the link."""
        return f"Open {PurePath(self.target).name}"


def document_links(snapshot: Snapshot, path: str) -> tuple[DocumentLink, ...]:
    """Return the links of the file at `path`: includes, imports, and existing files in the header."""
    template = snapshot.template(path)
    if template is None:
        return ()
    links = [
        link for reference in template.references for link in _named(snapshot, path, template, reference)
    ]
    for value in named_values(template):
        target = _target(snapshot, path, value)
        if target is not None and snapshot.exists(target):
            links.append(DocumentLink(value.span, target))
    return tuple(sorted(links, key=lambda link: link.span))


def _target(snapshot: Snapshot, path: str, value: NamedValue) -> str | None:
    """Return the file that a value of the declarations refers to."""
    if value.file is not None:
        return file_beside(path, value.file)
    project = snapshot.project(path)
    is_named = value.kind == "model" and value.name in project.settings.models and project.path is not None
    return str(project.path) if is_named else None


def _named(
    snapshot: Snapshot, path: str, template: Template, reference: TemplateReference
) -> Iterator[DocumentLink]:
    """Yield the files that one include, import or `extends` names: for a list, those that exist."""
    written = template.source.slice(reference.span)
    for match in _QUOTED.finditer(written):
        name = match.group(1) or match.group(2) or ""
        if name in (reference.alternatives or (reference.name,)):
            target = snapshot.resolve(path, reference._replace(name=name, alternatives=()))
            start = reference.span.start + match.start() + 1
            if target is not None:
                yield DocumentLink(Span(start, start + len(name)), target)


def link_at(snapshot: Snapshot, path: str, offset: int) -> DocumentLink | None:
    """Return the link at `offset`; None if there is none."""
    return next((link for link in document_links(snapshot, path) if link.span.contains(offset)), None)


class Target(NamedTuple):
    """A target: `span` in the file at `path`; `origin` is the name at the requested offset."""

    path: str
    span: Span
    origin: Span


_TOP = Span(0, 0)


def definition_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[tuple[Target, ...]]:
    """Return the definitions of the symbol at `offset`, the most likely first."""
    in_prompt = holds_prompt(snapshot, path)
    near = _certain_bindings(snapshot, path, offset) if in_prompt else None
    if near is not None:
        return near
    symbol = symbol_at(snapshot, path, offset)
    if in_prompt and (symbol is None or symbol.kind == "named metric"):
        template = snapshot.template(path)
        value = named_value_at(template, offset) if template is not None else None
        if value is not None:
            return tuple(Target(*place, value.span) for place in _definition_named(snapshot, path, value))
    if symbol is None:
        link = link_at(snapshot, path, offset) if in_prompt else None
        return (Target(link.target, _TOP, link.span),) if link is not None else ()
    places = dict.fromkeys((yield from _defined(snapshot, symbol)))
    return tuple(Target(file, span, symbol.span) for file, span in places)


def declaration_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[tuple[Target, ...]]:
    """Return the declarations of the symbol at `offset`: the import, if its definition is elsewhere.

    For an input this is its declaration, for a metric with options the place that names it, and for
    everything else its definition.
    """
    symbol = symbol_at(snapshot, path, offset)
    variable = symbol_variable(snapshot, symbol) if symbol is not None else None
    if symbol is not None and symbol.kind == "import" and variable is not None:
        return tuple(Target(symbol.home, binding.span, symbol.span) for binding in variable.bindings)
    if symbol is not None and symbol.kind in {"input", "named metric"}:
        declared = _declarations((yield from occurrence_steps(snapshot, symbol, in_data=False)))
        if declared:
            return tuple(Target(*place, symbol.span) for place in declared)
    return (yield from definition_steps(snapshot, path, offset))


def _certain_bindings(snapshot: Snapshot, path: str, offset: int) -> tuple[Target, ...] | None:
    """Return the bindings that are certain to define the variable at `offset`, without other places.

    None if they cannot be determined.
    """
    template = snapshot.template(path)
    place = name_at(template, offset) if template is not None else None
    if template is None or place is None:
        return None
    reference = next((each for each in template.names.references_in(offset) if each.span == place.span), None)
    if reference is None or not reference.certain:
        return None
    if reference.binding is not None:
        is_indirect = reference.binding.kind in {"import", "implied"}
        return None if is_indirect else (Target(path, reference.binding.span, place.span),)
    if place.name in GLOBALS or place.name in INJECTED:
        return ()
    for key in template.declarations.inputs or ():
        if key.name == place.name:
            return (Target(path, bare_span(template, key.span, key.name) or key.span, place.span),)
    return None


def _defined(snapshot: Snapshot, symbol: Symbol) -> Steps[list[tuple[str, Span]]]:
    if symbol.kind == "file":
        return [(symbol.home, _TOP)]
    template = snapshot.template(symbol.home)
    if template is not None and symbol.kind == "key":
        declared = _declarations(declared_key_places(template, symbol.home, symbol.key_path))
        return declared or list(_declarations_or_writes((yield from occurrence_steps(snapshot, symbol))))
    if symbol.kind in NO_VARIABLES:
        return _declarations((yield from occurrence_steps(snapshot, symbol)))
    variable = symbol_variable(snapshot, symbol)
    if template is None or variable is None or symbol.kind == "own":
        return []
    if symbol.kind == "function":
        return list(_function(snapshot, symbol))
    places: list[tuple[str, Span]] = []
    for binding in _ordered_bindings(variable.bindings, symbol, template):
        places += _binding_targets(snapshot, symbol.home, template, binding)
    if variable.is_input:
        found = yield from occurrence_steps(snapshot, symbol, in_data=False)
        assigned = [
            (each.path, each.span) for each in found if each.use == "write" and each.where == "template"
        ]
        passed = [(each.path, each.span) for each in found if each.where == "python"]
        places += _declarations(found) or assigned or passed
    return places


def _declarations_or_writes(places: tuple[Occurrence, ...]) -> Iterator[tuple[str, Span]]:
    """Yield the declarations of a key; without one, its first assignment in each file."""
    declared = _declarations(places)
    if declared:
        yield from declared
        return
    first: dict[str, Span] = {}
    for each in places:
        if each.use == "write":
            first.setdefault(each.path, each.span)
    yield from first.items()


def _ordered_bindings(bindings: tuple[Binding, ...], symbol: Symbol, template: Template) -> list[Binding]:
    """Return the bindings, starting with the one that the symbol's own place refers to."""
    referenced = None
    if symbol.anchor is not None:
        for reference in template.names.references_in(symbol.anchor.start):
            if reference.span == symbol.anchor:
                referenced = reference.binding
        referenced = referenced or next((each for each in bindings if each.span == symbol.anchor), None)
    return sorted(bindings, key=lambda binding: (binding != referenced, binding.span))


def _binding_targets(
    snapshot: Snapshot, path: str, template: Template, binding: Binding
) -> Iterator[tuple[str, Span]]:
    """Yield the binding, or the definition that it imports."""
    if binding.kind != "import":
        yield path, binding.span
        return
    macro = macro_meant(snapshot, path, NamePlace(binding.name, binding.span))
    if macro is not None:
        yield macro.path, macro.span
        return
    mention = mention_at(template.source, binding.span.start)
    target = imported_file(snapshot, path, template, mention) if mention is not None else None
    yield (target, _TOP) if target is not None else (path, binding.span)


def _declarations(places: Iterable[Occurrence]) -> list[tuple[str, Span]]:
    return [(each.path, each.span) for each in places if each.use == "declaration"]


def _definition_named(snapshot: Snapshot, path: str, value: NamedValue) -> Iterator[tuple[str, Span]]:
    """Yield the definition of a value of the header: a file, a metric's function, a model of the project."""
    if value.kind == "metric":
        file, name = metric_file(snapshot, path, value)
        places = tuple(_in_program(snapshot, file, name)) if file is not None else ()
        if file is not None and (places or snapshot.exists(file)):
            yield file, next(iter(places), _TOP)
    elif value.kind == "model":
        place = place_of_setting(snapshot.project(path), ("models", value.name))
        settings = snapshot.template(str(place.path)) if place is not None else None
        if place is not None and settings is not None:
            line = settings.source.line_span(place.line or 0)
            at = settings.source.slice(line).find(value.name)
            start = line.start + max(at, 0)
            yield str(place.path), Span(start, start + len(value.name)) if at >= 0 else line
    elif value.file is not None and snapshot.exists(file_beside(path, value.file)):
        yield file_beside(path, value.file), _TOP


def _function(snapshot: Snapshot, symbol: Symbol) -> Iterator[tuple[str, Span]]:
    file = functions_path(snapshot, symbol.home)
    if file is not None:
        for span in _in_program(snapshot, file, symbol.name):
            yield file, span


def _in_program(snapshot: Snapshot, file: str, name: str) -> Iterator[Span]:
    """Yield the definitions of a function with this name in a Python file."""
    program = snapshot.template(file)
    if program is None:
        return
    for function in functions_in(file) or ():
        if function.name == name:
            line = program.source.line_span(function.line)
            at = max(program.source.slice(line).find(name), 0)
            yield Span(line.start + at, line.start + at + len(name))
