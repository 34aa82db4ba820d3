"""Columns of data sets that metrics take: by options of a header or the settings, or by a parameter's name.

A function's parameter takes the column of its name, also behind `expected_`, and a parameter `row` all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from promptls.features.scalar_span import bare_span
from promptls.features.symbols.declared_names import is_settings_file
from promptls.features.symbols.metrics_and_models import function_named, prompts_naming
from promptls.features.symbols.python_functions import FUNCTIONS, parsed, place_in, programs_with, uses_in
from promptls.features.symbols.run_on import experiments_on
from promptls.features.symbols.symbol import Occurrence
from promptls.meaning.template import Template
from promptls.rules.facts.named_metrics import taken_by
from promptls.settings.header import NamedMetric
from promptls.syntax.source import Source
from promptls.text.span import Span
from promptls.workspace.project_settings import PYPROJECT_FILE
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.toml_names import TomlName, toml_names

_EXPECTED: Final = "expected_"
_REFERENCES: Final = frozenset({"expected", "reference"})
_ROW: Final = "row"


class UsedMetric(NamedTuple):
    """A metric of an experiment: as it is named there, with which options, and in which file."""

    named: str
    chosen: NamedMetric | None
    named_in: str

    @property
    def function(self) -> str:
        """What `file.py:function` or ready metric it comes down to."""
        return self.chosen.use if self.chosen is not None else self.named

    def takes(self, parameter: str, column: str) -> bool:
        """Whether a parameter of this name gets the column, by its name alone."""
        if self.chosen is not None and parameter in {*self.chosen.columns, *self.chosen.options}:
            return False
        return parameter in {column, f"{_EXPECTED}{column}"}


def used_metrics(snapshot: Snapshot, path: str, template: Template) -> Iterator[UsedMetric]:
    """The metrics of the experiments that can be run on the file at `path`, each once."""
    known = {**snapshot.project(path).settings.metrics, **(template.declarations.settings.metrics or {})}
    experiments = experiments_on(snapshot, path, template)
    names = [(name, each.named_in) for each in experiments for name in each.declared.metrics]
    for name, named_in in dict.fromkeys(names):
        yield UsedMetric(name, known.get(name), named_in)


def metric_column_places(
    snapshot: Snapshot, path: str, template: Template, column: str
) -> Iterator[Occurrence | None]:
    """Where the metrics of a prompt file name a column; None stands between the files."""
    for metric in used_metrics(snapshot, path, template):
        yield from _option_places(snapshot, path, template, metric, column)
        found = function_named(snapshot, metric.named_in, metric.function)
        program = snapshot.template(found.home) if found is not None else None
        if found is None or program is None:
            continue
        for use in _uses(program.source.text, found.name, column):
            if use.parameter == _ROW or metric.takes(use.parameter, column):
                yield Occurrence(found.home, use.span, "read", "python")
        for parameter in (column, f"{_EXPECTED}{column}"):
            takes = any(use.parameter == parameter for use in _uses(program.source.text, found.name, column))
            if takes and metric.takes(parameter, column):
                yield from _argument_places(snapshot, found.home, found.name, parameter, len(column))


def column_doubt(snapshot: Snapshot, path: str, template: Template, column: str) -> str:
    """Why a column of the data sets of a prompt file cannot have another name; empty where it can."""
    settings = template.declarations.settings
    if column == settings.output_key and settings.experiments:
        return f"it is the `output_key` of {Path(path).name}, by which metrics find what is expected"
    for metric in used_metrics(snapshot, path, template):
        found = function_named(snapshot, metric.named_in, metric.function)
        taken = taken_by(metric.function, Path(metric.named_in).parent)
        names = {*taken.names} if taken is not None else set()
        if metric.chosen is not None:
            names -= {*metric.chosen.columns, *metric.chosen.options}
        is_reference = column in _REFERENCES and bool(names & _REFERENCES)
        if is_reference or (found is None and any(metric.takes(name, column) for name in names)):
            remedy = "give it its column under `metrics: … columns` first"
            return f"the metric `{metric.named}` takes the column by its name: {remedy}"
    return ""


def prompts_with_same_parameter(
    snapshot: Snapshot, path: str, template: Template, column: str
) -> Iterator[tuple[str, str]]:
    """The prompt files whose experiments use a function that takes the column by its parameter's name.

    Each comes with the name of the function, which gets another parameter when the column is renamed.
    """
    for metric in used_metrics(snapshot, path, template):
        found = function_named(snapshot, metric.named_in, metric.function)
        program = snapshot.template(found.home) if found is not None else None
        if found is None or program is None:
            continue
        uses = _uses(program.source.text, found.name, column)
        if any(use.parameter != _ROW and metric.takes(use.parameter, column) for use in uses):
            for prompt in prompts_naming(snapshot, found):
                yield prompt, found.name


# -- options -------------------------------------------------------------------------


def _option_places(
    snapshot: Snapshot, path: str, template: Template, metric: UsedMetric, column: str
) -> Iterator[Occurrence]:
    """The values under `columns` of a named metric: of the file itself, else of its settings file."""
    if metric.chosen is None or column not in metric.chosen.columns.values():
        return
    own = template.declarations.settings.metrics or {}
    if metric.named in own:
        for parameter, name in metric.chosen.columns.items():
            span = template.declarations.value_span("metrics", metric.named, "columns", parameter)
            bare = bare_span(template, span, name) if span is not None and name == column else None
            if bare is not None:
                yield Occurrence(path, bare, "read", "header")
        return
    file = snapshot.project(path).path
    held = snapshot.template(str(file)) if file is not None else None
    if held is None or not is_settings_file(str(file)):
        return
    for named, each in _options_in_settings(held.source.text, str(file)):
        if named == metric.named and each.text == column:
            yield Occurrence(str(file), each.span, "read", "settings")


def option_at(snapshot: Snapshot, path: str, offset: int) -> ColumnOption | None:
    """The column under `columns` of a named metric that a header or a settings file names at `offset`."""
    template = snapshot.template(path)
    if template is None:
        return None
    if is_settings_file(path):
        for metric, each in _options_in_settings(template.source.text, path):
            if each.span.contains(offset):
                return ColumnOption(metric, each.text, each.span)
        return None
    for metric, chosen in (template.declarations.settings.metrics or {}).items():
        for parameter, name in chosen.columns.items():
            span = template.declarations.value_span("metrics", metric, "columns", parameter)
            bare = bare_span(template, span, name) if span is not None else None
            if bare is not None and bare.contains(offset):
                return ColumnOption(metric, name, bare)
    return None


class ColumnOption(NamedTuple):
    """A column that the metric of a name takes, by an option at `span`."""

    metric: str
    column: str
    span: Span


def _options_in_settings(text: str, path: str) -> Iterator[tuple[str, TomlName]]:
    root = ("tool", "promptls") if Path(path).name == PYPROJECT_FILE else ()
    for each in toml_names(text):
        match each.keys[len(root) :] if each.keys[: len(root)] == root else ():
            case ("metrics", str(metric), "columns", _) if not each.is_key:
                yield metric, each


# -- functions -----------------------------------------------------------------------


class _ColumnUse(NamedTuple):
    """A place in a function that names a column, by which parameter."""

    span: Span
    parameter: str


@lru_cache(maxsize=16)
def _uses(text: str, function: str, column: str) -> tuple[_ColumnUse, ...]:
    """The parameters of a function that are called as a column, and what reads them; keys of its row."""
    tree = parsed(text)
    node = next(
        (
            each
            for each in (tree.body if tree else ())
            if isinstance(each, FUNCTIONS) and each.name == function
        ),
        None,
    )
    if node is None:
        return ()
    source = Source.plain(text)
    placed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    names = {each.arg for each in placed}
    found = [
        _ColumnUse(_ending(place_in(source, each.lineno, each.col_offset, each.arg), column), each.arg)
        for each in placed
        if each.arg in {column, f"{_EXPECTED}{column}"}
    ]
    taken = {use.parameter for use in found}
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id in taken:
            span = place_in(source, each.lineno, each.col_offset, each.id)
            found.append(_ColumnUse(_ending(span, column), each.id))
        key = _key_of_row(each) if _ROW in names else None
        if key is not None and key.value == column:
            start = place_in(source, key.lineno, key.col_offset, "").start + 1
            if text[start : start + len(column)] == column:
                found.append(_ColumnUse(Span(start, start + len(column)), _ROW))
    return tuple(found)


def _ending(span: Span, column: str) -> Span:
    """The column's name in a parameter's, which may begin with `expected_`."""
    return Span(span.end - len(column), span.end)


def _key_of_row(node: ast.AST) -> ast.Constant | None:
    """The key in `row["key"]` and `row.get("key")`."""
    value: ast.expr
    key: ast.expr | None
    if isinstance(node, ast.Subscript):
        value, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        value, key = node.func.value, next(iter(node.args), None)
    else:
        return None
    is_row = isinstance(value, ast.Name) and value.id == _ROW
    return key if is_row and isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _argument_places(
    snapshot: Snapshot, home: str, function: str, parameter: str, length: int
) -> Iterator[Occurrence | None]:
    """The keywords of calls that give the parameter: `function(name=…)` and `function.score(name=…)`."""
    for path in (yield from programs_with(snapshot, parameter)):
        yield None
        program = snapshot.template(path)
        meant = {span for span, _ in uses_in(snapshot, path, home, function).certain}
        tree = parsed(program.source.text) if program is not None and meant else None
        for node in ast.walk(tree) if tree is not None else ():
            if not isinstance(node, ast.Call) or program is None:
                continue
            for keyword in node.keywords if _calls(program.source, node.func, function, meant) else ():
                if keyword.arg == parameter:
                    span = place_in(program.source, keyword.lineno, keyword.col_offset, parameter)
                    yield Occurrence(path, Span(span.end - length, span.end), "read", "python")


def _calls(source: Source, called: ast.expr, function: str, meant: set[Span]) -> bool:
    """Whether what is called is the function, or a method of the metric that it is."""
    for node in (called, called.value if isinstance(called, ast.Attribute) else called):
        end = place_in(source, node.end_lineno or node.lineno, node.end_col_offset or 0, "").start
        if Span(end - len(function), end) in meant:
            return True
    return False
