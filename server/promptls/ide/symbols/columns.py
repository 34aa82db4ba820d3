"""Columns of datasets: the prompts that use a column, and its occurrences."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from promptls.datasets.dataset_files import known_columns
from promptls.ide.key_facts import bare_span
from promptls.ide.symbols.declared import function_named
from promptls.ide.symbols.inputs import (
    DATA_ENDINGS,
    PACKED_ENDINGS,
    column_places,
    data_files,
    experiments_on,
    input_names,
    key_at,
    key_spans,
    prompts_by,
)
from promptls.ide.symbols.symbol import Occurrence, Symbol
from promptls.lint.analysis.declared_experiments import taken_by
from promptls.semantic.template import Template
from promptls.settings.header import NamedMetric
from promptls.syntax.python_places import Function, PythonPlaces, key_read, parameter_names, parse_python
from promptls.syntax.toml_places import TomlName
from promptls.text.positions import Span
from promptls.text.steps import Steps, finish
from promptls.workspace.contract import needs_of
from promptls.workspace.python_experiments import RowColumn, experiments_for
from promptls.workspace.settings import is_settings_file, setting_names
from promptls.workspace.snapshot import Snapshot


def row_column_places(snapshot: Snapshot, path: str, template: Template, name: str) -> Iterator[Occurrence]:
    """Yield the occurrences of `row["name"]` in experiments whose rows come from the prompt's dataset.

    They are certain only if the experiment's file loads no other dataset.
    """
    for file, found in snapshot.written.items():
        for column in found.columns:
            if column.name == name and reads_rows_of(snapshot, file, column, path, template):
                yield Occurrence(file, column.span, "read", "python", is_likely=len(found.loaded) > 1)


def reads_rows_of(snapshot: Snapshot, file: str, column: RowColumn, path: str, template: Template) -> bool:
    """Return whether a column that a Python file reads is in the datasets of the prompt at `path`.

    That is so if the Python file loads a dataset by the name of one of the prompt's data files; rows from
    other sources may use different column names.
    """
    found = snapshot.written.get(file)
    names = {each.stem for each in data_files(snapshot, path, template)}
    if found is None or not names & found.loaded:
        return False
    experiments = experiments_for(snapshot.written, path)
    return any((each.file, each.name) == (file, column.experiment) for each in experiments)


_EXPECTED: Final = "expected_"
_REFERENCES: Final = frozenset({"expected", "reference"})
_ROW: Final = "row"


class UsedMetric(NamedTuple):
    """A metric of an experiment: its name there, its options, and the file."""

    named: str
    chosen: NamedMetric | None
    named_in: str

    @property
    def function(self) -> str:
        """The underlying `file.py:function` or built-in metric."""
        return self.chosen.use if self.chosen is not None else self.named

    def takes(self, parameter: str, column: str) -> bool:
        """Return whether the column is passed to a parameter of this name because of its name."""
        if self.chosen is not None and parameter in {*self.chosen.columns, *self.chosen.options}:
            return False
        return parameter in {column, f"{_EXPECTED}{column}"}


def used_metrics(snapshot: Snapshot, path: str, template: Template) -> Iterator[UsedMetric]:
    """Yield the metrics of the experiments that can be run on the file at `path`, without duplicates."""
    known = {**snapshot.project(path).settings.metrics, **template.declarations.settings.metrics}
    experiments = experiments_on(snapshot, path, template)
    names = [(name, each.named_in) for each in experiments for name in each.declared.metrics]
    for name, named_in in dict.fromkeys(names):
        yield UsedMetric(name, known.get(name), named_in)


def metric_column_places(
    snapshot: Snapshot, path: str, template: Template, column: str
) -> Iterator[Occurrence | None]:
    """Yield the references to a column in a prompt file's metrics; None separates the files."""
    for metric in used_metrics(snapshot, path, template):
        yield from _option_places(snapshot, path, template, metric, column)
        found = function_named(snapshot, metric.named_in, metric.function)
        program = snapshot.template(found.home) if found is not None else None
        if found is None or program is None:
            continue
        for span in _row_keys(program.source.text, found.name, column):
            yield Occurrence(found.home, span, "read", "python")


def column_doubt(snapshot: Snapshot, path: str, template: Template, column: str) -> str:
    """Return why a column of a prompt file's datasets cannot be renamed; empty if it can."""
    settings = template.declarations.settings
    if column == settings.output_key and settings.experiments:
        return f"it is the `output_key` of {Path(path).name}, by which metrics find what is expected"
    for metric in used_metrics(snapshot, path, template):
        names = _parameters(snapshot, metric)
        is_reference = column in _REFERENCES and bool(names & _REFERENCES)
        if is_reference or any(metric.takes(name, column) for name in names):
            remedy = "give it its column under `metrics: … columns` first"
            return f"the metric `{metric.named}` takes the column by its name: {remedy}"
    return ""


