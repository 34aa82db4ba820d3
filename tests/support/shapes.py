"""The shapes of a text's inputs, for tests."""

from __future__ import annotations

from collections.abc import Mapping

from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.template import Template
from promptls.semantic.types.schemas import declared_over, shape_of_schema
from promptls.semantic.types.shape import UNKNOWN, Shape


def input_shapes(template: Template) -> Mapping[str, Shape]:
    """Return the shape of each input that the template reads or declares, sorted by name.

    The JSON Schemas of `input_keys` take precedence over inferred types.
    """
    used = used_shapes(template)
    declared = {key.name: shape_of_schema(key.schema) for key in template.declarations.inputs}
    names = sorted({*template.names.input_names, *declared})
    return {
        name: declared_over(declared[name], used.get(name, UNKNOWN))
        if name in declared
        else used.get(name, UNKNOWN)
        for name in names
    }
