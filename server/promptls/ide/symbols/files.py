"""Files: the places in prompts and programs that name one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os.path import normpath
from pathlib import Path
from typing import Final, NamedTuple

from promptls.ide.symbols.declared import file_beside, named_values
from promptls.ide.symbols.inputs import data_files, prompts_with
from promptls.ide.symbols.symbol import Occurrence
from promptls.semantic.names.references import TemplateReference, template_references
from promptls.semantic.template import Template
from promptls.text.positions import Span
from promptls.text.steps import finished
from promptls.workspace.callers import template_of
from promptls.workspace.python_experiments import experiments_for
from promptls.workspace.snapshot import Snapshot

_TEXT: Final = re.compile(r"([\"'])([^\"'\\\n]+)\1")


def reference_at(template: Template, offset: int) -> TemplateReference | None:
    """Return the reference to another template at `offset`; its span counts from the file's start."""
    located = template.source.located(offset)
    for reference in template_references(located.chunk):
        if reference.span.contains(offset - located.start):
            return reference._replace(span=reference.span.shifted(located.start))
    return None


def name_span(reference: TemplateReference) -> Span:
    """Return the span of the file's name without its quotes; of all names where there are several."""
    return Span(reference.span.start + 1, max(reference.span.end - 1, reference.span.start + 1))


def include_places(snapshot: Snapshot, target: str) -> Iterator[Occurrence]:
    """Yield the includes, imports and `extends` of the workspace that lead to the file at `target`."""
    for path in sorted(snapshot.includers(target)):
        template = snapshot.template(path)
        for reference in template.references if template is not None else ():
            if snapshot.resolve(path, reference) == target:
                yield Occurrence(path, name_span(reference), "read")


def file_places(snapshot: Snapshot, target: str) -> Iterator[Occurrence | None]:
    """Yield the places that lead to the file at `target`; None stands between the files.

    Those are includes, imports and `extends`, the samples, datasets and functions files of headers, and the
    texts in Python that load a template or a dataset.
    """
    for each in include_places(snapshot, target):
        yield None
        yield each
    for path in (yield from prompts_with(snapshot, Path(target).name)):
        yield None
        template = snapshot.template(path)
        for value in named_values(template) if template is not None else ():
            if value.kind != "metric" and value.file and normpath(file_beside(path, value.file)) == target:
                yield Occurrence(path, value.span, "read", "header")
    for path in sorted({*snapshot.calls, *snapshot.written}):
        yield None
        for named in files_named_in(snapshot, path):
            if named.target == target:
                yield Occurrence(path, named.span, "read", "python")


class NamedFile(NamedTuple):
    """A text in a Python file that names a file, at `span` without quotes."""

    name: str
    span: Span
    target: str


def files_named_in(snapshot: Snapshot, path: str) -> Iterator[NamedFile]:
    """Yield the templates and datasets that a Python file loads under a literal name.

    A dataset's name is that of a file of rows without its ending: of one that a prompt names which an
    experiment of the file can be run on.
    """
    program = snapshot.template(path)
    text = program.source.text if program is not None else ""
    targets = {call.template: template_of(snapshot, call) for call in snapshot.calls.get(path, ())}
    written = snapshot.written.get(path)
    for stem in written.loaded if written is not None else ():
        found = {
            file
            for prompt in finished(prompts_with(snapshot, stem))
            if (template := snapshot.template(prompt)) is not None
            for file in map(str, data_files(snapshot, prompt, template))
            if Path(file).stem == stem and experiments_in(snapshot, path, prompt)
        }
        targets[stem] = found.pop() if len(found) == 1 else None
    for match in _TEXT.finditer(text) if any(targets.values()) else ():
        target = targets.get(match[2])
        if target is not None:
            yield NamedFile(match[2], Span(*match.span(2)), target)


def experiments_in(snapshot: Snapshot, path: str, prompt: str) -> bool:
    """Return whether a Python file has an experiment that can be run on a prompt file."""
    return any(each.file == path for each in experiments_for(snapshot.written, prompt))
