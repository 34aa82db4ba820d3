"""The symbol at a place of a file: what hover, definition, references and rename all speak of."""

from __future__ import annotations

from typing import Final

from promptls.features.symbols.data_columns import option_symbol_at
from promptls.features.symbols.data_file import data_symbol_at, is_data_file
from promptls.features.symbols.declared_inputs import declared_at
from promptls.features.symbols.declared_names import is_settings_file
from promptls.features.symbols.file_names import name_span, reference_at
from promptls.features.symbols.keys import key_symbol_at
from promptls.features.symbols.macros import macro_meant, parameters_of
from promptls.features.symbols.metrics_and_models import declared_symbol_at
from promptls.features.symbols.namespaces import attribute_at
from promptls.features.symbols.part_names import part_name_at
from promptls.features.symbols.python_file import is_program, python_symbol_at
from promptls.features.symbols.shared_data import unread_input
from promptls.features.symbols.shared_variable import imported_file
from promptls.features.symbols.symbol import Symbol, SymbolKind
from promptls.meaning.kind import Kind
from promptls.meaning.mentions import Mention, mention_at
from promptls.meaning.scopes import GLOBALS, INJECTED
from promptls.meaning.template import Template
from promptls.meaning.variables import (
    NamePlace,
    Variable,
    exported_variable,
    input_variable,
    name_at,
    variable_around,
)
from promptls.workspace.contract import function_names
from promptls.workspace.snapshot import Snapshot

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
"""Kinds of symbols that are no variables."""


def holds_prompt(snapshot: Snapshot, path: str) -> bool:
    """Whether a file is read as a prompt, and not as a program, data or settings."""
    if is_program(path) or is_settings_file(path):
        return False
    return not is_data_file(path) or snapshot.kind(path) is not Kind.OTHER


def symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """The symbol whose name stands at `offset`, or ends there; None where there is none.

    In a Python file, a settings file or a file of data, only what prompts share with it is a symbol.
    """
    if holds_prompt(snapshot, path):
        return _in_prompt(snapshot, path, offset)
    if is_program(path):
        return python_symbol_at(snapshot, path, offset)
    if is_settings_file(path):
        return _named_in_settings(snapshot, path, offset)
    return data_symbol_at(snapshot, path, offset)


def _in_prompt(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    template = snapshot.template(path)
    if template is None:
        return None
    place = name_at(template, offset)
    if place is not None:
        return _variable(snapshot, path, template, place)
    mention = mention_at(template.source, offset)
    if mention is not None:
        meant = _mentioned(snapshot, path, template, mention)
        return meant or attribute_at(template, path, offset) or key_symbol_at(template, path, offset)
    reference = reference_at(template, offset)
    if reference is not None:
        target = snapshot.resolve(path, reference)
        return Symbol("file", reference.name or "", path, name_span(reference), target) if target else None
    declared = declared_at(template, path, offset)
    if declared is not None:
        return Symbol("input", template.source.slice(declared.span), path, declared.span, path)
    key = key_symbol_at(template, path, offset) or _named_in_header(snapshot, template, path, offset)
    if key is not None:
        return key
    named = part_name_at(template, offset)
    return Symbol(named.kind, named.name, path, named.span, path, named.span) if named is not None else None


def _named_in_header(snapshot: Snapshot, template: Template, path: str, offset: int) -> Symbol | None:
    tree = template.declarations.tree
    is_inside = tree is not None and tree.span.contains(offset)
    return _named_in_settings(snapshot, path, offset) if is_inside else None


def _named_in_settings(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    return declared_symbol_at(snapshot, path, offset) or option_symbol_at(snapshot, path, offset)


def _variable(snapshot: Snapshot, path: str, template: Template, place: NamePlace) -> Symbol | None:
    variable = variable_around(template, place)
    if variable is None:
        return None
    kind = variable_kind(snapshot, path, variable)
    return Symbol(kind, place.name, path, place.span, path, place.span)


def variable_kind(snapshot: Snapshot, path: str, variable: Variable) -> SymbolKind:
    """The kind of a variable of the file at `path`."""
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
    """The variable of its home that a symbol is; None where it is none, or is gone."""
    template = snapshot.template(symbol.home)
    if template is None or symbol.kind in NO_VARIABLES:
        return None
    if symbol.anchor is not None:
        return variable_around(template, NamePlace(symbol.name, symbol.anchor))
    return input_variable(template, symbol.name) or unread_input(symbol.name)


def _mentioned(snapshot: Snapshot, path: str, template: Template, mention: Mention) -> Symbol | None:
    if mention.kind == "block":
        return Symbol("block", mention.name, path, mention.span, path, mention.span)
    if mention.kind == "argument":
        return _parameter(snapshot, path, template, mention)
    target = imported_file(snapshot, path, template, mention)
    other = snapshot.template(target) if target else None
    exported = exported_variable(other, mention.name) if other is not None else None
    if target is None or exported is None:
        return None
    kind = variable_kind(snapshot, target, exported)
    return Symbol(kind, mention.name, path, mention.span, target, exported.bindings[0].span)


def _parameter(snapshot: Snapshot, path: str, template: Template, mention: Mention) -> Symbol | None:
    """The parameter of the macro that is called with this argument."""
    called = name_at(template, mention.owner.start)
    owner = called if called is not None and called.span == mention.owner else None
    place = owner or mention_at(template.source, mention.owner.start)
    macro = macro_meant(snapshot, path, place) if place is not None else None
    span = parameters_of(snapshot, macro).get(mention.name) if macro is not None else None
    if macro is None or span is None:
        return None
    return Symbol("parameter", mention.name, path, mention.span, macro.path, span)
