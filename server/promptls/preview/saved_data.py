"""Adding what a preview shows to the files of its prompt: data, an experiment, the limit of the lab."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from promptls.convert.parts_template import flow
from promptls.datasets.cells import json_line, text_cell
from promptls.datasets.dataset_files import open_dataset
from promptls.dialects.ragas.saved_prompt import form_of
from promptls.experiments.manifest import prompt_stem
from promptls.experiments.single_answer import default_model
from promptls.ide.code_actions import edited_text
from promptls.ide.refactor.refactoring import RefactorSelection
from promptls.ide.refactor.sections import added_header, added_key
from promptls.lint.fixes.yaml_edits import indentation, is_flow
from promptls.lint.rule import Edit
from promptls.rendering.samples import dataset_path, sample_names, samples_in, samples_of
from promptls.security.files import current_scope, read_text
from promptls.security.written_files import replace_file
from promptls.semantic.header import CLOSING
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.yaml.nodes import Sequence
from promptls.text.errors import FilePlace, UsageError, UserError, optional
from promptls.text.positions import NOWHERE, line_end
from promptls.workspace.snapshot import Snapshot

PLACES: Final = ("sample", "example", "dataset")
_JSON_LINES: Final = frozenset({".jsonl", ".ndjson"})
_EXPECTED: Final = ("expected", "reference", "answer", "label", "output")
"""Columns that usually contain the expected answer, for prompts without an `output_key`."""
_OUTPUT_KEYS: Final = ("answer", "response", "output")
"""Names for the answers in the examples of a prompt that has no `output_key` yet."""


@dataclass(frozen=True, slots=True)
class SavedData:
    """The new texts of files, by path, and a message that says where the data is then."""

    texts: Mapping[str, str]
    message: str
    sample: str | None = None
    """The name of the new sample."""


def saved_data(snapshot: Snapshot, path: str, arguments: Mapping[str, Any]) -> SavedData:
    """Return the files with `data` added `to` the samples, the examples or the dataset of the prompt.

    `sample` is the name of a new sample. The `response` is the output of an example, and the expected answer
    of a row. `experiment` in `to` adds an experiment whose rows are the samples. Raises UserError if a file
    cannot be read, or has no place for the data.
    """
    to, data = optional(arguments, "to", str), optional(arguments, "data", dict) or {}
    name, response = optional(arguments, "sample", str), optional(arguments, "response", str)
    if to == "experiment":
        return _saved_experiment(snapshot, path)
    template = snapshot.template(path)
    if template is None or to not in PLACES:
        raise UsageError(f"data is added to one of {', '.join(PLACES)}")
    target = _Target(snapshot, path, template)
    if to == "sample":
        return target.with_sample(data, (name or "").strip())
    if to == "example":
        return target.with_example(data, response)
    return target.with_row(data, response)


def _saved_experiment(snapshot: Snapshot, path: str) -> SavedData:
    """Return the prompt with an experiment over a new dataset, whose rows are the prompt's samples."""
    template = snapshot.template(path)
    if template is None:
        raise UsageError("this file is not a prompt", FilePlace(path))
    samples = samples_of(snapshot, path)
    target = _Target(snapshot, path, template)
    return target.with_experiment([each.data for each in samples[: max(1, len(samples) - 1)]], None)


def saved_truncation(snapshot: Snapshot, path: str, arguments: Mapping[str, Any]) -> SavedData:
    """Return the prompt with the `limit` and the `step` in its header; raises UserError."""
    limit, step = optional(arguments, "limit", int), optional(arguments, "step", int)
    template = snapshot.template(path)
    if template is None or limit is None or step is None or min(limit, step) < 1:
        raise UsageError(
            "the command needs a prompt, and a `limit` and a `step` of at least 1", FilePlace(path)
        )
    target = _Target(snapshot, path, template)
    text = target.with_keys({"token_limit": limit, "truncation_step": step})
    return SavedData({path: text}, f"The header sets `token_limit: {limit}` and `truncation_step: {step}`.")


