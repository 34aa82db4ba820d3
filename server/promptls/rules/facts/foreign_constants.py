"""Constants of other languages that stand in Jinja: to it, `null` is a name like any other."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.scopes import Reading
from promptls.rules.facts.undeclared_readings import binding_of, declared_names
from promptls.rules.rule import Edit, FileContext, Finding, Fix
from promptls.syntax.jinja.foreign_signs import FOREIGN_CONSTANTS
from promptls.syntax.jinja.nodes import Filter, Name
from promptls.syntax.jinja.problems import expressions_in


def foreign_constants(context: FileContext) -> Iterator[Finding]:
    """A finding for each constant of another language that nothing binds or declares."""
    names = context.template.names
    for name in sorted(FOREIGN_CONSTANTS.keys() & names.read_names):
        if name in (declared_names(context) or ()) or binding_of(names, name) is not None:
            continue
        meant = FOREIGN_CONSTANTS[name]
        for reading in names.readings_of(name):
            if reading.how or reading.binding is not None:
                continue
            message = f"nothing is named `{name}`: Jinja writes `{meant}`"
            # A default that is not there prints nothing; `none` would print the word.
            is_default = name not in {"TRUE", "FALSE"} and _is_handed_to_a_filter(context, reading)
            fix = Fix(f"Change to `{meant}`", (Edit(reading.span, meant),), preferred=not is_default)
            yield Finding(reading.span, message, (fix,))


def _is_handed_to_a_filter(context: FileContext, reading: Reading) -> bool:
    located = context.template.source.located(reading.span.start)
    return any(
        isinstance(argument, Name) and argument.span.shifted(located.start + start) == reading.span
        for start, node in expressions_in(located.chunk)
        if isinstance(node, Filter)
        for argument in node.arguments
    )