def _parameters(snapshot: Snapshot, metric: UsedMetric) -> set[str]:
    """Return the parameters of a metric that receive a column by name."""
    found = function_named(snapshot, metric.named_in, metric.function)
    program = snapshot.template(found.home) if found is not None else None
    if found is not None and program is not None:
        function = _function(program.source.text, found.name)
        names = set(parameter_names(function)) if function is not None else set()
    else:
        taken = taken_by(metric.function, Path(metric.named_in).parent)
        names = {*taken.names} if taken is not None else set()
    return names - {*metric.chosen.columns, *metric.chosen.options} if metric.chosen is not None else names


# -- options -------------------------------------------------------------------------


def _option_places(
    snapshot: Snapshot, path: str, template: Template, metric: UsedMetric, column: str
) -> Iterator[Occurrence]:
    """Yield the values under `columns` of a named metric, in the file itself or else its settings file."""
    if metric.chosen is None or column not in metric.chosen.columns.values():
        return
    own = template.declarations.settings.metrics
    if metric.named in own:
        for parameter, name in metric.chosen.columns.items():
            span = template.declarations.value_span("metrics", metric.named, "columns", parameter)
            bare = bare_span(template, span, name) if span is not None and name == column else None
            if bare is not None:
                yield Occurrence(path, bare, "read", "header")
        return
    file = snapshot.project(path).path
    data = snapshot.template(str(file)) if file is not None else None
    if data is None or not is_settings_file(str(file)):
        return
    for named, each in _options_in_settings(data.source.text, str(file)):
        if named == metric.named and each.text == column:
            yield Occurrence(str(file), each.span, "read", "settings")


def option_at(snapshot: Snapshot, path: str, offset: int) -> ColumnOption | None:
    """Return the column under a metric's `columns` in a header or settings file at `offset`."""
    template = snapshot.template(path)
    if template is None:
        return None
    if is_settings_file(path):
        for metric, each in _options_in_settings(template.source.text, path):
            if each.span.touches(offset):
                return ColumnOption(metric, each.text, each.span)
        return None
    for metric, chosen in template.declarations.settings.metrics.items():
        for parameter, name in chosen.columns.items():
            span = template.declarations.value_span("metrics", metric, "columns", parameter)
            bare = bare_span(template, span, name) if span is not None else None
            if bare is not None and bare.touches(offset):
                return ColumnOption(metric, name, bare)
    return None


class ColumnOption(NamedTuple):
    """A column that a named metric uses because of an option at `span`."""

    metric: str
    column: str
    span: Span


def _options_in_settings(text: str, path: str) -> Iterator[tuple[str, TomlName]]:
    for each in setting_names(text, path):
        match each.keys:
            case ("metrics", str(metric), "columns", _) if not each.is_key:
                yield metric, each


# -- functions -----------------------------------------------------------------------


def _function(text: str, name: str) -> Function | None:
    tree = parse_python(text)
    functions = (each for each in (tree.body if tree else ()) if isinstance(each, Function))
    return next((each for each in functions if each.name == name), None)


@lru_cache(maxsize=16)
def _row_keys(text: str, function: str, column: str) -> tuple[Span, ...]:
    """Return the spans where a function reads the column from its `row`."""
    node = _function(text, function)
    if node is None or _ROW not in parameter_names(node):
        return ()
    places = PythonPlaces(text)
    reads = [key for name, key in map(key_read, ast.walk(node)) if name == _ROW and key is not None]
    spans = [places.inside_quotes(key) for key in reads if key.value == column]
    return tuple(span for span in spans if span is not None)


# -- datasets ------------------------------------------------------------------------


def input_home(snapshot: Snapshot, prompt: str, name: str) -> str | None:
    """Return the file that takes an input of this name from the caller of the prompt; None if none does."""
    template = snapshot.template(prompt)
    if template is not None and (name in input_names(template) or any(column_places(template, prompt, name))):
        return prompt
    return next((need.path for need in needs_of(snapshot, prompt).by_name.get(name, ())), None)


class SharedColumn(NamedTuple):
    """The prompt files that are run on the datasets of a column, and those datasets."""

    prompts: tuple[str, ...]
    files: tuple[str, ...]


def prompts_on(snapshot: Snapshot, file: str) -> Steps[list[str]]:
    """Return the prompt files that name a file of samples or rows."""
    found = []
    for path in (yield from prompts_by(snapshot, file)):
        yield
        template = snapshot.template(path)
        if template is not None and file in map(str, data_files(snapshot, path, template)):
            found.append(path)
    return found


def datasets_of(snapshot: Snapshot, path: str, template: Template) -> tuple[str, ...]:
    """Return the datasets of the experiments that can be run on a file."""
    return tuple(dict.fromkeys(each.dataset for each in experiments_on(snapshot, path, template)))


