"""A header for a file that has none: its name and its inputs, with the types that their uses suggest."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from promptls.conversions.flow_yaml import flow
from promptls.features.refactorings.input_keys_form import suggested
from promptls.features.refactorings.refactoring import Change, Offer, Place, line_break
from promptls.meaning.kind import Kind
from promptls.rules.rule import Edit
from promptls.text.span import Span
from promptls.workspace.contract import inputs_of
from promptls.workspace.disk import ENDINGS

_KIND: Final = "refactor.rewrite"


def add_header(place: Place) -> Offer | None:
    """A header at the top of a parts template without one; asked for on the file's first line."""
    if place.kind is not Kind.PARTS or place.template.header is not None:
        return None
    if place.template.source.place(place.span.start).line > 0:
        return None
    return Offer("Add a header that declares the inputs", _KIND, lambda: added_header(place))


def added_header(place: Place, *also: str) -> Change:
    """The edit that adds the header, with the names `also` among its inputs."""
    needed = {each.name: each for each in inputs_of(place.snapshot, place.path)}
    names = dict.fromkeys([*(name for name, each in needed.items() if each.shape.kind != "callable"), *also])
    lines = ["{#---", f"name: {flow(_name(place.path))}"]
    if names:
        lines.append("input_keys:")
        lines += [f"  {flow(name)}: {flow(suggested(needed.get(name)))}" for name in names]
    else:
        lines.append("input_keys: []")
    end = line_break(place.template)
    at = 1 if place.template.source.first_chunk.text.startswith("\ufeff") else 0
    return Change((Edit(Span(at, at), end.join([*lines, "---#}", ""])),))


def _name(path: str) -> str:
    name = Path(path).name
    return next((name[: -len(ending)] for ending in ENDINGS if name.endswith(ending)), name)
