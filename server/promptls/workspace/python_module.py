"""The experiments, metrics and data sets of one Python text, found by reading it; nothing is run.

An experiment is a function under `@experiment()` of promptls or of Ragas, a metric one under
`@discrete_metric` and its like, a data set a name or a function of the module that gives a `Dataset`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, TypeGuard

from promptls.text.lines import line_starts
from promptls.text.span import Span
from promptls.workspace.python_findings import PythonExperiment, PythonFindings, PythonName, RowColumn
from promptls.workspace.python_scores import scored_columns

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


def findings_in(text: str, path: str) -> PythonFindings:
    """What a Python text in the file at `path` defines; nothing where it is no Python."""
    try:
        tree = ast.parse(text)
        return _Reader(tree, text, path).findings()
    except (SyntaxError, ValueError, RecursionError):
        return PythonFindings()


class _Reader:
    """One module, with the names under which it knows those of the two packages."""

    def __init__(self, tree: ast.Module, text: str, path: str) -> None:
        self._tree = tree
        self._path = path
        self._starts = line_starts(text)
        self._lines = text.splitlines(keepends=True)
        self._imported = dict(_imports(tree))

    def findings(self) -> PythonFindings:
        if not self._imported:
            return PythonFindings()
        metrics = tuple(self._metrics())
        names = {metric.name for metric in metrics}
        others = frozenset(self._templates_named_outside())
        experiments: list[PythonExperiment] = []
        columns: list[RowColumn] = []
        for node in self._tree.body:
            if self._is_experiment(node):
                found = self._experiment(node, names)
                takes_others = not found.prompts and found.prompt_parameter is not None
                experiments.append(found._replace(prompts=others) if takes_others else found)
                columns += self._columns(node)
        datasets, loaded = tuple(self._datasets()), frozenset(self._loaded())
        return PythonFindings(tuple(experiments), metrics, datasets, tuple(columns), loaded)

    def _is_experiment(self, node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
        return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and self._is_decorated(
            node, {"experiment"}
        )

    def _templates_named_outside(self) -> Iterator[str]:
        """The texts that end as a template's path does, in all of the module but its experiments."""
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
                if not _required(node.args) and (node.name == _LOADER or self._gives_dataset(node)):
                    yield self._defined(node)
            elif isinstance(node, ast.Assign) and self._is_dataset(node.value):
                yield from self._assigned(node)

    def _gives_dataset(self, node: ast.FunctionDef) -> bool:
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
        """Whether a call makes or loads a data set."""
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in {"load", "stream", "from_pandas"}:
            function = function.value
        return self._meaning(function) == "Dataset"

    def _experiment(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, metrics: set[str]
    ) -> PythonExperiment:
        place = self._defined(node)
        placed = [*node.args.posonlyargs, *node.args.args]
        parameters = [*(each.arg for each in placed[1:]), *(each.arg for each in node.args.kwonlyargs)]
        texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
        return PythonExperiment(
            self._path,
            node.name,
            place.span,
            place.line,
            tuple(parameters),
            frozenset(_required(node.args)) & frozenset(parameters),
            frozenset(
                text
                for text in texts
                if isinstance(text, str) and text.endswith(_PROMPT_ENDINGS) and "\n" not in text
            ),
            dict(scored_columns(node, metrics)),
        )

    def _loaded(self) -> Iterator[str]:
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in {"load", "stream"} and self._is_dataset(node):
                named = [keyword.value for keyword in node.keywords if keyword.arg == "name"]
                name = next(iter([*node.args[:1], *named]), None)
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield name.value

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
                span = self._text_span(key)
                if span is not None:
                    yield RowColumn(key.value, span, node.name)

    def _text_span(self, node: ast.Constant) -> Span | None:
        """The span of the text in the quotes; None for one that is written with escapes or in pieces."""
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            return None
        begin, end = (
            self._offset(node.lineno, node.col_offset),
            self._offset(node.lineno, node.end_col_offset),
        )
        span = Span(begin + 1, end - 1)
        line_begin = self._starts[node.lineno - 1]
        written = self._lines[node.lineno - 1][span.start - line_begin : span.end - line_begin]
        return span if written == node.value else None

    def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> PythonName:
        line = self._lines[node.lineno - 1] if node.lineno <= len(self._lines) else ""
        keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        column = line.find(node.name, line.find(keyword) + len(keyword))
        start = self._starts[node.lineno - 1] + max(column, 0)
        return PythonName(node.name, Span(start, start + len(node.name)), node.lineno - 1)

    def _assigned(self, node: ast.Assign) -> Iterator[PythonName]:
        for target in node.targets:
            if isinstance(target, ast.Name):
                start = self._offset(target.lineno, target.col_offset)
                yield PythonName(target.id, Span(start, start + len(target.id)), target.lineno - 1)

    def _offset(self, line: int, column: int) -> int:
        """The offset of a place as the parser gives it: a line from 1, and bytes."""
        before = self._lines[line - 1].encode("utf-8", "surrogatepass")[:column]
        return self._starts[line - 1] + len(before.decode("utf-8", "replace"))

    def _is_decorated(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str] | frozenset[str]
    ) -> bool:
        return any(
            self._meaning(each.func if isinstance(each, ast.Call) else each) in names
            for each in node.decorator_list
        )

    def _meaning(self, node: ast.expr) -> str | None:
        """What of the two packages an expression names: `experiment`, `Dataset`, …; None for all else."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._imported.get(node.value)
        if isinstance(node, ast.Name):
            return self._imported.get(node.id)
        if isinstance(node, ast.Attribute):
            return node.attr if ast.unparse(node.value) in self._imported else None
        return None


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a module has of the two packages, with what they are called there."""
    for node in ast.walk(tree):
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


def _required(arguments: ast.arguments) -> list[str]:
    placed = [*arguments.posonlyargs, *arguments.args]
    without = placed[: len(placed) - len(arguments.defaults)]
    named = [
        each
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    return [each.arg for each in (*without, *named)]
