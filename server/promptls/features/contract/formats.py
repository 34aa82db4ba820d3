"""The forms in which the inputs of a template can be had."""

from __future__ import annotations

import json
from typing import Final

from promptls.features.code_lenses import Action
from promptls.features.contract.python_types import pydantic_source, typed_dict_source
from promptls.features.contract.schema import contract_schema
from promptls.meaning.kind import Kind
from promptls.workspace.contract import inputs_of
from promptls.workspace.snapshot import Snapshot

CONTRACT: Final = "promptls.contract"
FORMATS: Final = {"json-schema": "a JSON Schema", "pydantic": "a pydantic model", "typeddict": "a TypedDict"}
"""The names of the forms, and what people call them."""


def contract_actions(snapshot: Snapshot, path: str, offset: int) -> tuple[Action, ...]:
    """The commands that show the inputs of the file at `path` in each form.

    Offered at an input: in `input_keys`, and where one is read.
    """
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return ()
    declared = template.declarations.value_span("input_keys")
    if not (declared and declared.contains(offset)) and not any(
        reading.is_input and reading.span.contains(offset) for reading in template.names.readings_in(offset)
    ):
        return ()
    return tuple(
        Action(f"Show the inputs as {words}", CONTRACT, {"format": form, "show": True})
        for form, words in FORMATS.items()
    )


def contract_text(snapshot: Snapshot, path: str, form: str) -> str:
    """The inputs of the file at `path` in one of `FORMATS`, with a line end behind it."""
    schema = contract_schema(snapshot, path)
    if form == "json-schema":
        return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    functions = [each.name for each in inputs_of(snapshot, path) if each.shape.kind == "callable"]
    source = pydantic_source if form == "pydantic" else typed_dict_source
    return source(schema, functions)