def shared_column_steps(snapshot: Snapshot, file: str, name: str) -> Steps[SharedColumn]:
    """Return the datasets that share a column of this name with a dataset, through prompts run on both."""
    prompts: dict[str, None] = {}
    files: dict[str, None] = {}
    pending = [file]
    while pending:
        current = pending.pop()
        if current in files:
            continue
        files[current] = None
        for path in (yield from prompts_on(snapshot, current)):
            template = snapshot.template(path)
            if template is not None and current in datasets_of(snapshot, path, template):
                prompts[path] = None
                pending += datasets_of(snapshot, path, template)
    return SharedColumn(tuple(prompts), tuple(each for each in files if _has(snapshot, each, name)))


def data_column_places(snapshot: Snapshot, symbol: Symbol) -> Iterator[Occurrence | None]:
    """Yield every occurrence of a column that is not an input; None separates the files."""
    shared = yield from shared_column_steps(snapshot, symbol.home, symbol.name)
    for file in shared.files:
        yield None
        data = snapshot.template(file)
        for span in _columns(data, file, symbol.name) if data is not None else ():
            yield Occurrence(file, span, "write", "data")
    for path in shared.prompts:
        yield None
        template = snapshot.template(path)
        if template is not None:
            yield from column_use_places(snapshot, path, template, symbol.name)


def column_use_places(
    snapshot: Snapshot, path: str, template: Template, name: str
) -> Iterator[Occurrence | None]:
    """Yield the references to a column in metrics and experiments of a prompt; None separates the files."""
    yield from row_column_places(snapshot, path, template, name)
    if any(_has(snapshot, file, name) for file in datasets_of(snapshot, path, template)):
        yield from metric_column_places(snapshot, path, template, name)


def option_symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the column that a metric with options names at `offset` of a header or settings file."""
    option = option_at(snapshot, path, offset)
    if option is None:
        return None
    paths = snapshot.known_paths if is_settings_file(path) else [path]
    prompts = [each for each in paths if each == path or str(snapshot.project(each).path) == path]
    for prompt in prompts:
        template = snapshot.template(prompt)
        if template is None or all(
            each.named != option.metric for each in used_metrics(snapshot, prompt, template)
        ):
            continue
        for file in datasets_of(snapshot, prompt, template):
            if _has(snapshot, file, option.column):
                if option.column in input_names(template):
                    return Symbol("input", option.column, path, option.span, prompt)
                return Symbol("column", option.column, path, option.span, file)
    return None


def column_doubt_steps(snapshot: Snapshot, symbol: Symbol, homes: tuple[str, ...]) -> Steps[str]:
    """Return the reason why a column cannot be renamed, if any. `homes` are the prompts that use it."""
    prompts = homes
    if symbol.kind == "column":
        prompts = (yield from shared_column_steps(snapshot, symbol.home, symbol.name)).prompts
    for path in prompts:
        yield
        template = snapshot.template(path)
        files = datasets_of(snapshot, path, template) if template is not None else ()
        if template is None or not any(_has(snapshot, file, symbol.name) for file in files):
            continue
        reason = column_doubt(snapshot, path, template, symbol.name)
        if reason:
            return reason
    return ""


def _has(snapshot: Snapshot, file: str, name: str) -> bool:
    """Return whether a dataset is known to have a column of this name."""
    if file.lower().endswith(PACKED_ENDINGS):
        return name in known_columns(Path(file)).columns
    data = snapshot.template(file)
    return data is not None and next(_columns(data, file, name), None) is not None


def _columns(data: Template, file: str, name: str) -> Iterator[Span]:
    text = data.source.text
    if name in text and not file.lower().endswith(PACKED_ENDINGS):
        yield from key_spans(Path(file).suffix.lower(), text, (name,), frozenset({name}))


def packed_with(snapshot: Snapshot, path: str, template: Template, name: str) -> Path | None:
    """Return the compressed data file with the input or column, which cannot be edited."""
    for file in data_files(snapshot, path, template):
        if file.suffix.lower() == ".parquet":
            if _has(snapshot, str(file), name):
                return file
        elif file.name.lower().endswith(PACKED_ENDINGS):
            data = snapshot.template(str(file))
            inputs = input_names(template) | {name}
            if data is not None and any(key_spans(".json", data.source.text, (name,), inputs)):
                return file
    return None


def is_data_file(path: str) -> bool:
    """Return whether the file name is that of a data file whose keys can be found."""
    return Path(path).suffix.lower() in DATA_ENDINGS


def data_symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the input or column whose name is at `offset` of a data file.

    None if no prompt file names the file.
    """
    data = snapshot.template(path)
    prompts = finish(prompts_on(snapshot, path)) if data is not None else []
    if data is None or not prompts:
        return None
    suffix, text = Path(path).suffix.lower(), data.source.text
    key = key_at(suffix, text, offset)
    if key is None:
        return None
    is_column = False
    for prompt in prompts:
        template = snapshot.template(prompt)
        assert template is not None
        if key.span not in key_spans(suffix, text, (key.name,), input_names(template) | {key.name}):
            continue
        home = input_home(snapshot, prompt, key.name)
        if home is not None:
            return Symbol("input", key.name, path, key.span, home)
        is_column = is_column or path in datasets_of(snapshot, prompt, template)
    return Symbol("column", key.name, path, key.span, path) if is_column else None
