"""Readings of what is no name of a file, inside of a loop whose own variable nothing reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.meaning.scopes import Binding, Reading
from promptls.rules.facts.undeclared_readings import declared_names, names_in_scope
from promptls.rules.facts.unread_names import unread
from promptls.rules.rule import FileContext
from promptls.text.nearest import is_close, is_slip

_SHORTEST: Final = 4
"""How many letters a name has at least that another one can be a slip of."""


def slips_of_loop_variables(context: FileContext) -> Iterator[tuple[Reading, Binding]]:
    """The readings that are slips of a loop's variable, with it, in a file that declares no inputs.

    Any name may be an input there. One that is read in the loop alone, and is like a variable of the loop
    that nobody reads, is none.
    """
    if declared_names(context) is not None:
        return
    names = context.template.names
    for binding in unread(context, "for"):
        for name in sorted(names.input_names):
            if not _is_like(name, binding.name):
                continue
            readings = list(names.readings_of(name))
            if all(_is_inside(context, reading, binding) for reading in readings):
                yield from ((reading, binding) for reading in readings)


def _is_like(name: str, known: str) -> bool:
    is_plural = name in {f"{known}s", f"{known}es"} or known in {f"{name}s", f"{name}es"}
    return len(known) >= _SHORTEST and not is_plural and is_slip(name, known) and is_close(name, known)


def _is_inside(context: FileContext, reading: Reading, binding: Binding) -> bool:
    if reading.binding is not None or reading.how == "call":
        return False
    return binding.name in names_in_scope(context.template.names, reading.span.start)
