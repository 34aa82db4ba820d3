"""Inputs outside of Jinja: in declarations, data files and Python calls; and columns of data files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from promptls.dialects.prompt_poet.vocabulary import EXPECTED_KEYS
from promptls.ide.key_facts import bare_span
from promptls.ide.symbols.symbol import Occurrence
from promptls.security.files import join_path
from promptls.semantic.evaluation_file import Evaluation, evaluation_of, fields_in, scalars_in
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import INJECTED
from promptls.semantic.names.variables import Variable, input_variable
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import Template
from promptls.settings.header import ExperimentKey
from promptls.syntax.chunk import Chunk, Located
from promptls.syntax.facts import summary
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text, scalar_text
from promptls.text.positions import Span, line_start
from promptls.text.steps import Steps
from promptls.workspace.contract import calls_to
from promptls.workspace.disk import text_on_disk
from promptls.workspace.python_calls import key_spans as python_key_spans
from promptls.workspace.snapshot import Snapshot

_CELL: Final = re.compile(r'"((?:[^"]|"")*)"|([^",\r\n]*)')
_LINE: Final = re.compile(r"[^\r\n]+")
_JSON: Final = re.compile(r'"((?:[^"\\\r\n]|\\.)*)"|[{}\[\]]')


DataKeys: TypeAlias = tuple[str | None, ...]
"""The path of keys to a key, including itself; None matches any key, and lists are skipped."""


def key_spans(suffix: str, text: str, keys: DataKeys, inputs: frozenset[str]) -> Iterator[Span]:
    """Return the spans of a key in a file with this extension, without quotes.

    Empty if the file cannot be read.

    A samples file contains one mapping of `inputs`, or one for each named sample.
    """
    if suffix == ".csv":
        return csv_columns(text, keys[0] or "") if len(keys) == 1 else iter(())
    if suffix in {".jsonl", ".ndjson"}:
        return (
            key.span.shifted(line.start())
            for line in _LINE.finditer(text)
            for key in json_keys(line.group())
            if _is_along((*key.path, key.name), keys)
        )
    if suffix == ".json":
        return _json_samples(text, keys, inputs)
    return _yaml_samples(text, keys, inputs)


def _is_along(written: tuple[str, ...], keys: DataKeys) -> bool:
    return len(written) == len(keys) and all(
        key in {None, name} for name, key in zip(written, keys, strict=True)
    )


def csv_columns(text: str, name: str) -> Iterator[Span]:
    """Yield the spans of a column's name on the first non-empty line."""
    return (span for span in csv_header(text) if text[span.start : span.end] == name)


def csv_header(text: str) -> Iterator[Span]:
    """Yield the spans of the columns' names on the first non-empty line, without quotes."""
    position = len(text) - len(text.lstrip("\ufeff\r\n"))
    while True:
        cell = _CELL.match(text, position)
        assert cell is not None
        yield Span(*cell.span(1 if cell.group(1) is not None else 2))
        position = cell.end()
        if text[position : position + 1] != ",":
            return
        position += 1


class WrittenKey(NamedTuple):
    """A key at `span`, without quotes, and the keys of the enclosing mappings; lists are skipped."""

    name: str
    span: Span
    path: tuple[str, ...] = ()


def json_keys(text: str) -> Iterator[WrittenKey]:
    """Yield the keys of a JSON text, up to the first syntax error."""
    around: list[tuple[str, str]] = []
    key = ""
    for match in _JSON.finditer(text):
        piece = match.group()
        if piece in {"{", "["}:
            around.append((piece, key))
            key = ""
        elif piece in {"}", "]"}:
            key = around.pop()[1] if around else ""
        elif around and around[-1][0] == "{" and _is_key(text, match.end()):
            key = match.group(1)
            yield WrittenKey(key, Span(*match.span(1)), tuple(name for _, name in around[1:] if name))


def _is_key(text: str, after: int) -> bool:
    return text[after : after + 64].lstrip().startswith(":")


