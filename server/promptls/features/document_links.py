"""The files that a prompt file names: as links, and as where an include leads to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A stretch of the file that leads to the file at `target`."""

    span: Span
    target: str
    tooltip: str


def document_links(snapshot: Snapshot, path: str) -> tuple[DocumentLink, ...]:
    """The links of the file at `path`: includes and imports, and the header's files that are there."""
    template = snapshot.template(path)
    if template is None:
        return ()
    links = [
        DocumentLink(Span(reference.span.start + 1, reference.span.end - 1), target, reference.keyword)
        for reference in template.references
        if not reference.alternatives and (target := snapshot.resolve(path, reference))
    ]
    declared = template.declarations
    settings = declared.settings
    named: list[tuple[tuple[str, ...], str | None]] = [
        (("samples",), settings.samples),
        (("functions",), settings.functions),
        *(
            (("experiments", name, "dataset"), each.dataset)
            for name, each in (settings.experiments or {}).items()
        ),
    ]
    for keys, name in named:
        span = declared.value_span(*keys)
        file = Path(path).parent / name if name else None
        if span is not None and file is not None and file.is_file():
            links.append(DocumentLink(span, str(file), keys[-1]))
    return tuple(sorted(links, key=lambda link: link.span))


def link_at(snapshot: Snapshot, path: str, offset: int) -> DocumentLink | None:
    """The link at `offset`, or None where there is none."""
    return next((link for link in document_links(snapshot, path) if link.span.contains(offset)), None)
