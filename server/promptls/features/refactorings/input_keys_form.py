"""`input_keys` as a list of names, or as a mapping from name to JSON Schema."""

from __future__ import annotations

from typing import Final

from promptls.conversions.flow_yaml import flow
from promptls.features.contract.schema import input_schema
from promptls.features.refactorings.refactoring import Change, Offer, Place, line_break, refused
from promptls.rules.rule import Edit
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence
from promptls.text.span import Span
from promptls.workspace.contract import NeededInput, inputs_of

_KIND: Final = "refactor.rewrite"


def input_keys_form(place: Place) -> Offer | None:
    """The other form of `input_keys`, where the selection stands in the declarations."""
    declarations = place.template.declarations
    entry = declarations.tree.entry("input_keys") if declarations.tree else None
    if entry is None or not entry.key.span.start <= place.span.start <= entry.value.span.end:
        return None
    value = Span(entry.key.span.end, entry.value.span.end)
    names = [key.name for key in declarations.inputs or ()]
    if not names:
        return None
    column = place.template.source.place(entry.key.span.start).column
    if isinstance(entry.value, Sequence):
        title = "Write `input_keys` as a mapping, with the types that their uses suggest"
        if len(names) != len(entry.value.items):
            return refused(title, _KIND, "an item of the list is no name")
        return Offer(title, _KIND, lambda: Change((Edit(value, _mapping(place, names, column)),)))
    if isinstance(entry.value, Mapping):
        lost = sum(bool(key.schema) for key in declarations.inputs or ())
        title = "Write `input_keys` as a list"
        if lost:
            title += ", without types and descriptions"
        if _has_comment(place, entry.value):
            return refused(title, _KIND, "a comment stands among the keys, and would be lost")
        return Offer(title, _KIND, lambda: Change((Edit(value, f": [{', '.join(map(flow, names))}]"),)))
    return None


def _mapping(place: Place, names: list[str], column: int) -> str:
    """The mapping in block style behind `input_keys`, each schema on the line of its name."""
    needed = {each.name: each for each in inputs_of(place.snapshot, place.path)}
    indentation = " " * (column + 2)
    lines = [f"{indentation}{flow(name)}: {flow(suggested(needed.get(name)))}" for name in names]
    end = line_break(place.template)
    return ":" + end + end.join(lines)


def suggested(needed: NeededInput | None) -> dict[str, object]:
    """The JSON Schema that the uses of an input suggest: its type, where they tell one."""
    if needed is None:
        return {}
    kind = input_schema(needed, ()).get("type")
    return {"type": kind} if isinstance(kind, str) else {}


def _has_comment(place: Place, node: Node) -> bool:
    return any(
        line.lstrip().startswith("#") or " #" in line
        for line in place.template.source.slice(node.span).splitlines()
    )