def _json_samples(text: str, keys: DataKeys, inputs: frozenset[str]) -> Iterator[Span]:
    written = list(json_keys(text))
    top = {key.name for key in written if key.path == ()}
    above = 0 if top & inputs else 1
    return (
        key.span
        for key in written
        if len(key.path) >= above and _is_along((*key.path, key.name)[above:], keys)
    )


def _yaml_samples(text: str, keys: DataKeys, inputs: frozenset[str]) -> Iterator[Span]:
    root = compose(text, Span, lambda _span: False).root
    if not isinstance(root, Mapping):
        return
    top = {key for entry in root.entries if (key := key_text(entry)) is not None}
    if top & inputs:
        yield from yaml_key_spans(text, root, keys)
        return
    for entry in root.entries:
        if isinstance(entry.value, Mapping):
            yield from yaml_key_spans(text, entry.value, keys)


def yaml_key_spans(text: str, node: Node, keys: DataKeys) -> Iterator[Span]:
    """Yield the spans of a key below a node of a YAML text."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from yaml_key_spans(text, item, keys)
    for entry in node.entries if isinstance(node, Mapping) else ():
        key = entry.key
        if not isinstance(key, Scalar) or keys[0] not in {None, key.text}:
            continue
        if len(keys) > 1:
            yield from yaml_key_spans(text, entry.value, keys[1:])
            continue
        bare = _bare(text, key)
        if bare is not None:
            yield bare


LINES: Final = frozenset({".jsonl", ".ndjson"})
"""File name extensions of JSON lines."""
DATA_ENDINGS: Final = frozenset({".csv", ".json", ".yml", ".yaml", *LINES})
"""File name extensions of samples and rows whose keys can be found."""


def key_at(suffix: str, text: str, offset: int) -> WrittenKey | None:
    """Return the key that contains or ends at `offset` in a file with this extension; for CSV, a column."""
    if suffix == ".csv":
        keys: Iterator[WrittenKey] = (
            WrittenKey(text[span.start : span.end], span)
            for span in csv_header(text)
            if span.end > span.start
        )
    elif suffix in LINES:
        begin = line_start(text, offset)
        ends = [each for each in (text.find("\n", offset), text.find("\r", offset)) if each >= 0]
        line = text[begin : min(ends, default=len(text))]
        keys = (key._replace(span=key.span.shifted(begin)) for key in json_keys(line))
    elif suffix == ".json":
        keys = json_keys(text)
    else:
        root = compose(text, Span, lambda _span: False).root
        keys = _yaml_keys(text, root) if root is not None else iter(())
    return next((key for key in keys if key.span.touches(offset)), None)


def _yaml_keys(text: str, node: Node) -> Iterator[WrittenKey]:
    """Yield the unescaped keys below a node."""
    for item in node.items if isinstance(node, Sequence) else ():
        yield from _yaml_keys(text, item)
    for entry in node.entries if isinstance(node, Mapping) else ():
        if isinstance(entry.key, Scalar) and (bare := _bare(text, entry.key)) is not None:
            yield WrittenKey(entry.key.text, bare)
        yield from _yaml_keys(text, entry.value)


def _bare(text: str, key: Scalar) -> Span | None:
    """Return the span of a key without quotes; None if it contains escapes."""
    quoted = text[key.span.start : key.span.start + 1] in {"'", '"'}
    bare = Span(key.span.start + quoted, key.span.end - quoted)
    return bare if text[bare.start : bare.end] == key.text else None


_NAME: Final = re.compile(r"[^\s'\"]+")


def column_places(template: Template, path: str, name: str | None) -> Iterator[Occurrence]:
    """Yield the occurrences of a column, or of all columns, in an evaluation prompt; none in other files."""
    if template.kind is not Kind.EVALUATION:
        return
    chunk = template.source.whole
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    for span in _named(evaluation, chunk):
        if name in {None, chunk.slice(span)}:
            yield Occurrence(path, span, "declaration", "header")
    for body in (body for each in evaluation.templates for body in each.bodies):
        for scalar in scalars_in(body):
            for field in fields_in(chunk, scalar):
                at = chunk.text.find(field.name, field.span.start, field.span.end)
                if at >= 0 and name in {None, field.name}:
                    yield Occurrence(path, Span(at, at + len(field.name)), "read")


def _named(evaluation: Evaluation, chunk: Chunk) -> Iterator[Span]:
    """Yield the spans of the columns that the reader names."""
    reader = evaluation.reader
    for node in (reader.value("input_columns"), reader.value("output_column")) if reader is not None else ():
        for item in node.items if isinstance(node, Sequence) else (node,):
            yield from _text_names(item, chunk)


def _text_names(node: Node | None, chunk: Chunk) -> Iterator[Span]:
    """Yield the spans of the names in a text, which OpenCompass splits at spaces."""
    if isinstance(node, Scalar) and not node.dynamic and node.style not in {"|", ">"}:
        for match in _NAME.finditer(chunk.text, node.span.start, node.span.end):
            yield Span(*match.span())


_RUN: frozenset[Kind] = frozenset({Kind.PARTS, Kind.OBJECT, Kind.EVALUATION})


class ExperimentPlace(NamedTuple):
    """An experiment, and the file that declares it, whose folder its paths are relative to."""

    declared: ExperimentKey
    named_in: str

    @property
    def dataset(self) -> str:
        """The absolute path of its dataset."""
        return os.path.normpath(Path(self.named_in).parent / self.declared.dataset)


def experiments_on(snapshot: Snapshot, path: str, template: Template) -> Iterator[ExperimentPlace]:
    """Yield the experiments of the file at `path`, then those of its settings that can be run on it."""
    own = template.declarations.settings.experiments
    yield from (ExperimentPlace(each, path) for each in own.values() if each.dataset)
    project = snapshot.project(path)
    if project.path is None or not project.settings.experiments or snapshot.kind(path) not in _RUN:
        return
    declared = {key.name for key in template.declarations.inputs}
    inputs = declared or (template.names.input_names - INJECTED)
    for name, each in project.settings.experiments.items():
        found = ExperimentPlace(each, str(project.path))
        if name not in own and inputs and inputs <= columns_in(snapshot, found.dataset):
            yield found


def columns_in(snapshot: Snapshot, file: str) -> frozenset[str]:
    """Return the columns in the first row of a text dataset; empty if it cannot be read."""
    return snapshot.once(_found_columns, file)


def _found_columns(snapshot: Snapshot, file: str) -> frozenset[str]:
    data = snapshot.template(file) if Path(file).suffix.lower() in {".csv", ".json", ".jsonl"} else None
    return frozenset(_columns(file, data.source.text) if data else ())


def _columns(file: str, text: str) -> Iterator[str]:
    if file.lower().endswith(".csv"):
        for span in csv_header(text):
            yield text[span.start : span.end]
        return
    first = text.lstrip().partition("\n")[0] if file.lower().endswith(".jsonl") else text
    yield from (key.name for key in json_keys(first) if not key.path)


PACKED_ENDINGS: Final = (".gz", ".parquet")
"""File name extensions of compressed data, which editors cannot change."""


def declared_places(template: Template, path: str, name: str) -> Iterator[Occurrence]:
    """Yield the occurrences of an input's name in the YAML of the file at `path`.

    These are its declaration, keys of examples, `expected_template_data_keys` of parts, and the columns of an
    evaluation prompt.
    """
    yield from _in_declarations(template, path, name)
    yield from column_places(template, path, name)
    for located in template.source.root.where(_expects):
        yield from _in_parts(template, path, located, name)


def declared_at(template: Template, path: str, offset: int) -> Occurrence | None:
    """Return the occurrence of an input's name in the YAML at `offset`."""
    places: Iterator[Occurrence] = iter(())
    if template.declarations.tree is not None and template.declarations.tree.span.touches(offset):
        places = _in_declarations(template, path, None)
    located = template.source.located(offset)
    places = chain(places, column_places(template, path, None))
    for occurrence in (*places, *_in_parts(template, path, located, None)):
        if occurrence.span.touches(offset):
            return occurrence
    return None


