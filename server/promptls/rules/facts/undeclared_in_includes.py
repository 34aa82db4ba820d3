"""What included files read and the file that includes them does not declare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.rules.facts.undeclared_readings import declared_names
from promptls.rules.fixes.added_input import added_input
from promptls.rules.fixes.removed_tag import tag_at
from promptls.rules.rule import FileContext, Finding, RelatedPlace
from promptls.text.nearest import nearest
from promptls.text.span import Span
from promptls.workspace.needs import Need, needs_of
from promptls.workspace.ways import names_bound_at, ways_to


def undeclared_in_includes(context: FileContext) -> Iterator[Finding]:
    """A finding at each include whose file reads an input that this file does not declare."""
    declared = declared_names(context)
    if declared is None or not context.template.references:
        return
    needs = needs_of(context.snapshot, context.path).by_name
    ways = ways_to(context.snapshot, context.path)
    for name, readers in needs.items():
        if name in declared or any(not way.declares or name in way.provided for way in ways):
            continue
        seen: set[TemplateReference] = set()
        for need in readers:
            reference = need.reference
            if reference is None or reference in seen or not need.is_free:
                continue
            if name in names_bound_at(context.template, reference):
                continue
            place = _first_reading(context, need, name)
            if place is not None:
                seen.add(reference)
                message = f"`{PurePath(need.path).name}` reads `{name}`, which is not in `input_keys`"
                fixes = () if nearest(name, declared) else added_input(context, name)
                yield Finding(reference.span, message, fixes, related=(place,))


def _is_unfinished(template: Template, span: Span) -> bool:
    """Whether a name stands in a tag that somebody is writing: it may become another one."""
    located = template.source.located(span.start)
    number = tag_at(located.chunk, span.start - located.start)
    return number is not None and bool(located.chunk.tags[number].unclosed)


def _first_reading(context: FileContext, need: Need, name: str) -> RelatedPlace | None:
    template = context.snapshot.template(need.path)
    if template is None:
        return None
    for reading in template.names.readings_of(name):
        if reading.binding is None and reading.how != "call" and not _is_unfinished(template, reading.span):
            return RelatedPlace(need.path, reading.span, f"`{name}` is read here")
    return None
