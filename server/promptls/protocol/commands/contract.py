"""`promptls.contract`: what a prompt needs from its caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.protocol.client.shown_text import show_text
from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.convert import range_json
from promptls.text.arguments import optional
from promptls.text.failure import WrongUse
from promptls.text.nearest import did_you_mean
from promptls.workspace.contract import InputPlace, inputs_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_ENDINGS: Final = {"json-schema": "json", "pydantic": "py", "typeddict": "py"}


async def contract(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The inputs, and with `format` their text in that form; `show` opens the text in the client."""
    path = prompt_path(session, arguments)
    form = optional(arguments, "format", str)
    result: dict[str, Any] = {"inputs": _inputs(session, path)}
    if form is not None:
        from promptls.features.contract.formats import FORMATS, contract_text

        if form not in FORMATS:
            raise WrongUse(
                f"there is no form `{form}`{did_you_mean(form, FORMATS)}",
                remedy=f"choose one of: {', '.join(FORMATS)}",
            )
        result["text"] = contract_text(session.snapshot, path, form)
        if optional(arguments, "show", bool):
            result["document"] = show_text(session, path, "inputs", result["text"], _ENDINGS[form])
    return result


def _inputs(session: Session, path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "type": each.shape.words,
            "optional": each.shape.optional,
            "declared": None if each.declared is None else _location(session, each.declared),
            "read": [_location(session, place) for place in each.places],
        }
        for each in inputs_of(session.snapshot, path)
    ]


def _location(session: Session, place: InputPlace) -> dict[str, Any]:
    template = session.snapshot.template(place.path)
    assert template is not None
    return {
        "uri": session.uri_of(place.path),
        "range": range_json(template.source, place.span, session.unit),
    }
