"""The readings of a file that none of its declarations covers, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from promptls.meaning.name_events import chunk_events
from promptls.meaning.names import FileNames
from promptls.meaning.scopes import INJECTED, Binding, Reading
from promptls.meaning.variable import IMPLIED
from promptls.rules.facts.broken_tags import broken_names
from promptls.rules.rule import FileContext
from promptls.text.nearest import is_slip, nearest
from promptls.text.span import Span
from promptls.workspace.contract import function_names

_BINDING_KINDS = ("for", "set", "with", "parameter", "macro", "import")


class Undeclared(NamedTuple):
    """A reading of a name that nothing declares.

    `meant` is the name in scope that it is probably a slip of; `elsewhere` is where the file binds
    the name, though not for this place. At most one of the two is there.
    """

    reading: Reading
    meant: str | None
    elsewhere: Binding | None


def undeclared_readings(context: FileContext) -> Iterator[Undeclared]:
    """The readings of variables in a file that declares its inputs, of names that nothing declares.

    Calls are left out, and so are `loop` and what a broken tag may bind. None in a file that declares no inputs.
    """
    declared = declared_names(context)
    if declared is None:
        return
    names = context.template.names
    functions = function_names(context.snapshot, context.path) or frozenset()
    for name in sorted(names.input_names - declared - functions - broken_names(context) - {"loop"}):
        elsewhere = binding_of(names, name)
        for reading in names.readings_of(name):
            if reading.binding is not None or reading.how == "call":
                continue
            meant = None
            if elsewhere is not None and _is_own_value(context, name, elsewhere, reading):
                yield Undeclared(reading, None, None)
                continue
            if elsewhere is None:
                near = declared | names_in_scope(names, reading.span.start) | INJECTED
                meant = nearest(name, (each for each in near if _can_be_meant(name, each)))
            yield Undeclared(reading, meant, elsewhere)


def _is_own_value(context: FileContext, name: str, binding: Binding, reading: Reading) -> bool:
    """Whether a `set` reads the name that it sets, as one does to give an input a default."""
    if name in context.template.names.bound_names("for") or binding.kind != "set":
        return False
    located = context.template.source.located(reading.span.start)
    inside = reading.span.start - located.start
    for tag in located.chunk.tags:
        if tag.span.start <= inside < tag.span.end:
            return tag.span.start <= binding.span.start - located.start < tag.span.end
    return False


def _can_be_meant(name: str, known: str) -> bool:
    """Whether a known name may be offered: one that no user has chosen, only for a slip of the keys."""
    return known.isidentifier() and (known not in IMPLIED or is_slip(name, known))


def declared_names(context: FileContext) -> frozenset[str] | None:
    """The inputs that the file declares; None where it declares none."""
    inputs = context.template.declarations.inputs
    return None if inputs is None else frozenset(key.name for key in inputs)


def binding_of(names: FileNames, name: str) -> Binding | None:
    """The first place in the file that binds the name, or None."""
    for kind in _BINDING_KINDS:
        if name in names.bound_names(kind):
            return next((each for each in names.bindings_of(kind) if each.name == name), None)
    return None


def names_in_scope(names: FileNames, offset: int) -> frozenset[str]:
    """The names that the file itself has bound at a place."""
    resolver, located = names.scopes_at(offset)
    for event in chunk_events(located.chunk):
        if located.start + event.span.start >= offset:
            break
        if event.action != "read":
            resolver.pass_event(event, located.start)
    return frozenset(name for scope in resolver.scopes for name in scope.bound)


def out_of_scope(context: FileContext, binding: Binding, read: Span) -> str:
    """Why a name that the file binds is not there where it is read."""
    line = context.template.source.place(binding.span.start).line + 1
    match binding.kind:
        case "for":
            where = f"is the variable of the loop in line {line}, and nothing outside of it"
        case "parameter":
            where = f"is a parameter of the block in line {line}, and nothing outside of it"
        case "with":
            where = f"is bound by the `with` in line {line}, and nothing outside of it"
        case _ if binding.span.start > read.start:
            where = f"is bound only further down, in line {line}"
        case _:
            where = f"is bound inside of a block in line {line}, and gone behind it"
    return f"`{binding.name}` {where}"
