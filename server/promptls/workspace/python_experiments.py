"""Find the experiments, metrics and datasets that Python files define, by parsing the files."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

from promptls.security.files import cached_by_file, folder_changed, names_in
from promptls.syntax.python_places import PythonPlaces, argument, parse_python, statements_in, text_of
from promptls.text.positions import Span
from promptls.workspace.disk import python_paths_by_folder, text_on_disk

PROMPT_PARAMETERS: Final = frozenset(
    {"prompt", "prompt_file", "prompt_path", "prompt_template", "template", "template_file", "template_path"}
)


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


def scored_columns(node: ast.AST, metrics: set[str]) -> Iterator[tuple[str, str]]:
    """Yield columns of results and their metrics, as in `{"labels_score": labels.score(…).value}`.

    A variable in between is resolved if the function assigns it once.
    """
    assigned: dict[str, list[ast.expr]] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Assign):
            for target in each.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(each.value)
    for each in ast.walk(node):
        if isinstance(each, ast.Dict):
            for key, value in zip(each.keys, each.values, strict=True):
                name, metric = text_of(key), _scoring(value, assigned)
                if name is not None and metric in metrics:
                    yield name, str(metric)


def _scoring(node: ast.expr, assigned: Mapping[str, list[ast.expr]]) -> str | None:
    """Return the name of the metric whose score an expression is, or None."""
    if isinstance(node, ast.Attribute) and node.attr == "value":
        node = node.value
    if isinstance(node, ast.Name):
        values = assigned.get(node.id, [])
        if len(values) != 1:
            return None
        node = values[0]
    if isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_score = node.func.attr in {"score", "ascore"} and isinstance(node.func.value, ast.Name)
        return node.func.value.id if is_score and isinstance(node.func.value, ast.Name) else None
    return None


PACKAGES: Final = ("promptls", "ragas")
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
    """One module, with its local names for those of the two packages."""

    def __init__(self, tree: ast.Module, text: str, path: str) -> None:
        self._tree = tree
        self._path = path
        self._places = PythonPlaces(text)
        self._imported = dict(_imports(tree))
        self._has_datasets = "Dataset" in text  # without the word, there is no reason to look for one

    def findings(self) -> PythonFindings:
        if not self._imported:
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

    def _is_experiment(self, node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
        return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and self._is_decorated(
            node, {"experiment"}
        )

    def _templates_named_outside(self) -> Iterator[str]:
        """Yield the texts that end like a template's path, in the module outside of its experiments."""
        for statement in self._tree.body:
            if self._is_experiment(statement):
                continue
            for each in ast.walk(statement):
                value = each.value if isinstance(each, ast.Constant) else None
                if isinstance(value, str) and value.endswith(_TEMPLATE_ENDING) and "\n" not in value:
                    yield value

    def _metrics(self) -> Iterator[PythonName]:
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if self._is_decorated(node, _METRICS):
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
                if not required_parameters(node.args) and (node.name == _LOADER or self._gives_dataset(node)):
                    yield self._defined(node)
            elif isinstance(node, ast.Assign) and self._is_dataset(node.value):
                yield from self._assigned(node)

    def _gives_dataset(self, node: ast.FunctionDef) -> bool:
        if not self._has_datasets:
            return False
        if node.returns is not None and self._meaning(node.returns) == "Dataset":
            return True
        made = {
            target.id
            for each in ast.walk(node)
            if isinstance(each, ast.Assign) and self._is_dataset(each.value)
            for target in each.targets
            if isinstance(target, ast.Name)
        }
        returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
        return any(
            self._is_dataset(value) or (isinstance(value, ast.Name) and value.id in made)
            for value in returned
        )

    def _is_dataset(self, node: ast.expr | None) -> bool:
        """Return whether a call creates or loads a dataset."""
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in {"load", "stream", "from_pandas"}:
            function = function.value
        return self._meaning(function) == "Dataset"

    def _experiment(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, metrics: set[str]
    ) -> PythonExperiment:
        placed = [*node.args.posonlyargs, *node.args.args]
        parameters = [*(each.arg for each in placed[1:]), *(each.arg for each in node.args.kwonlyargs)]
        texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
        return PythonExperiment(
            self._path,
            node.name,
            self._defined(node).line,
            tuple(parameters),
            frozenset(required_parameters(node.args)) & frozenset(parameters),
            frozenset(
                text
                for text in texts
                if isinstance(text, str) and text.endswith(_PROMPT_ENDINGS) and "\n" not in text
            ),
            dict(scored_columns(node, metrics)),
        )

    def _loaded(self) -> Iterator[str]:
        for node in ast.walk(self._tree) if self._has_datasets else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in {"load", "stream"} and self._is_dataset(node):
                name = text_of(node.args[0] if node.args else argument(node, "name"))
                if name is not None:
                    yield name

    def _columns(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[RowColumn]:
        first = next(iter([*node.args.posonlyargs, *node.args.args]), None)
        if first is None:
            return
        for each in ast.walk(node):
            key: ast.expr | None = None
            if isinstance(each, ast.Subscript) and _is_name(each.value, first.arg):
                key = each.slice
            elif (
                isinstance(each, ast.Call)
                and isinstance(each.func, ast.Attribute)
                and each.func.attr == "get"
            ):
                key = each.args[0] if each.args and _is_name(each.func.value, first.arg) else None
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                span = self._places.inside_quotes(key)
                if span is not None:
                    yield RowColumn(key.value, span, node.name)

    def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> PythonName:
        return PythonName(node.name, self._places.name_span(node), node.lineno - 1)

    def _assigned(self, node: ast.Assign) -> Iterator[PythonName]:
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield PythonName(target.id, self._places.span(target), target.lineno - 1)

    def _is_decorated(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str] | frozenset[str]
    ) -> bool:
        return any(
            self._meaning(each.func if isinstance(each, ast.Call) else each) in names
            for each in node.decorator_list
        )

    def _meaning(self, node: ast.expr) -> str | None:
        """Return the name in the two packages that an expression refers to: `experiment`, `Dataset`, ….

        None for anything else.
        """
        if (text := text_of(node)) is not None:
            return self._imported.get(text)
        if isinstance(node, ast.Name):
            return self._imported.get(node.id)
        if isinstance(node, ast.Attribute):
            return node.attr if ast.unparse(node.value) in self._imported else None
        return None


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that a module imports from the two packages, with their original names."""
    for node in statements_in(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_of_package(node.module):
            yield from ((each.asname or each.name, each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            for each in node.names:
                if _is_of_package(each.name):
                    yield each.asname or each.name, each.name


def _is_of_package(module: str | None) -> bool:
    return module is not None and module.split(".")[0] in PACKAGES


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def required_parameters(arguments: ast.arguments) -> list[str]:
    """Return the names of the parameters without a default."""
    placed = [*arguments.posonlyargs, *arguments.args]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    without = placed[: len(placed) - len(arguments.defaults)]
    return [each.arg for each in (*without, *(own for own, default in named if default is None))]


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


def scanned_experiments(
    roots: Iterable[str], found: dict[str, PythonFindings], shallow: Container[str] = ()
) -> Iterator[None]:
    """Fill `found` with what each Python file below `roots` defines; pauses after each file."""
    for paths in python_paths_by_folder(roots, shallow):
        for path in paths:
            findings = findings_in_file(path)
            if any(findings):
                found[path] = findings
            yield
        yield


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