def _in_declarations(template: Template, path: str, name: str | None) -> Iterator[Occurrence]:
    declared = template.declarations
    for key in declared.inputs:
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
    return frozenset(key.name for key in template.declarations.inputs) | template.names.input_names


_expects: Final = summary(lambda chunk: EXPECTED_KEYS in chunk.text, any)
"""Whether a part of the piece lists the inputs that it expects."""


def _in_parts(template: Template, path: str, located: Located, name: str | None) -> Iterator[Occurrence]:
    if not _expects(located.chunk):
        return
    for part in chunk_items(located.chunk).parts:
        value = part.value(EXPECTED_KEYS)
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
    """Yield the files of samples and rows of the file at `path`, including those of its settings."""
    samples = template.declarations.settings.samples
    named = [os.path.normpath(Path(path).parent / samples)] if samples else []
    named += [each.dataset for each in experiments_on(snapshot, path, template)]
    yield from map(Path, dict.fromkeys(named))


def data_places(snapshot: Snapshot, path: str, template: Template, keys: DataKeys) -> Iterator[Occurrence]:
    """Yield the occurrences of an input, or of a key of it, in the samples and datasets of a file."""
    inputs = input_names(template) | {str(keys[0])}
    for file in data_files(snapshot, path, template):
        data = snapshot.template(str(file))
        if data is None or file.name.lower().endswith(PACKED_ENDINGS):
            continue
        for span in key_spans(file.suffix.lower(), data.source.text, keys, inputs):
            yield Occurrence(str(file), span, "write", "data")


