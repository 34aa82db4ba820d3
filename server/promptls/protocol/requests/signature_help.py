"""`textDocument/signatureHelp`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from promptls.features.signature_help import signature_help as help_at
from promptls.protocol.answers.plain_text import in_form
from promptls.protocol.dispatch import attempted
from promptls.syntax.jinja.signature import Signature
from promptls.text.lines import Unit, units_from_column

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def signature_help(session: Session, params: dict[str, Any]) -> dict[str, Any] | None:
    """The signature of the call around the position, with the parameter that is being written."""
    path = session.prompt_path(params["textDocument"]["uri"])
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    position = params["position"]
    offset = template.source.offset(position["line"], position["character"], session.unit)
    found = attempted("textDocument/signatureHelp", partial(help_at, session.snapshot, path, offset))
    if found is None:
        return None
    flags = session.flags
    signature: dict[str, Any] = {
        "label": found.signature.text,
        "parameters": _parameters(found.signature, offsets=flags.parameter_offsets),
    }
    if found.documentation:
        signature["documentation"] = in_form(found.documentation, flags.signature_formats)
    # Behind the last parameter none is meant; there is no other way to say so in the protocol.
    active = len(found.signature.parameters) if found.active is None else found.active
    if flags.signature_parameters:
        signature["activeParameter"] = active
    return {"signatures": [signature], "activeSignature": 0, "activeParameter": active}


def _parameters(signature: Signature, *, offsets: bool) -> list[dict[str, Any]]:
    """The parameters, by their place in the label where the client takes that."""
    found: list[dict[str, Any]] = []
    label = signature.text
    column = len(signature.name) + 1
    for parameter in signature.parameters:
        end = column + len(parameter.text)
        # These offsets count UTF-16 units, whatever positions count.
        pair = [units_from_column(label, each, Unit.UTF16) for each in (column, end)]
        found.append({"label": pair if offsets else parameter.text})
        column = end + 2
    return found
