"""Find the experiments, metrics and datasets that Python files define, by parsing the files."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

from promptls.security.files import cached_by_file, folder_changed, names_in
from promptls.syntax.python_places import (
    Function,
    PythonPlaces,
    argument,
    dict_items,
    key_read,
    parameter_names,
    parse_python,
    required_parameters,
    text_of,
)
from promptls.text.positions import Span
from promptls.workspace.disk import text_on_disk
from promptls.workspace.python_scopes import PACKAGES, Imports, imports_of

PROMPT_PARAMETERS: Final = frozenset(
    {"prompt", "prompt_file", "prompt_path", "prompt_template", "template", "template_file", "template_path"}
)

DATASET_MAKERS: Final = frozenset({"load", "stream", "from_pandas"})
"""The methods of the class `Dataset` that return a dataset."""
RESULT_FIELDS: Final = frozenset({"value", "reason", "traces"})
"""The attributes of the result of a metric."""


class PythonName(NamedTuple):
    """A name that a Python file defines at its top level, with its position in code points."""

    name: str
    span: Span
    line: int


class RowColumn(NamedTuple):
    """A column that a function reads of its row: `row["text"]`. The span is without the quotes."""

    name: str
    span: Span
    experiment: str


class PythonExperiment(NamedTuple):
    """An experiment: its parameters after the row, and its prompts, metrics and columns."""

    file: str
    name: str
    line: int
    parameters: tuple[str, ...]
    required: frozenset[str]
    """The parameters without a default."""
    prompts: frozenset[str]
    """The texts that look like paths of prompt files in the function. If there are none and it takes a
    prompt, the paths of templates outside of all experiments, such as in a call of its `arun`."""
    scores: Mapping[str, str]
    """The columns of its results that a metric of the file fills, with the name of the metric."""

    @property
    def prompt_parameter(self) -> str | None:
        """The parameter for the path of a prompt file."""
        return next((name for name in self.parameters if name in PROMPT_PARAMETERS), None)


class PythonFindings(NamedTuple):
    """What one Python file defines; every tuple is in file order."""

    experiments: tuple[PythonExperiment, ...] = ()
    metrics: tuple[PythonName, ...] = ()
    datasets: tuple[PythonName, ...] = ()
    columns: tuple[RowColumn, ...] = ()
    loaded: frozenset[str] = frozenset()
    """The names of saved datasets that are loaded by `Dataset.load` or `Dataset.stream`."""


_METRICS: Final = frozenset(
    {
        "discrete_metric",
        "numeric_metric",
        "ranking_metric",
        "DiscreteMetric",
        "NumericMetric",
        "RankingMetric",
    }
)
_PROMPT_ENDINGS: Final = (".j2", ".yml", ".yaml", ".json")
_TEMPLATE_ENDING: Final = ".j2"
_LOADER: Final = "load_dataset"
_WORDS: Final = ("Dataset", _LOADER, *sorted(_METRICS))
_EXPERIMENT: Final = re.compile(r"@[ \t]*[\w.]*\bexperiment\b|experiment[ \t]+as\b")
"""The decorator of an experiment, or its import with another name."""


class _Reader:
    """One module, and what it imports from the two packages."""

    def __init__(self, tree: ast.Module, text: str, path: str) -> None:
        self._tree = tree
        self._path = path
        self._places = PythonPlaces(text)
        self._imports = imports_of(tree)
        self._has_datasets = "Dataset" in text  # without the word, there is no reason to look for one

    def findings(self) -> PythonFindings:
        if not self._imports:
            return PythonFindings()
        metrics = tuple(self._metrics())
        names = {metric.name for metric in metrics}
        experiments: list[PythonExperiment] = []
        columns: list[RowColumn] = []
        for node in self._tree.body:
            if self._is_experiment(node):
                found = self._experiment(node, names)
                if not found.prompts and found.prompt_parameter is not None:
                    found = found._replace(prompts=frozenset(self._templates_named_outside()))
                experiments.append(found)
                columns += self._columns(node)
        datasets, loaded = tuple(self._datasets()), frozenset(self._loaded())
        return PythonFindings(tuple(experiments), metrics, datasets, tuple(columns), loaded)

    def _is_experiment(self, node: ast.stmt) -> TypeGuard[Function]:
        return isinstance(node, Function) and self._imports.decorator(node, {"experiment"}) is not None

    def _templates_named_outside(self) -> Iterator[str]:
        """Yield the texts that end like a template's path, in the module outside of its experiments."""
        for statement in self._tree.body:
            if not self._is_experiment(statement):
                yield from _paths_in(statement, _TEMPLATE_ENDING)

    def _metrics(self) -> Iterator[PythonName]:
        for node in self._tree.body:
            if isinstance(node, Function):
                if self._imports.decorator(node, _METRICS) is not None:
                    yield self._defined(node)
            elif (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and self._meaning(node.value.func) in _METRICS
            ):
                yield from self._assigned(node)

    def _datasets(self) -> Iterator[PythonName]:
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef):
                if not required_parameters(node) and (node.name == _LOADER or self._gives_dataset(node)):
                    yield self._defined(node)
            elif isinstance(node, ast.Assign) and makes_dataset(node.value, self._imports):
                yield from self._assigned(node)

    def _gives_dataset(self, node: ast.FunctionDef) -> bool:
        if not self._has_datasets:
            return False
        if node.returns is not None and self._meaning(node.returns) == "Dataset":
            return True
        returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
        assigned = _assigned(node)
        return any(
            any(makes_dataset(value, self._imports) for value in assigned.get(each.id, ()))
            if isinstance(each, ast.Name)
            else makes_dataset(each, self._imports)
            for each in returned
        )

    def _experiment(self, node: Function, metrics: set[str]) -> PythonExperiment:
        parameters = parameter_names(node)[1:]
        return PythonExperiment(
            self._path,
            node.name,
            self._defined(node).line,
            tuple(parameters),
            frozenset(required_parameters(node)) & frozenset(parameters),
            frozenset(_paths_in(node, _PROMPT_ENDINGS)),
            dict(self._scored_columns(node, metrics)),
        )

    def _scored_columns(self, node: Function, metrics: set[str]) -> Iterator[tuple[str, str]]:
        """Yield columns of results and their metrics, as in `{"labels_score": labels.score(…).value}`.

        A variable in between is resolved if the function assigns it once.
        """
        assigned = _assigned(node) if metrics else {}
        for each in ast.walk(node) if metrics else ():
            for name, _, value in dict_items(each) if isinstance(each, ast.Dict) else ():
                made = value.value if isinstance(value, ast.Attribute) and value.attr == "value" else value
                known = assigned.get(made.id, []) if isinstance(made, ast.Name) else [made]
                metric = scored_by(known[0])[0] if len(known) == 1 else None
                if name is not None and isinstance(metric, ast.Name) and metric.id in metrics:
                    yield name, metric.id

    def _loaded(self) -> Iterator[str]:
        for node in ast.walk(self._tree) if self._has_datasets else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in {"load", "stream"} and makes_dataset(node, self._imports):
                name = text_of(node.args[0] if node.args else argument(node, "name"))
                if name is not None:
                    yield name

    def _columns(self, node: Function) -> Iterator[RowColumn]:
        row = next(iter(parameter_names(node)), "")
        for each in [inner for inner in ast.walk(node) if isinstance(inner, ast.Subscript | ast.Call)]:
            owner, key = key_read(each)
            span = self._places.inside_quotes(key) if key is not None and owner == row else None
            if span is not None and key is not None:
                yield RowColumn(str(key.value), span, node.name)

    def _defined(self, node: Function) -> PythonName:
        return PythonName(node.name, self._places.name_span(node), node.lineno - 1)

    def _assigned(self, node: ast.Assign) -> Iterator[PythonName]:
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield PythonName(target.id, self._places.span(target), target.lineno - 1)

    def _meaning(self, node: ast.expr) -> str:
        """Return the name in the two packages that an expression refers to: `experiment`, `Dataset`, ….

        Empty for anything else. An annotation may be in quotes.
        """
        name = text_of(node)
        return self._imports.meaning(node if name is None else ast.Name(name))[1]