def python_places(snapshot: Snapshot, path: str, keys: DataKeys) -> Iterator[Occurrence]:
    """Yield the places where Python code passes an input, or a key of it, to the template at `path`."""
    for call in calls_to(snapshot, path):
        program = snapshot.template(call.file) if keys[0] in call.keys else None
        for span in python_key_spans(program.source.text, call, keys) if program is not None else ():
            yield Occurrence(call.file, span, "write", "python")


def inputs_beside(snapshot: Snapshot, path: str, name: str) -> Steps[list[tuple[str, Variable]]]:
    """Return the inputs of this name in other prompts that share a data file with the prompt at `path`."""
    template = snapshot.template(path)
    files = set(map(_normal, data_files(snapshot, path, template))) if template is not None else set()
    found = []
    for file in sorted(files):
        prompts = yield from prompts_by(snapshot, str(file))
        for other in prompts:
            yield
            sharing = snapshot.template(other) if other != path else None
            if sharing is None or not files & set(map(_normal, data_files(snapshot, other, sharing))):
                continue
            if name in input_names(sharing):
                found.append((other, input_variable(sharing, name) or unread_input(name)))
    return found


def unread_input(name: str) -> Variable:
    """Return an input that a file declares but does not read."""
    return Variable(name, (), (), (), is_input=True, is_exported=False, is_implied=False)


def _normal(file: Path) -> Path:
    return Path(*file.parts) if ".." not in file.parts else join_path(file, "")


def prompts_by(snapshot: Snapshot, file: str) -> Steps[tuple[str, ...]]:
    """Return the prompt files that use a data file: they or their settings name it."""
    named = yield from prompts_with(snapshot, Path(file).name)
    projects = {path: snapshot.project(path) for path in snapshot.known_paths}
    by_settings = {
        str(each.path)
        for each in projects.values()
        for experiment in each.settings.experiments.values()
        if Path(experiment.dataset).name == Path(file).name
    }
    configured = (path for path, each in projects.items() if by_settings and str(each.path) in by_settings)
    return tuple(dict.fromkeys((*named, *configured)))


def prompts_with(snapshot: Snapshot, fragment: str) -> Steps[tuple[str, ...]]:
    """Return the prompt files whose texts contain a string."""
    key = ("prompts with", fragment)
    known: tuple[str, ...] | None = snapshot.memo.get(key)
    if known is None:
        found = []
        for path in snapshot.known_paths:
            yield
            opened = snapshot.open_files.get(path)
            text = opened.template.source.text if opened is not None else text_on_disk(path)
            if text is not None and fragment in text:
                found.append(path)
        known = snapshot.memo[key] = tuple(found)
    return known
