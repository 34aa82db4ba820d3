"""Changes of a prompt that keep what it means, or do what they say: one a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Final

from promptls.features.refactorings.add_header import add_header
from promptls.features.refactorings.convert_file import convert_file
from promptls.features.refactorings.declare_input import declare_input
from promptls.features.refactorings.extract_macro import extract_macro
from promptls.features.refactorings.extract_section import extract_section
from promptls.features.refactorings.inline_section import inline_section
from promptls.features.refactorings.input_keys_form import input_keys_form
from promptls.features.refactorings.refactoring import Offer, Place
from promptls.features.refactorings.sort_parts import sort_parts
from promptls.features.refactorings.wrap import wrap_in_for, wrap_in_if
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

REFACTORINGS: Final[MappingProxyType[str, Callable[[Place], Offer | None]]] = MappingProxyType(
    {
        "extract-section": extract_section,
        "inline-section": inline_section,
        "extract-macro": extract_macro,
        "wrap-in-if": wrap_in_if,
        "wrap-in-for": wrap_in_for,
        "sort-parts": sort_parts,
        "input-keys-form": input_keys_form,
        "add-header": add_header,
        "declare-input": declare_input,
        "convert-file": convert_file,
    }
)
"""Every refactoring by its name: each looks at a place and says what it would do there, or None."""


def offers(snapshot: Snapshot, path: str, span: Span) -> Iterator[tuple[str, Offer]]:
    """What can be done with the selection, by the refactorings' names; also what cannot, with the reason."""
    place = place_at(snapshot, path, span)
    if place is not None:
        for name, look in REFACTORINGS.items():
            if not place.template.source.has_jinja and name != "convert-file":
                continue  # what the others write is YAML, and the file is JSON
            offer = look(place)
            if offer is not None:
                yield name, offer


def place_at(snapshot: Snapshot, path: str, span: Span) -> Place | None:
    """The selection of a prompt file; None for other files."""
    template = snapshot.template(path)
    return None if template is None else Place(snapshot, path, template, span)