def _assigned(function: Function) -> dict[str, list[ast.expr]]:
    """Return what a function assigns to its variables, which is faster than to find all scopes."""
    found: dict[str, list[ast.expr]] = {}
    for each in (node for node in ast.walk(function) if isinstance(node, ast.Assign)):
        for target in (node for node in each.targets if isinstance(node, ast.Name)):
            found.setdefault(target.id, []).append(each.value)
    return found


def _paths_in(node: ast.AST, endings: str | tuple[str, ...]) -> Iterator[str]:
    """Yield the literal texts in a statement that are paths with one of these endings."""
    for each in [inner for inner in ast.walk(node) if isinstance(inner, ast.Constant)]:
        text = text_of(each)
        if text is not None and text.endswith(endings) and "\n" not in text:
            yield text


def makes_dataset(node: ast.expr | None, imports: Imports) -> bool:
    """Return whether an expression is a call that creates or loads a dataset."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in DATASET_MAKERS:
            return imports.meaning(owner)[1] == "Dataset"
        case ast.Call(func=function):
            return imports.meaning(function)[1] == "Dataset"
    return False


def scored_by(node: ast.expr | None) -> tuple[ast.expr | None, str]:
    """Return the metric and the method of a call of `score` or `ascore`, also after `await`, or nothing."""
    match node.value if isinstance(node, ast.Await) else node:
        case ast.Call(func=ast.Attribute(value=metric, attr="score" | "ascore" as method)):
            return metric, method
    return None, ""


def experiments_for(found: Mapping[str, PythonFindings], prompt: str) -> tuple[PythonExperiment, ...]:
    """Return the experiments that can be run on a prompt file: those that name it, or a nearby one.

    An experiment that names prompts is only for these. One that takes a prompt, and whose file names none, is
    for those in the folder of its file and below; if that folder contains no template, also for those in
    sibling folders.
    """
    return tuple(
        experiment
        for findings in found.values()
        for experiment in findings.experiments
        if _is_for(experiment, prompt)
    )


@cached_by_file(256)
def findings_in_file(path: str) -> PythonFindings:
    """Return what the file at `path` defines; empty if it cannot be read."""
    text = text_on_disk(path)
    return findings_in(text, path) if text is not None else PythonFindings()


def findings_in(text: str, path: str) -> PythonFindings:
    """Return what Python source of the file at `path` defines; empty if it cannot be parsed.

    Only source that may define something is parsed.
    """
    is_of_package = any(package in text for package in PACKAGES)
    may_define = any(word in text for word in _WORDS) or _EXPERIMENT.search(text)
    tree = parse_python(text) if is_of_package and may_define else None
    try:
        return PythonFindings() if tree is None else _Reader(tree, text, path).findings()
    except RecursionError:
        return PythonFindings()


def _is_for(experiment: PythonExperiment, prompt: str) -> bool:
    folder, file = Path(experiment.file).parent, Path(prompt)
    if experiment.prompts:
        named = [Path(text) for text in experiment.prompts]
        return any(
            str(file) == os.path.normpath(folder / each) or file.parts[-len(each.parts) :] == each.parts
            for each in named
        )
    if experiment.prompt_parameter is None or not file.is_relative_to(folder.parent):
        return False
    return file.is_relative_to(folder) or not _holds_templates(folder)


def _holds_templates(folder: Path) -> bool:
    changed = folder_changed(folder)
    return changed is not None and _has_template(str(folder), changed)


@lru_cache(maxsize=256)
def _has_template(folder: str, _changed: int) -> bool:
    return any(name.endswith(_TEMPLATE_ENDING) for name in names_in(folder))
