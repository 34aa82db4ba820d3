"""Signature help: the signature of the call that is being written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from promptls.ide.callables import Described, called_at
from promptls.ide.completion.items import TagPlace, place_in
from promptls.semantic.kind import Kind
from promptls.syntax.jinja.builtins import (
    FILTERS,
    LOOP,
    TESTS,
    Signature,
    Taken,
    filter_documentation,
    filter_signature,
    markdown,
    python_signature,
    test_documentation,
    test_signature,
)
from promptls.syntax.jinja.nodes import Attribute, Name
from promptls.syntax.jinja.tag_context import OpenCall, open_call
from promptls.workspace.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SignatureHelp:
    """A signature, its documentation in Markdown, and the index of the active parameter.

    `active` is None if there are more arguments than parameters.
    """

    signature: Signature
    documentation: str
    active: int | None


def signature_help(snapshot: Snapshot, path: str, offset: int) -> SignatureHelp | None:
    """Return the signature of the innermost call that is open at `offset`; None if it is unknown."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return None
    offset = min(max(offset, 0), len(template.source))
    place = place_in(template, offset)
    if not isinstance(place, TagPlace) or place.tag.kind == "comment":
        return None
    call = open_call(place.tag.text, place.tag.inner_start, place.place)
    described = _described(snapshot, path, offset, call) if call else None
    if call is None or described is None:
        return None
    signature = described.signature
    text = "\n\n".join(each for each in (described.documentation, described.origin) if each)
    return SignatureHelp(signature, text, signature.active(call.arguments, call.keyword))


def _described(snapshot: Snapshot, path: str, offset: int, call: OpenCall) -> Described | None:
    if call.kind == "filter":
        known = call.name in FILTERS
        return Described(filter_signature(call.name), filter_documentation(call.name), "") if known else None
    if call.kind == "test":
        known = call.name in TESTS
        return Described(test_signature(call.name), test_documentation(call.name), "") if known else None
    if call.kind != "function":
        return None
    return called_at(snapshot, path, offset, call.target) or _method(call)


def _method(call: OpenCall) -> Described | None:
    """Return a method of `loop`, a text or a mapping, looked up only by its name."""
    if not isinstance(call.target, Attribute):
        return None
    owner, name = call.target.target, call.target.name
    if isinstance(owner, Name) and owner.name == "loop" and name in {"cycle", "changed"}:
        return Described(Signature(name, (Taken("values", "*values", "rest"),)), LOOP[name], "")
    return _python_method(name)


@lru_cache(maxsize=128)
def _python_method(name: str) -> Described | None:
    for owner in (str, dict):
        method: Any = getattr(owner, name, None)
        if callable(method) and not name.startswith("_"):
            whole = python_signature(name, method)
            origin = "method of a text" if owner is str else "method of a mapping"
            if whole.parameters:
                own = Signature(name, whole.parameters[1:])
                return Described(own, markdown(method.__doc__), origin)
    return None
