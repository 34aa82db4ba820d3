"""The inputs that data must have for a prompt to be rendered as it should be."""

from __future__ import annotations

from promptls.meaning.shape import UNKNOWN
from promptls.rules.rule import FileContext
from promptls.workspace.contract import function_names
from promptls.workspace.needs import certain_place, needed_shapes, needs_of


def needed_inputs(context: FileContext, given: frozenset[str]) -> list[str]:
    """The inputs that data with the names in `given` lacks, sorted or as they are declared.

    Those that are declared, but for those with a `default`; where nothing is declared, those that the
    file and its includes read and do not reckon to be without. Functions are none.
    """
    declared = context.template.declarations.inputs
    if declared is not None:
        return [key.name for key in declared if key.name not in given and "default" not in key.schema]
    needs = needs_of(context.snapshot, context.path).by_name
    # What a file may bind ahead of its reading, be it in a branch, need not come from the data.
    names = {
        name
        for name, each in needs.items()
        if name not in given and certain_place(context.snapshot, name, each) is not None
    }
    names -= (function_names(context.snapshot, context.path) or frozenset()) if names else frozenset()
    if not names:
        return []
    shapes = needed_shapes(context.snapshot, context.path)
    found = ((name, shapes.get(name, UNKNOWN)) for name in sorted(names))
    return [name for name, shape in found if not shape.optional and shape.kind != "callable"]
