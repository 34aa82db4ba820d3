"""Refactorings, grouped by what they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Final

from promptls.ide.refactor.refactoring import Offer, RefactorSelection
from promptls.ide.refactor.sections import (
    add_header,
    convert_file,
    declare_input,
    extract_section,
    inline_section,
    input_keys_form,
    sort_parts,
)
from promptls.ide.refactor.tag_edits import extract_macro, wrap_in_for, wrap_in_if
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

REFACTORINGS: Final[MappingProxyType[str, Callable[[RefactorSelection], Offer | None]]] = MappingProxyType(
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
"""All refactorings by name: each examines a selection and returns an offer for it, or None."""


def offers(snapshot: Snapshot, path: str, span: Span) -> Iterator[tuple[str, Offer]]:
    """Yield the refactorings for the selection, by name.

    Refactorings that are not possible are included, with the reason.
    """
    place = place_at(snapshot, path, span)
    if place is not None:
        for name, look in REFACTORINGS.items():
            if not place.template.source.language.has_tags and name != "convert-file":
                continue  # the other refactorings write YAML, not JSON
            offer = look(place)
            if offer is not None:
                yield name, offer


def place_at(snapshot: Snapshot, path: str, span: Span) -> RefactorSelection | None:
    """Return the selection in a prompt file; None for other files."""
    template = snapshot.template(path)
    return None if template is None else RefactorSelection(snapshot, path, template, span)
