"""Where an input's name stands outside of Jinja: in what a file declares, and in the data given to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from promptls.ide.key_facts import bare_span
from promptls.ide.symbols.data_keys import key_spans
from promptls.ide.symbols.evaluation_columns import column_places
from promptls.ide.symbols.run_on import experiments_on
from promptls.ide.symbols.symbol import Occurrence
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import Template
from promptls.syntax.chunk_list import Located
from promptls.syntax.facts import summary
from promptls.syntax.yaml.nodes import Sequence, key_text, scalar_text
from promptls.text.positions import Span
from promptls.workspace.callers import calls_to
from promptls.workspace.python_keys import key_spans as python_key_spans
from promptls.workspace.snapshot import Snapshot

PACKED_ENDINGS: Final = (".gz", ".parquet")
"""The endings of files of data that hold no text which an editor could change."""
_KEY: Final = "expected_template_data_keys"


def declared_places(template: Template, path: str, name: str) -> Iterator[Occurrence]:
    """Yield the places in the file at `path` that name an input in YAML.

    Those are its declaration, the keys of examples, `expected_template_data_keys` of parts, and the
    columns of an evaluation prompt.
    """
    yield from _in_declarations(template, path, name)
    yield from column_places(template, path, name)
    for located in template.source.root.where(_expects):
        yield from _in_parts(template, path, located, name)


def declared_at(template: Template, path: str, offset: int) -> Occurrence | None:
    """Return the place at `offset` that names an input in YAML."""
    places: Iterator[Occurrence] = iter(())
    if template.declarations.tree is not None and template.declarations.tree.span.contains(offset):
        places = _in_declarations(template, path, None)
    located = template.source.located(offset)
    places = chain(places, column_places(template, path, None))
    for occurrence in (*places, *_in_parts(template, path, located, None)):
        if occurrence.span.contains(offset):
            return occurrence
    return None


def _in_declarations(template: Template, path: str, name: str | None) -> Iterator[Occurrence]:
    declared = template.declarations
    for key in declared.inputs or ():
        if name in {None, key.name}:
            yield from _place(template, path, key.span, key.name, declares=True)
    names = frozenset((name,)) if name is not None else input_names(template)
    for example in declared.examples:
        for entry in example.entries:
            text = key_text(entry)
            if text in names:
                yield from _place(template, path, entry.key.span, text)


def input_names(template: Template) -> frozenset[str]:
    """Return the inputs that a file declares or reads."""
    return frozenset(key.name for key in template.declarations.inputs or ()) | template.names.input_names


_expects: Final = summary(lambda chunk: _KEY in chunk.text, any)
"""Whether a part of the piece lists the inputs that it expects."""


def _in_parts(template: Template, path: str, located: Located, name: str | None) -> Iterator[Occurrence]:
    if not _expects(located.chunk):
        return
    for part in chunk_items(located.chunk).parts:
        value = part.value(_KEY)
        for item in value.items if isinstance(value, Sequence) else ():
            text = scalar_text(item)
            if text is not None and name in {None, text}:
                yield from _place(template, path, item.span.shifted(located.start), text)


def _place(
    template: Template, path: str, span: Span, name: str, *, declares: bool = False
) -> Iterator[Occurrence]:
    bare = bare_span(template, span, name)
    if bare is not None:
        yield Occurrence(path, bare, "declaration" if declares else "write", "header")


def data_files(snapshot: Snapshot, path: str, template: Template) -> Iterator[Path]:
    """Yield the files of samples and rows of the file at `path`, those of its settings' experiments too."""
    samples = template.declarations.settings.samples
    named = [os.path.normpath(Path(path).parent / samples)] if samples else []
    named += [each.dataset for each in experiments_on(snapshot, path, template)]
    yield from map(Path, dict.fromkeys(named))


def data_places(snapshot: Snapshot, path: str, template: Template, name: str) -> Iterator[Occurrence]:
    """Yield the places that name an input in the samples and datasets of the file at `path`."""
    inputs = input_names(template) | {name}
    for file in data_files(snapshot, path, template):
        held = snapshot.template(str(file))
        if held is None or file.name.lower().endswith(PACKED_ENDINGS):
            continue
        for span in key_spans(file.suffix.lower(), held.source.text, (name,), inputs):
            yield Occurrence(str(file), span, "write", "data")


def python_places(snapshot: Snapshot, path: str, name: str) -> Iterator[Occurrence]:
    """Yield the places where Python code passes an input to the template at `path`."""
    for call in calls_to(snapshot, path):
        program = snapshot.template(call.file) if name in call.keys else None
        for span in python_key_spans(program.source.text, call, (name,)) if program is not None else ():
            yield Occurrence(call.file, span, "write", "python")
