"""Diagnostics for the uses of promptls and Ragas in a Python file: calls, decorators, results of metrics."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from string import Formatter
from typing import Final, NamedTuple, TypeGuard

from promptls.datasets.backends import BACKENDS, backend_names
from promptls.dialects.ragas.prompt_object import PROMPT_KEYS
from promptls.lint.analysis.declared_experiments import METRIC_DECORATORS
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import Edit, Finding, Fix
from promptls.lint.rules.jinja.wrong_arguments import RULE
from promptls.lint.runner import severity_of
from promptls.programs.metric_results import Results, assigned_in, findings_in_results
from promptls.programs.poet_calls import findings_in_poet_calls
from promptls.programs.ragas_examples import (
    findings_in_appended_rows,
    findings_in_prompt_classes,
    findings_in_rows,
)
from promptls.programs.ragas_samples import findings_in_samples
from promptls.security.files import is_file
from promptls.settings.project import Project
from promptls.syntax.python_places import NOT_PYTHON, PythonPlaces
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.tokens import UnknownEncodingError, encoding_name
from promptls.workspace.disk import ENDINGS, text_on_disk
from promptls.workspace.python_experiments import PACKAGES, PROMPT_PARAMETERS

_LIBRARIES: Final = (*PACKAGES, "prompt_poet")
_METRIC_KEYWORDS: Final = frozenset({"name", "allowed_values"})
KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "load": frozenset(
        {"path", "encoding", "token_limit", "truncation_step", "allow_token_overrides", "markers"}
        | {"sandboxed", "ragas_version"}
    ),
    "discrete_metric": _METRIC_KEYWORDS,
    "numeric_metric": _METRIC_KEYWORDS | {"lower_is_better"},
    "ranking_metric": _METRIC_KEYWORDS,
}
"""The keyword arguments of functions of promptls that accept no others."""
_OBJECT_KEYWORDS: Final = frozenset({*PROMPT_KEYS, "ragas_version"})
_PROMPTED: Final[Mapping[str, str]] = {
    "DiscreteMetric": "discrete_metric",
    "NumericMetric": "numeric_metric",
    "RankingMetric": "ranking_metric",
}
"""The classes of metrics with a prompt, and the decorators of the same kind."""
_LITERALS: Final[Mapping[str, tuple[type[ast.expr], ...]]] = {
    "discrete_metric": (ast.Tuple, ast.Constant),
    "numeric_metric": (ast.List,),
    "ranking_metric": (ast.List, ast.Tuple),
}
"""Literals with which a metric of Ragas is of another kind, and all of its scores are None."""
_WRITTEN: Final[Mapping[str, str]] = {
    "discrete_metric": "a list of the values",
    "numeric_metric": "a tuple of the lowest and the highest value",
    "ranking_metric": "the number of items",
}
_JOINED: Final = re.compile(r"[\"']\s+[\"']")
"""The end of a string and the beginning of the next one."""
_FIELD_END: Final = re.compile(r"[.\[]")
_MAX_FOLDERS: Final = 4
"""How many folders around a program are searched for a prompt file, the nearest first."""
_RUN_KEYWORDS: Final = frozenset({"dataset", "name", "backend", "concurrency", "timeout", "progress"})
_CONSTRUCTORS: Final[Mapping[str, tuple[tuple[str, ...], frozenset[str] | None]]] = {
    "MetricResult": (("value",), frozenset({"reason", "traces"})),
    "AspectCritic": (("name", "definition"), None),
    "SimpleCriteriaScore": (("name", "definition"), None),
    "DiscreteMetric": (("name",), None),
    "NumericMetric": (("name",), None),
    "RankingMetric": (("name",), None),
}
"""The required arguments of classes in their order, and the others if there are no more."""
_RESULT_FIELDS: Final = frozenset({"value", "reason", "traces"})
_RESULT_ATTRIBUTES: Final = _RESULT_FIELDS | {"to_dict", "validate"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Metric(NamedTuple):
    """A decorated metric: its function, the literal classes of a discrete one, limits of a numeric one."""

    function: _Function
    classes: tuple[object, ...] | None
    limits: tuple[float, float] | None = None


def findings_in_library_calls(text: str, path: str, project: Project) -> tuple[Finding, ...]:
    """Return the diagnostics of the Python file at `path`, with rule and severity, in text order."""
    severity = severity_of(RULE, project)
    if severity is None or not may_use_library(text):
        return ()
    try:
        tree = ast.parse(text.removeprefix("\ufeff"))
        found = set(_Library(tree, text, Path(path)).findings())
    except NOT_PYTHON:
        return ()
    placed = (finding.of(RULE.name, finding.severity or severity) for finding in found)
    return tuple(sorted(placed, key=lambda finding: (finding.span, finding.message)))


def may_use_library(text: str) -> bool:
    """Return whether a Python text mentions promptls, Ragas or Prompt Poet."""
    return any(package in text for package in _LIBRARIES)


class _Library:
    """One module, with its names for those of the packages, and the metrics that it may use."""

    def __init__(self, tree: ast.Module, text: str, file: Path | None) -> None:
        """Read the imports of a module; metrics of files beside its `file` are found if that is given."""
        self._tree = tree
        self._file = file
        self._folder = folder = file.parent if file is not None else None
        self._places = PythonPlaces(text, len(text) - len(text.removeprefix("\ufeff")))
        self._names: dict[str, tuple[str, str]] = {}
        self._modules: dict[str, str] = {}
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in imports:
            for alias in node.names:
                if isinstance(node, ast.Import) and alias.name in _LIBRARIES:
                    self._modules[alias.asname or alias.name] = alias.name
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    package = (node.module or "").partition(".")[0]
                    if package in _LIBRARIES:
                        self._names[alias.asname or alias.name] = (package, alias.name)
        self.metrics = self._metrics_in(tree)
        for node in imports:
            if isinstance(node, ast.ImportFrom) and node.module and self._names:
                self._import_metrics(node, folder)
        functions = Counter(node.name for node in tree.body if isinstance(node, _Function))
        self._redefined = {name for name, count in functions.items() if count > 1}
        self._objects = self._prompt_objects()
        self._prompts = self._metric_prompts()
        self._experiments = {
            node.name: node
            for node in tree.body
            if isinstance(node, _Function) and self._decorator(node, {"experiment"}) is not None
        }

    def findings(self) -> Iterator[Finding]:
        """Yield the wrong uses."""
        if not self._names and not self._modules:
            return
        yield from findings_in_poet_calls(self._tree, self._places, self._meaning, str(self._file or ""))
        yield from findings_in_prompt_classes(self._tree, self._places, self._meaning)
        yield from findings_in_appended_rows(self._tree, self._places, self._meaning)
        yield from findings_in_samples(self._tree, self._places, self._meaning)
        yield from findings_in_rows(self._tree, self._places, self._meaning, self._experiments, self._folder)
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call):
                for check in (self._keywords, self._encoding, self._paths, self._prompt, self._format):
                    yield from check(node)
                for check in (
                    self._constructor,
                    self._kind,
                    self._backend,
                    self._score,
                    self._prompted_score,
                    self._run,
                ):
                    yield from check(node)
            elif isinstance(node, _Function):
                yield from self._in_function(node)
            elif isinstance(node, ast.Expr):
                yield from self._unawaited([node.value])
        known = {name: each.classes for name, each in self.metrics.items()}
        known.update(self._prompted_classes())
        yield from findings_in_results(Results(self._tree, self._places, known, self._experiments))
        for metric in self.metrics.values():
            if metric.function in self._tree.body:
                yield from self._values(metric)
        for experiment in self._experiments.values():
            yield from self._returns(experiment)

    def _returns(self, experiment: _Function) -> Iterator[Finding]:
        """Yield what an experiment returns in place of a mapping."""
        if not any(isinstance(each, ast.Return | ast.Yield | ast.Raise) for each in _own(experiment)):
            message = f"the experiment `{experiment.name}` returns nothing: every row is an error"
            yield Finding(self._name(experiment), message)
        for node in _own(experiment):
            if isinstance(node, ast.Return) and node.value is not None and _is_scalar(node.value):
                message = f"the experiment `{experiment.name}` returns a mapping: other results are dropped"
                yield Finding(self._places.span(node.value), message)

    def _in_function(self, node: _Function) -> Iterator[Finding]:
        defaults = node.args.defaults
        for name, default in zip(
            (node.args.posonlyargs + node.args.args)[::-1], defaults[::-1], strict=False
        ):
            if name.arg in PROMPT_PARAMETERS:
                yield from self._path(default)
        yield from self._bare_decorators(node)
        yield from self._results(node)

    # -- names ------------------------------------------------------------------------

    def _meaning(self, node: ast.expr) -> tuple[str, str]:
        """Return the package and the name that an expression refers to; empty for others."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, ("", ""))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            package = self._modules.get(node.value.id)
            return (package, node.attr) if package else ("", "")
        return "", ""

    def _decorator(self, node: _Function, names: Iterable[str]) -> ast.expr | None:
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._meaning(called)[1] in names:
                return decorator
        return None

    def _metrics_in(self, tree: ast.Module) -> dict[str, _Metric]:
        found = {}
        for node in tree.body:
            decorator = self._decorator(node, METRIC_DECORATORS) if isinstance(node, _Function) else None
            if decorator is not None and isinstance(node, _Function):
                found[node.name] = _Metric(node, self._classes(decorator), self._limits(decorator))
        return found

    def _classes(self, decorator: ast.expr) -> tuple[object, ...] | None:
        made = {"discrete_metric", "DiscreteMetric"}
        if not isinstance(decorator, ast.Call) or self._meaning(decorator.func)[1] not in made:
            return None
        allowed = _keyword(decorator, "allowed_values")
        if isinstance(allowed, ast.List | ast.Tuple) and all(
            isinstance(item, ast.Constant) for item in allowed.elts
        ):
            return tuple(item.value for item in allowed.elts if isinstance(item, ast.Constant))
        return None

    def _limits(self, decorator: ast.expr) -> tuple[float, float] | None:
        if not isinstance(decorator, ast.Call) or self._meaning(decorator.func)[1] != "numeric_metric":
            return None
        match _keyword(decorator, "allowed_values"):
            case ast.Tuple(
                elts=[ast.Constant(value=int() | float() as low), ast.Constant(value=int() | float() as high)]
            ):
                return (low, high) if low <= high else None
        return None

    def _import_metrics(self, node: ast.ImportFrom, folder: Path | None) -> None:
        """Add the metrics that are imported from a file beside this one."""
        if folder is None:
            return
        path = folder / f"{(node.module or '').replace('.', '/')}.py"
        text = text_on_disk(str(path)) if node.level <= 1 else None
        if text is None or "_metric" not in text:
            return
        try:
            metrics = _Library(ast.parse(text), text, None).metrics
        except NOT_PYTHON:
            return
        for alias in node.names:
            if alias.name in metrics:
                self.metrics[alias.asname or alias.name] = metrics[alias.name]

    def _name(self, node: _Function) -> Span:
        at = self._places.text.find(node.name, self._places.span(node).start)
        return Span(at, at + len(node.name))

    # -- calls ------------------------------------------------------------------------

    def _keywords(self, call: ast.Call) -> Iterator[Finding]:
        package, name = self._meaning(call.func)
        known = KEYWORDS.get(name) if package == "promptls" else None
        for keyword in call.keywords if known else ():
            if keyword.arg is not None and known is not None and keyword.arg not in known:
                yield self._unknown(keyword, f"`{name}` has no argument `{keyword.arg}`", known)

    def _constructor(self, call: ast.Call) -> Iterator[Finding]:
        """Yield the arguments that a class does not have or needs."""
        name = self._meaning(call.func)[1]
        given = {keyword.arg: keyword for keyword in call.keywords}
        known = _CONSTRUCTORS.get(name)
        if known is None or None in given or any(isinstance(each, ast.Starred) for each in call.args):
            return
        required, optional = known
        missing = [each for each in required[len(call.args) :] if each not in given]
        for key, keyword in given.items():
            if key is not None and optional is not None and key not in {*required, *optional}:
                yield self._unknown(keyword, f"`{name}` has no argument `{key}`", missing or optional)
                return
        if missing:
            names = ", ".join(f"`{each}`" for each in missing)
            yield Finding(self._places.span(call.func), f"`{name}` needs {names}")

    def _encoding(self, call: ast.Call) -> Iterator[Finding]:
        name = _keyword(call, "encoding") if self._meaning(call.func) == ("promptls", "load") else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            try:
                encoding_name(name.value)
            except UnknownEncodingError as error:
                reason = str(error).partition(". ")[0]
                yield Finding(self._places.span(name), f"{reason[:1].lower()}{reason[1:]}")

    def _paths(self, call: ast.Call) -> Iterator[Finding]:
        for keyword in call.keywords:
            if keyword.arg in PROMPT_PARAMETERS:
                yield from self._path(keyword.value)
        if self._meaning(call.func) == ("promptls", "load") and call.args:
            yield from self._path(call.args[0])

    def _path(self, node: ast.expr) -> Iterator[Finding]:
        """Yield the path of a prompt file that is in no folder around the program, if a similar one is."""
        name = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(name, str) or not name.endswith(ENDINGS) or self._folder is None:
            return
        folders = list(islice((self._folder, *self._folder.parents), _MAX_FOLDERS))
        if Path(name).is_absolute() or any(is_file(folder / name) for folder in folders):
            return
        meant = next(filter(None, (near_file(folder / name, name, ENDINGS) for folder in folders)), None)
        if meant is not None:
            span = self._places.span(node)
            fix = Fix(f"Change to `{meant}`", (Edit(span, f'"{meant}"'),), preferred=True)
            message = f"there is no file `{name}`; did you mean `{meant}`?"
            yield Finding(span, message, (fix,), severity="warning")

    def _prompt(self, call: ast.Call) -> Iterator[Finding]:
        package, called = self._meaning(call.func)
        if called != "Prompt":
            return
        given = {keyword.arg: keyword for keyword in call.keywords}
        if {"raw_template", "template_path"} <= given.keys():
            message = "a prompt has one template: `raw_template` or `template_path`"
            yield Finding(self._places.span(given["template_path"]), message)
        if None in given or call.args or not _is_prompt_object(package, call):
            return
        for name, keyword in given.items():
            if name is not None and name not in _OBJECT_KEYWORDS:
                message = f"`Prompt` ignores the argument `{name}`"
                yield self._unknown(keyword, message, _OBJECT_KEYWORDS - given.keys())
        keys = _texts(_keyword(call, "input_keys"))
        if keys:
            yield from self._braces(_keyword(call, "instruction"), keys)
        yield from self._examples(call)

    def _braces(self, prompt: ast.expr | None, inputs: Iterable[str] | None) -> Iterator[Finding]:
        """Yield the first braces in a literal prompt that are no input; without `inputs`, any name is one."""
        if not isinstance(prompt, ast.Constant) or not isinstance(prompt.value, str):
            return
        span = self._places.span(prompt)
        advice = "so formatting the prompt fails; braces in text are written twice"
        try:
            fields = [field for _, field, _, _ in Formatter().parse(prompt.value) if field is not None]
        except ValueError as error:
            yield Finding(span, f"{str(error).lower()}, {advice}", severity="warning")
            return
        fields = [_FIELD_END.split(field)[0] for field in fields]
        known = fields if inputs is None else inputs
        wrong = next((each for each in fields if each not in known or not each.isidentifier()), None)
        if wrong is None:
            return
        at = self._places.text.find("{" + (wrong or "}"), span.start, span.end)
        place = span if at < 0 else Span(at, at + len(wrong or "}") + 1)
        meant = nearest(wrong, known)
        if meant is not None and at >= 0 and meant != wrong:
            message = f"`{wrong}` is not an input"
            yield Finding.suggest(Span(at + 1, place.end), message, meant, severity="warning")
        else:
            yield Finding(place, f"these braces are read as an input, {advice}", severity="warning")

    def _examples(self, call: ast.Call) -> Iterator[Finding]:
        """Yield the literal examples of a prompt object that lack a literal key, as each of them fails."""
        inputs, output = _keyword(call, "input_keys"), _keyword(call, "output_key")
        if isinstance(inputs, ast.Constant) and isinstance(inputs.value, str):
            span = self._places.span(inputs)
            fix = Fix("Write a list", (Edit(span, f"[{ast.unparse(inputs)}]"),), preferred=True)
            yield Finding(span, "`input_keys` must be a list", (fix,))
        for key in inputs.elts if isinstance(inputs, ast.List) else ():
            span = self._places.span(key)
            joined = _JOINED.search(self._places.text, span.start, span.end)
            if isinstance(key, ast.Constant) and joined is not None:
                place = Span(joined.start() + 1, joined.start() + 1)
                fix = Fix("Insert a comma", (Edit(place, ","),), preferred=True)
                yield Finding(span, f"without a comma, this is one key: `{key.value!s}`", (fix,))
                return
        keys = [*(_texts(inputs) or ()), *(_texts(ast.List([output])) or () if output else ())]
        examples = _keyword(call, "examples")
        for example in examples.elts if isinstance(examples, ast.List) else ():
            if not _is_plain(example):
                continue
            written = _texts(ast.List([key for key in example.keys if key]))
            if written is None:
                continue
            for key in keys:
                if key in written:
                    continue
                meant = nearest(key, [each for each in written if each not in keys])
                if meant is None:
                    yield Finding(self._places.span(example), f"the example has no `{key}`")
                    continue
                wrong = example.keys[written.index(meant)]
                span = self._places.span(wrong) if wrong else self._places.span(example)
                fix = Fix(f"Change to `{key}`", (Edit(span, f'"{key}"'),), preferred=True)
                yield Finding(span, f"the example has no `{key}`, but `{meant}`", (fix,))

    def _format(self, call: ast.Call) -> Iterator[Finding]:
        """Yield the arguments of `format` that are not the input keys of a prompt object in the program."""
        made = (
            call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "format" else None
        )
        keys = self._objects.get(made.id) if isinstance(made, ast.Name) else None
        if keys is None or call.args or any(keyword.arg is None for keyword in call.keywords):
            return
        given = {keyword.arg for keyword in call.keywords}
        missing = [key for key in keys if key not in given]
        unknown = [keyword for keyword in call.keywords if keyword.arg not in keys]
        for keyword in unknown if missing else ():
            yield self._unknown(keyword, f"the prompt has no input `{keyword.arg}`", missing)
        if missing and not unknown:
            names = ", ".join(f"`{each}`" for each in missing)
            yield Finding(self._places.span(call.func), f"the prompt needs {names}")

    def _prompt_objects(self) -> dict[str, list[str]]:
        """Return the literal input keys of the prompt objects in variables that the module binds once."""
        found = {}
        for name, call in self._bound_calls():
            keys = _texts(_keyword(call, "input_keys"))
            package, called = self._meaning(call.func)
            if called == "Prompt" and _is_prompt_object(package, call) and keys:
                found[name] = keys
        changed = {
            node.value.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr == "input_keys"
        }
        return {name: keys for name, keys in found.items() if name not in changed}

    def _kind(self, call: ast.Call) -> Iterator[Finding]:
        package, name = self._meaning(call.func)
        kind = _PROMPTED.get(name, name)
        allowed = _keyword(call, "allowed_values") if kind in METRIC_DECORATORS else None
        if allowed is None:
            return
        span, message = self._places.span(allowed), f"the `allowed_values` of `{name}` are {_WRITTEN[kind]}"
        match allowed:
            case ast.Constant(value=str() as text) if kind != "ranking_metric":
                is_list = kind == "discrete_metric" and "," in text
                values = ", ".join(f'"{each.strip()}"' for each in text.split(","))
                fixes = (Fix("Write a list", (Edit(span, f"[{values}]"),)),) if is_list else ()
                yield Finding(span, f"{message}, and not one text", fixes)
            case ast.Tuple(elts=[ast.Constant(value=low), ast.Constant(value=high)]) if (
                isinstance(low, int | float) and isinstance(high, int | float) and low > high
            ):
                yield Finding(span, f"no score is between {low} and {high}: the first is the minimum")
            case _ if package == "ragas" and isinstance(allowed, _LITERALS[kind]):
                yield Finding(span, f"{message}: with these, Ragas scores nothing")

    def _backend(self, call: ast.Call) -> Iterator[Finding]:
        made = call.func
        if isinstance(made, ast.Attribute) and made.attr in {"load", "stream"}:
            made = made.value
        if self._meaning(made)[1] != "Dataset":
            return
        backend = _keyword(call, "backend") or next(iter(call.args[1:2]), None)
        if not isinstance(backend, ast.Constant) or not isinstance(backend.value, str):
            return
        names = backend_names()
        local = f"local/{backend.value}"
        meant = local if local in names else nearest(backend.value, names)
        if backend.value not in names and meant is not None:
            span = self._places.span(backend)
            fix = Fix(f"Change to `{meant}`", (Edit(span, f'"{meant}"'),), preferred=True)
            message = f"there is no backend `{backend.value}`; did you mean `{meant}`?"
            yield Finding(span, message, (fix,))
        name = _keyword(call, "name") or next(iter(call.args[:1]), None)
        ending = f".{backend.value.removeprefix('local/')}"
        if isinstance(name, ast.Constant) and str(name.value).endswith(ending) and backend.value in BACKENDS:
            end = self._places.span(name).end - 1
            fix = Fix(f"Remove `{ending}`", (Edit(Span(end - len(ending), end), ""),), preferred=True)
            message = f"the backend adds `{ending}` to this name"
            yield Finding(self._places.span(name), message, (fix,), severity="warning")
        has_root = any(keyword.arg in {None, "root_dir"} for keyword in call.keywords)
        if backend.value in BACKENDS and backend.value.startswith("local/") and not has_root:
            yield Finding(self._places.span(backend), f"the backend `{backend.value}` needs a `root_dir`")

    def _score(self, call: ast.Call) -> Iterator[Finding]:
        metric = self._scored(call)
        if metric is None or not isinstance(call.func, ast.Attribute):
            return
        name = ast.unparse(call.func)
        if call.args and not any(isinstance(each, ast.Starred) for each in call.args):
            message = f"`{name}` takes its arguments by name: `{_parameters(metric.function)[0]}=…`"
            yield Finding(self._places.span(call.args[0]), message)
            return
        arguments = metric.function.args
        given = {keyword.arg for keyword in call.keywords}
        if call.args or None in given or arguments.kwarg or arguments.posonlyargs:
            return
        parameters = _parameters(metric.function)
        unknown = [each for each in call.keywords if each.arg not in parameters]
        missing = [each for each in _required(metric.function) if each not in given]
        for keyword in unknown:
            found = self._unknown(keyword, f"the metric takes no `{keyword.arg}`", missing)
            yield found if missing else replace(found, severity="warning")  # it is left out
        if missing and not unknown:
            names = ", ".join(f"`{each}`" for each in missing)
            yield Finding(self._places.span(call.func), f"`{name}` needs {names}")

    def _prompted_score(self, call: ast.Call) -> Iterator[Finding]:
        """Yield the fields of a prompt that a call of `score` lacks, and the braces that are not fields."""
        if self._meaning(call.func)[1] in _PROMPTED:
            yield from self._braces(_keyword(call, "prompt"), None)
        is_score = isinstance(call.func, ast.Attribute) and call.func.attr in {"score", "ascore"}
        made = call.func.value if is_score and isinstance(call.func, ast.Attribute) else None
        fields = self._prompts.get(made.id) if isinstance(made, ast.Name) else None
        if fields is None or call.args or any(keyword.arg is None for keyword in call.keywords):
            return
        given = [keyword.arg for keyword in call.keywords]
        missing = [field for field in fields if field not in given]
        unread = [each for each in call.keywords if each.arg not in {*fields, "llm"}]
        for field in missing:
            meant = nearest(field, [each.arg or "" for each in unread])
            wrong = next((each for each in unread if each.arg == meant), None)
            message = f"the prompt of the metric needs `{field}`"
            if wrong is None:
                yield Finding(self._places.span(call.func), message)
                continue
            span = self._places.span(wrong)
            fix = Fix.change_to(span, field, preferred=True)
            yield Finding(span, f"{message}; this is `{wrong.arg}`", (fix,))

    def _metric_prompts(self) -> dict[str, list[str]]:
        """Return the fields of the literal prompts of metrics in variables that the module binds once."""
        found: dict[str, list[str]] = {}
        for name, call in self._bound_calls():
            prompt = _keyword(call, "prompt")
            is_metric = self._meaning(call.func)[1] in _PROMPTED
            if is_metric and isinstance(prompt, ast.Constant) and isinstance(prompt.value, str):
                try:
                    parsed = [field for _, field, _, _ in Formatter().parse(prompt.value) if field]
                except ValueError:
                    continue
                if all(field.isidentifier() for field in parsed):
                    found[name] = list(dict.fromkeys(parsed))
        return found

    def _prompted_classes(self) -> dict[str, tuple[object, ...] | None]:
        """Return the metrics with a prompt in variables that the module binds once, with their values."""
        return {
            name: self._classes(call)
            for name, call in self._bound_calls()
            if self._meaning(call.func)[1] in _PROMPTED
        }

    def _bound_calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Yield the variables that the module binds once, at its top level, to the result of a call."""
        bound = Counter(
            node.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        )
        bound.update(node.arg for node in ast.walk(self._tree) if isinstance(node, ast.arg))
        for node in self._tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if bound[name] == 1:
                    yield name, call

    def _scored(self, node: ast.expr) -> _Metric | None:
        """Return the metric whose `score` an expression calls."""
        node = node.value if isinstance(node, ast.Await) else node
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="score" | "ascore")):
                return None if name in self._redefined else self.metrics.get(name)
        return None

    def _run(self, call: ast.Call) -> Iterator[Finding]:
        if isinstance(call.func, ast.Name) and call.func.id == "print":
            yield from self._unawaited(call.args)
        experiment = self._run_experiment(call)
        if experiment is None or experiment.args.kwarg:
            return
        parameters = _parameters(experiment)[1:]
        given = {keyword.arg for keyword in call.keywords}
        unknown = [each for each in call.keywords if each.arg not in {None, *parameters, *_RUN_KEYWORDS}]
        for keyword in unknown:
            message = f"the experiment `{experiment.name}` has no parameter `{keyword.arg}`"
            yield self._unknown(keyword, message, parameters)
        if unknown or None in given or any(isinstance(each, ast.Starred) for each in call.args):
            return
        # The first arguments are the dataset, the name of the results and their backend.
        given |= {*parameters[: max(len(call.args) - 3, 0)]}
        missing = [f"`{each}`" for each in _required(experiment)[1:] if each not in given]
        if missing:
            yield Finding(self._places.span(call.func), f"`{experiment.name}` needs {', '.join(missing)}")

    def _run_experiment(self, node: ast.expr) -> _Function | None:
        """Return the experiment whose `arun` an expression calls."""
        function = node.func if isinstance(node, ast.Call) else None
        if not isinstance(function, ast.Attribute) or function.attr != "arun":
            return None
        name = function.value.id if isinstance(function.value, ast.Name) else ""
        return None if name in self._redefined else self._experiments.get(name)

    def _unawaited(self, nodes: Iterable[ast.expr]) -> Iterator[Finding]:
        for node in nodes:
            if isinstance(node, ast.Call) and self._run_experiment(node) is not None:
                message = "nothing runs: `arun` returns a coroutine for `await` or `asyncio.run`"
                yield Finding(self._places.span(node.func), message)

    def _unknown(self, keyword: ast.keyword, message: str, known: Iterable[str]) -> Finding:
        span = self._places.span(keyword)
        meant = nearest(keyword.arg or "", known)
        if meant is None:
            return Finding(span, message)
        return Finding.suggest(span, message, meant, preferred=True)

    # -- functions --------------------------------------------------------------------

    def _bare_decorators(self, node: _Function) -> Iterator[Finding]:
        for decorator in node.decorator_list:
            package, name = self._meaning(decorator)
            if name in METRIC_DECORATORS or (package, name) == ("ragas", "experiment"):
                span = self._places.span(decorator)
                fix = Fix("Add parentheses", (Edit(Span(span.end, span.end), "()"),), preferred=True)
                yield Finding(span, f"`{name}` must be called: `@{ast.unparse(decorator)}()`", (fix,))

    def _results(self, node: _Function) -> Iterator[Finding]:
        """Yield the attributes and keys that the result of a metric does not have."""
        results: set[str] = set()
        others: set[str] = set()
        for each in ast.walk(node):
            if isinstance(each, ast.Assign):
                names = {target.id for target in each.targets if isinstance(target, ast.Name)}
                (results if self._is_result(each.value) else others).update(names)
        for each in ast.walk(node):
            if not isinstance(each, ast.Attribute | ast.Subscript):
                continue
            is_named = isinstance(each.value, ast.Name) and each.value.id in results - others
            if not is_named and not self._is_result(each.value):
                continue
            if isinstance(each, ast.Subscript):
                yield from self._key(each)
            elif not each.attr.startswith("_") and each.attr not in _RESULT_ATTRIBUTES:
                end = self._places.span(each).end
                meant = nearest(each.attr, _RESULT_ATTRIBUTES)
                if meant is not None:
                    span = Span(end - len(each.attr), end)
                    yield Finding.suggest(
                        span, f"the result of a metric has no `{each.attr}`", meant, preferred=True
                    )

    def _key(self, node: ast.Subscript) -> Iterator[Finding]:
        """Yield a key of a result, which is an object and no mapping."""
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(key, str):
            span = self._places.span(node.slice)
            whole = self._places.span(node)
            edit = Edit(Span(self._places.span(node.value).end, whole.end), f".{key}")
            fixes = (Fix(f"Change to `.{key}`", (edit,), preferred=True),) if key in _RESULT_FIELDS else ()
            yield Finding(span, "the result of a metric has attributes, and no keys", fixes)

    def _is_result(self, node: ast.expr) -> bool:
        """Return whether an expression is the result of a metric."""
        node = node.value if isinstance(node, ast.Await) else node
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="score" | "ascore")):
                return self._scored(node) is not None or name in self._prompts
        return False

    def _values(self, metric: _Metric) -> Iterator[Finding]:
        """Yield the literal values that a metric does not allow, and comparisons of a discrete one."""
        if metric.classes is None and metric.limits is None:
            return
        assigned = assigned_in(metric.function)
        for node in _own(metric.function):
            value: ast.expr | None = None
            if isinstance(node, ast.Call) and self._meaning(node.func)[1] == "MetricResult":
                value = _keyword(node, "value") or next(iter(node.args[:1]), None)
            elif isinstance(node, ast.Return):
                value = node.value
            values = assigned.get(value.id, []) if isinstance(value, ast.Name) else [value]
            for branch in (each for value in values for each in _branches(value)):
                if metric.classes is not None:
                    yield from self._value(branch, metric.classes)
                elif metric.limits is not None:
                    yield from self._number(branch, *metric.limits)

    def _number(self, node: ast.expr, low: float, high: float) -> Iterator[Finding]:
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) or (isinstance(value, int | float) and not low <= value <= high):
            message = f"the metric allows {low} to {high}, and not `{value}`: it has no score"
            yield Finding(self._places.span(node), message)

    def _value(self, node: ast.expr, classes: tuple[object, ...]) -> Iterator[Finding]:
        allowed, span = ", ".join(f"`{each}`" for each in classes), self._places.span(node)
        is_test = isinstance(node, ast.Compare) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        )
        if is_test and not {True, False} <= {*classes}:
            fixes: tuple[Fix, ...] = ()
            if len(classes) == len(("good", "bad")):
                written = f"{classes[0]!r} if {ast.unparse(node)} else {classes[1]!r}"
                fixes = (Fix("Choose one of the values", (Edit(span, written.replace("'", '"')),)),)
            yield Finding(span, f"the metric allows {allowed}, and not `True` and `False`", fixes)
        elif isinstance(node, ast.Constant) and node.value is not None and node.value not in classes:
            meant = nearest(str(node.value), map(str, classes))
            edit = Edit(span, f'"{meant}"')
            fixes = (Fix(f"Change to `{meant}`", (edit,), preferred=True),) if meant else ()
            yield Finding(
                span, f"the metric allows {allowed}, and not `{node.value!s}`: it has no score", fixes
            )


def _is_prompt_object(package: str, call: ast.Call) -> bool:
    """Return whether a call makes a prompt object; later releases of Ragas have another class `Prompt`."""
    names = {keyword.arg for keyword in call.keywords}
    return "instruction" in names and (package == "promptls" or bool(names & {"input_keys", "output_key"}))


def _branches(node: ast.expr | None) -> Iterator[ast.expr]:
    """Yield the values of a conditional expression, or the only one."""
    if isinstance(node, ast.IfExp):
        yield from _branches(node.body)
        yield from _branches(node.orelse)
    elif node is not None:
        yield node


def _is_scalar(node: ast.expr) -> bool:
    """Return whether an expression is a text, a number, a truth value or the value of a metric's result."""
    if isinstance(node, ast.Constant):
        return node.value is not None
    is_value = isinstance(node, ast.Attribute) and node.attr in _RESULT_FIELDS
    return is_value or isinstance(node, ast.JoinedStr | ast.Compare)


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _texts(node: ast.expr | None) -> list[str] | None:
    """Return the texts of a list of literal texts; None for other expressions."""
    if not isinstance(node, ast.List):
        return None
    found = [
        each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    return found if len(found) == len(node.elts) else None


def _is_plain(node: ast.expr) -> TypeGuard[ast.Dict]:
    """Return whether a mapping is written without `**`."""
    return isinstance(node, ast.Dict) and all(key is not None for key in node.keys)


def _own(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function, except those of functions in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def _parameters(function: _Function) -> list[str]:
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _required(function: _Function) -> list[str]:
    """Return the names of parameters without a default."""
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    without = placed[: len(placed) - len(arguments.defaults)]
    return [each.arg for each in (*without, *(own for own, default in named if default is None))]
