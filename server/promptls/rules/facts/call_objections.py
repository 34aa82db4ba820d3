"""What is wrong with the data that a Python call loads a template with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from promptls.meaning.misfit import lacking, misfit_by_name
from promptls.meaning.scopes import INJECTED
from promptls.meaning.shape import UNKNOWN
from promptls.meaning.template import Template
from promptls.rules.facts.expected_keys import expected_keys
from promptls.text.nearest import nearest
from promptls.text.span import Span
from promptls.workspace.needs import certain_place, needed_shapes, needs_of
from promptls.workspace.python_calls import TemplateCall
from promptls.workspace.snapshot import Snapshot


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
    """What is wrong with some calls that load the template at `path`; nothing of one with syntax errors."""
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
