"""The files that a prompt file names: as links, and as where an include leads to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from promptls.features.named_values import NamedValue, file_beside, named_values
from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

_QUOTED: Final = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A stretch of the file that leads to the file at `target`."""

    span: Span
    target: str

    @property
    def tooltip(self) -> str:
        """What following the link does, in words."""
        return f"Open {PurePath(self.target).name}"


def document_links(snapshot: Snapshot, path: str) -> tuple[DocumentLink, ...]:
    """The links of the file at `path`: includes and imports, and the header's files that are there."""
    template = snapshot.template(path)
    if template is None:
        return ()
    links = [
        link for reference in template.references for link in _named(snapshot, path, template, reference)
    ]
    for value in named_values(template):
        target = _target(snapshot, path, value)
        if target is not None and snapshot.exists(target):
            links.append(DocumentLink(value.span, target))
    return tuple(sorted(links, key=lambda link: link.span))


def _target(snapshot: Snapshot, path: str, value: NamedValue) -> str | None:
    """The file that a value of the declarations leads to."""
    if value.file is not None:
        return file_beside(path, value.file)
    project = snapshot.project(path)
    is_named = value.kind == "model" and value.name in project.settings.models and project.path is not None
    return str(project.path) if is_named else None


def _named(
    snapshot: Snapshot, path: str, template: Template, reference: TemplateReference
) -> Iterator[DocumentLink]:
    """The files that one include, import or `extends` names: each of a list that is there."""
    written = template.source.slice(reference.span)
    for match in _QUOTED.finditer(written):
        name = match.group(1) or match.group(2) or ""
        if name in (reference.alternatives or (reference.name,)):
            target = snapshot.resolve(path, reference._replace(name=name, alternatives=()))
            start = reference.span.start + match.start() + 1
            if target is not None:
                yield DocumentLink(Span(start, start + len(name)), target)


def link_at(snapshot: Snapshot, path: str, offset: int) -> DocumentLink | None:
    """The link at `offset`, or None where there is none."""
    return next((link for link in document_links(snapshot, path) if link.span.contains(offset)), None)
