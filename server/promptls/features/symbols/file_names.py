"""Files: the places that name one."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.features.symbols.symbol import Occurrence
from promptls.meaning.references import TemplateReference, template_references
from promptls.meaning.template import Template
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot


def reference_at(template: Template, offset: int) -> TemplateReference | None:
    """The reference to another template at `offset`; its span counts from the file's start."""
    located = template.source.located(offset)
    for reference in template_references(located.chunk):
        if reference.span.contains(offset - located.start):
            return reference._replace(span=reference.span.shifted(located.start))
    return None


def name_span(reference: TemplateReference) -> Span:
    """The span of the file's name without its quotes; of all names where there are several."""
    return Span(reference.span.start + 1, max(reference.span.end - 1, reference.span.start + 1))


def file_places(snapshot: Snapshot, target: str) -> Iterator[Occurrence]:
    """The includes, imports and `extends` of the workspace that lead to the file at `target`."""
    for path in sorted(snapshot.includers(target)):
        template = snapshot.template(path)
        for reference in template.references if template is not None else ():
            if snapshot.resolve(path, reference) == target:
                yield Occurrence(path, name_span(reference), "read")
