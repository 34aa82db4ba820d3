"""What is wrong with the data that a Python call loads a template with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from promptls.semantic.names.scopes import INJECTED
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import Template
from promptls.semantic.types.assignability import lacking, misfit_by_name
from promptls.semantic.types.shape import UNKNOWN
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.yaml.nodes import Sequence, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.workspace.contract import certain_place, needed_shapes, needs_of
from promptls.workspace.python_calls import TemplateCall
from promptls.workspace.snapshot import Snapshot

_KEY: Final = "expected_template_data_keys"


def expected_keys(template: Template) -> frozenset[str]:
    """Return the names that parts list under `expected_template_data_keys`."""
    return _expected(template.source.root)


def _in_chunk(chunk: Chunk) -> frozenset[str]:
    if _KEY not in chunk.text:
        return frozenset()
    return frozenset(
        text
        for part in chunk_items(chunk).parts
        if isinstance(node := part.value(_KEY), Sequence)
        for item in node.items
        if (text := scalar_text(item)) is not None
    )


_expected: Final = summary(_in_chunk, union)


class Objection(NamedTuple):
    """One thing that is wrong with a call, about the key `name`.

    `span` is the place in the template that reads it, or its beginning. `words` say what is wrong with a
    value, or when a missing one is read; `meant` is the key that the call gives in the place of it.
    """

    call: TemplateCall
    kind: Literal["missing", "misfit", "refused", "unread"]
    name: str
    span: Span
    words: str = ""
    meant: str = ""


def call_objections(
    snapshot: Snapshot, path: str, template: Template, calls: Iterable[TemplateCall]
) -> Iterator[Objection]:
    """Yield the problems of calls that load the template at `path`; none if it has syntax errors."""
    if template.syntax_problems:
        return
    needs = needs_of(snapshot, path)
    shapes = needed_shapes(snapshot, path)
    needed = {name for name in needs.by_name if not shapes.get(name, UNKNOWN).optional}
    read = {name: shape for name, shape in shapes.items() if name in needs.by_name}
    known = needs.by_name.keys() | expected_keys(template) | INJECTED
    start = Span(0, min(1, len(template.source)))
    for call in calls:
        given = dict(call.given)
        when = dict(lacking(read, given))
        unread = call.keys - known if needs.is_whole else frozenset()
        for name in sorted((needed - call.keys) | when.keys()):
            place = certain_place(snapshot, name, needs.by_name[name])
            if place is not None:
                meant = nearest(name, unread) or ""
                unread -= {meant}
                yield Objection(call, "missing", name, place, when.get(name, ""), meant)
        for name, said in misfit_by_name(read, given):
            place = certain_place(snapshot, name, needs.by_name[name])
            if place is not None:
                yield Objection(call, "misfit", name, place, said)
        for key in sorted(call.keys & INJECTED if not call.is_jinja else ()):
            yield Objection(call, "refused", key, start)
        for key in sorted(unread):
            yield Objection(call, "unread", key, start)
