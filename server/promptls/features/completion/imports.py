"""The names that a template gives to those that import from it."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.features.callables import exported_macro, exports_of
from promptls.features.completion.item import Item, ItemKind
from promptls.features.completion.request import Request
from promptls.meaning.references import TemplateReference
from promptls.text.span import NOWHERE


def imported_items(request: Request, name: str, taken: frozenset[str]) -> Iterator[Item]:
    """What `{% from name import … %}` may import, without what it imports already."""
    target = request.snapshot.resolve(request.path, TemplateReference("from", name, NOWHERE))
    template = request.snapshot.template(target) if target else None
    if target is None or template is None:
        return
    for exported, binding in exports_of(template).items():
        if exported in taken:
            continue
        described = exported_macro(request.snapshot, target, exported)
        kind: ItemKind = "function" if described else "variable"
        parameters = (
            f"({', '.join(each.text for each in described.signature.parameters)})" if described else ""
        )
        yield Item(exported, kind, 10 if described else 20, detail=binding.kind, parameters=parameters)
