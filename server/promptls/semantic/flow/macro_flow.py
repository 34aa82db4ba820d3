"""How values flow through macros: an argument is used as its parameter is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from promptls.semantic.flow.conditions import under
from promptls.semantic.flow.paths import (
    Path,
    Step,
    callee_words,
    caller_root,
    guarded,
    in_place,
    is_no_input,
    parameter_of,
    shape_along,
)
from promptls.semantic.flow.use import Pass
from promptls.semantic.types.shape import UNKNOWN, Shape, interned, merged, unconditional

_MAX_ROUNDS: Final = 6
"""How many macros may pass a value on to each other before it is no longer followed."""


class Flow(NamedTuple):
    """The shapes of inputs and parameters by their own uses, and the arguments of calls."""

    shapes: Mapping[str, Shape]
    passes: tuple[Pass, ...]


class Given(NamedTuple):
    """A value that a macro passes to its call block: a path from the parameter with this index."""

    number: int
    path: Path
    argument: int | str


class MacroUses(NamedTuple):
    """How a macro, or a call block, uses its parameters, and what the macro passes to its call block."""

    parameters: Mapping[int, tuple[str, Shape]]
    given: tuple[Given, ...]

    def number(self, argument: int | str) -> int | None:
        """Return the index of the parameter that an argument is for, if the parameter is used."""
        if isinstance(argument, int):
            return argument
        return next((number for number, each in self.parameters.items() if each[0] == argument), None)

    def shape(self, argument: int | str) -> Shape:
        """Return the shape of the parameter that an argument is for."""
        number = self.number(argument)
        return self.parameters[number][1] if number is not None and number in self.parameters else UNKNOWN


Macros: TypeAlias = Mapping[str, MacroUses]
"""Macros by the names that call them: `show`, `tools.show`."""


def shapes_of_inputs(flow: Flow, imported: Macros) -> Mapping[str, Shape]:
    """Return the shapes of the inputs, including their uses in macros."""
    if not flow.passes and not any(map(is_no_input, flow.shapes)):
        return flow.shapes
    return {name: each for name, each in _completed(flow, imported).items() if not is_no_input(name)}


def macros_of(flow: Flow, imported: Macros) -> dict[str, MacroUses]:
    """Return the macros that a template defines, by name."""
    return {
        name: each for name, each in _owners(_completed(flow, imported), flow).items() if name.isidentifier()
    }


def _completed(flow: Flow, imported: Macros) -> dict[str, Shape]:
    """Return the shapes of inputs and parameters, including their uses in the macros that receive them."""
    shapes = dict(flow.shapes)
    for _ in range(_MAX_ROUNDS):
        before = dict(shapes)
        macros = {**imported, **_owners(before, flow)}
        for each in flow.passes:
            name = callee_words(each.callee)
            owner = parameter_of(each.path)
            macro = macros.get(name) if each.path and (owner is None or owner.owner != name) else None
            if macro is not None:
                _add_uses(shapes, each, macro, macros.get(each.block))
        if shapes == before:
            break
    return shapes


def _owners(shapes: Mapping[str, Shape], flow: Flow) -> dict[str, MacroUses]:
    """Return the macros and call blocks by name, by what is known of their parameters."""
    parameters: dict[str, dict[int, tuple[str, Shape]]] = {}
    for root, shape in shapes.items():
        if (found := parameter_of((Step(root),))) is not None:
            parameters.setdefault(found.owner, {})[found.number] = (found.name, shape)
    passed: dict[str, list[Given]] = {}
    for each in flow.passes:
        parameter = parameter_of(each.path)
        if parameter is not None and each.callee[0].key == caller_root(parameter.owner):
            passed.setdefault(parameter.owner, []).append(Given(parameter.number, each.path, each.argument))
    return {name: MacroUses(uses, tuple(passed.get(name, ()))) for name, uses in parameters.items()}


def _add_uses(shapes: dict[str, Shape], handed: Pass, macro: MacroUses, block: MacroUses | None) -> None:
    """Add the uses of a parameter in a macro, and its call block, to the shape of the argument."""
    shape = unconditional(macro.shape(handed.argument))
    number = macro.number(handed.argument)
    for passed in macro.given if block is not None else ():
        if passed.number == number and block is not None:
            shape = merged(shape, shape_along(passed.path, block.shape(passed.argument)))
    for path, told in in_place(handed.path, shape):
        name = str(path[0].key)
        whole = shape_along(path, told)
        for condition in handed.where:
            whole = under(whole, name, condition)
        for question in handed.asked:
            if question[0].key == name:
                whole = guarded(whole, question)
        shapes[name] = interned(merged(shapes[name], whole) if name in shapes else whole)