@dataclass(frozen=True, slots=True)
class _Target:
    """The prompt that data is added to."""

    snapshot: Snapshot
    path: str
    template: Template

    @property
    def folder(self) -> Path:
        return Path(self.path).parent

    def with_sample(self, data: Mapping[str, Any], name: str) -> SavedData:
        taken = {each for each, _ in sample_names(self.snapshot, self.path)}
        if not name or name in taken:
            fault = f"there is a sample `{name}` already" if name else "the sample has no name"
            raise UsageError(fault, FilePlace(self.path), "choose another name")
        named = self.template.declarations.settings.samples
        if not named:
            file = self._unused("samples", ".yml")
            key = f"samples: {flow(file.relative_to(self.folder).as_posix())}"
            texts = {self.path: self._with_key(key), str(file): _yaml({name: data})}
        else:
            file = self.folder / named
            text = _text(self.snapshot, file)
            texts = {str(file): self._with_sample(file, text, name, data)}
        return SavedData(texts, f"Saved as the sample `{name}` in {file.name}.", name)

    def _with_sample(self, file: Path, text: str, name: str, data: Mapping[str, Any]) -> str:
        """Return a samples file with another sample; a file with a single one gets a name for it."""
        samples = (samples_in(file) if text.strip() else None) or {}
        are_named = self._are_named(samples)
        samples = samples if are_named else {file.stem: samples}
        if file.suffix == ".json":
            return json.dumps({**samples, name: data}, ensure_ascii=False, indent=2) + "\n"
        if text.lstrip().startswith("{"):
            return _yaml({**samples, name: data})
        if not are_named:
            lines = "".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True))
            text = f"{flow(file.stem)}:\n{lines}"
        return (text if not text or text.endswith("\n") else f"{text}\n") + _yaml({name: data})

    def _are_named(self, samples: Mapping[str, Any]) -> bool:
        """Return whether these are named samples, and not the inputs of a single one."""
        inputs = {key.name for key in self.template.declarations.inputs}
        inputs |= self.template.names.input_names
        return all(isinstance(each, dict) for each in samples.values()) and not inputs & set(samples)

    def with_example(self, data: Mapping[str, Any], response: str | None) -> SavedData:
        declarations = self.template.declarations
        if form_of(declarations.data) is not None or self.snapshot.kind(self.path) is Kind.EVALUATION:
            raise UsageError("examples of this kind of prompt are added by hand", FilePlace(self.path))
        output = declarations.settings.output_key
        entry = declarations.tree.entry("examples") if declarations.tree else None
        message = f"Added as an example to {Path(self.path).name}."
        new_key = ""
        if not output and response is not None:
            if entry is None:
                output = next((name for name in _OUTPUT_KEYS if name not in data), None)
                new_key = f"output_key: {output}\n" if output else ""
            else:
                message = f"{message[:-1]}, without the answer, because the header has no `output_key`."
        example = dict(data)
        if output and response is not None:
            example[output] = _parse(response)
        keys = [f"{flow(str(key))}: {flow(value)}" for key, value in example.items()] or ["{}"]
        if entry is None or not isinstance(entry.value, Sequence) or not entry.value.items:
            if entry is not None:
                raise UsageError("`examples` is not a list with items", FilePlace(self.path), "add one first")
            lines = ["examples:", f"  - {keys[0]}", *(f"    {key}" for key in keys[1:])]
            written = new_key + "\n".join(lines)
            return SavedData({self.path: self._with_key(written)}, message)
        text, last = self.template.source.text, entry.value.items[-1]
        if is_flow(text, entry.value.span):
            edit = Edit.insert(last.span.end, f", {flow(example)}")
        else:
            margin = indentation(text, last.span.start)[: -len("- ")]
            lines = [f"{margin}- {keys[0]}", *(f"{margin}  {key}" for key in keys[1:])]
            end = line_end(text, last.span.end - (text[last.span.end - 1 : last.span.end] == "\n"))
            edit = Edit.insert(end, "\n" + "\n".join(lines))
        return SavedData({self.path: edited_text(text, [edit])}, message)

    def with_row(self, data: Mapping[str, Any], response: str | None) -> SavedData:
        dataset = dataset_path(self.template, self.path)
        if dataset is None:
            return self.with_experiment([data], response)
        text = _text(self.snapshot, dataset)
        columns = open_dataset(dataset).columns
        row = dict(data)
        if "id" in columns:
            row.setdefault("id", sum(1 for _ in open_dataset(dataset).rows()) + 1)
        output = self.template.declarations.settings.output_key
        expected = [*([output] if output else []), *_EXPECTED]
        if response is not None:
            column = next((each for each in expected if each in columns and each not in row), None)
            row |= {} if column is None else {column: response}
        text = text if not text or text.endswith("\n") else f"{text}\n"
        if dataset.suffix.lower() in _JSON_LINES:
            text += f"{json_line(row)}\n"
        elif dataset.suffix.lower() == ".csv":
            if missing := [name for name in row if name not in columns]:
                raise UsageError(
                    f"the dataset has no column `{missing[0]}`",
                    FilePlace(dataset),
                    "add it to the first line",
                )
            text += _csv([[text_cell(row.get(column)) for column in columns]])
        else:
            raise UsageError(
                f"rows are added to `.csv` and `.jsonl` files, and not to `{dataset.suffix}`",
                FilePlace(dataset),
            )
        return SavedData({str(dataset): text}, f"Added as the last row of {dataset.name}.")

    def with_experiment(self, rows: list[Mapping[str, Any]], response: str | None) -> SavedData:
        """Return the prompt with an experiment over a new dataset that has these rows."""
        file = self._unused("datasets", ".csv")
        columns = list(dict.fromkeys(name for row in rows for name in row))
        lines = [[*(text_cell(row.get(name)) for name in columns), response or ""] for row in rows]
        dataset = flow(file.relative_to(self.folder).as_posix())
        model = flow(default_model(self.snapshot, self.path))
        key = f"experiments:\n  answers: {{dataset: {dataset}, models: [{model}], metrics: [exact_match]}}"
        texts = {self.path: self._with_key(key), str(file): _csv([[*columns, "expected"], *lines])}
        return SavedData(texts, f"Added the experiment `answers` over {file.name}.")

    def with_keys(self, values: Mapping[str, int]) -> str:
        """Return the prompt with these values in place of those in its header, or added to it."""
        text, declarations = self.template.source.text, self.template.declarations
        edits, missing = [], []
        for key, value in values.items():
            span = declarations.value_span(key)
            if span is None:
                missing.append(f"{key}: {value}")
            else:
                space = "" if span.start > 0 and text[span.start - 1].isspace() else " "
                edits.append(Edit(span, f"{space}{value}"))
        if not missing:
            return edited_text(text, edits)
        tree = declarations.tree
        separator = ", " if tree is not None and is_flow(text, tree.span) else "\n"
        return self._with_key(separator.join(missing), *edits)

    def _unused(self, folder: str, suffix: str) -> Path:
        stem, number = prompt_stem(Path(self.path)), 2
        file = self.folder / folder / f"{stem}{suffix}"
        while self.snapshot.exists(str(file)):
            file, number = file.with_name(f"{stem}_{number}{suffix}"), number + 1
        return file

    def _with_key(self, written: str, *edits: Edit) -> str:
        """Return the prompt with a key added to its header or mapping; a header is created if needed.

        `edits` of the header are applied too.
        """
        source, tree = self.template.source, self.template.declarations.tree
        text = source.text
        if self.template.declarations.problems and tree is None:
            raise UsageError("the header is not valid", FilePlace(self.path), "correct it first")
        if (edit := added_key(self.template, written)) is not None:
            if "\n" in written and tree is not None and is_flow(text, tree.span):
                raise UsageError(
                    "the declarations are written in braces", FilePlace(self.path), "write one key per line"
                )
            return edited_text(text, [*edits, edit])  # at one offset, a value precedes the next key
        if self.snapshot.kind(self.path) is not Kind.PARTS:
            raise UsageError("this prompt has no place for it", FilePlace(self.path))
        selection = RefactorSelection(self.snapshot, self.path, self.template, NOWHERE)
        (header,) = added_header(selection).edits
        return edited_text(
            text, [Edit(header.span, header.text.replace(CLOSING, f"{written}\n{CLOSING}", 1))]
        )


def write_text(file: Path, text: str) -> None:
    """Write a file and create its folder; raises UserError, also for one that may not be read."""
    if not current_scope().allows(file):
        raise UserError("the file is outside of the folder", FilePlace(file), "trust the folder first")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as stream:
            stream.write(text)
    except OSError as error:
        raise UserError(f"the file cannot be written: {error.strerror}", FilePlace(file)) from None


def _text(snapshot: Snapshot, file: Path) -> str:
    """Return the text of a file, unsaved if it is open; empty if there is none."""
    unsaved = snapshot.unsaved().get(str(file))
    if unsaved is not None:
        return unsaved
    try:
        return read_text(file)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        raise UserError("the file cannot be read", FilePlace(file)) from None


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _block)


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.dump(dict(data), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1_000_000)


def _csv(rows: list[list[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _parse(response: str) -> Any:
    """Return an answer that is a JSON object or list as such, and any other as text."""
    text = response.strip()
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict | list) else text
