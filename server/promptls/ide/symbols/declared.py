"""Files, metrics and models that headers and settings files name or define.

A metric is a function in a Python file, or a metric with options that `metrics` of a header or of the
settings names. A model is one that `models` of the settings names.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from os.path import normpath
from pathlib import Path
from typing import Final, Literal, NamedTuple

from promptls.datasets.dataset_files import SUFFIXES
from promptls.ide.key_facts import bare_span
from promptls.ide.symbols.inputs import data_files, prompts_with
from promptls.ide.symbols.python_names import function_places, functions_of
from promptls.ide.symbols.symbol import Occurrence, Symbol, Use
from promptls.semantic.kind import Kind
from promptls.semantic.names.mentions import TemplateReference, template_references
from promptls.semantic.template import Template
from promptls.settings.header import NamedMetric
from promptls.syntax.yaml.nodes import Entry, Mapping, key_text
from promptls.text.positions import Span
from promptls.text.steps import Steps, finish
from promptls.workspace.contract import template_of
from promptls.workspace.python_experiments import experiments_for
from promptls.workspace.settings import is_settings_file, setting_names
from promptls.workspace.snapshot import Snapshot

NamedKind = Literal["samples", "functions", "encoding", "dataset", "model", "metric"]


class NamedValue(NamedTuple):
    """A value that names something, at `span` without quotes."""

    kind: NamedKind
    name: str
    span: Span

    @property
    def file(self) -> str | None:
        """The file name as written; None if the value does not name a file."""
        if self.kind in {"samples", "functions", "dataset"}:
            return self.name
        file, colon, _ = self.name.rpartition(":")
        return file if self.kind == "metric" and colon and file.endswith(".py") else None


def named_values(template: Template) -> Iterator[NamedValue]:
    """Yield the values of the file's declarations that name something, in no particular order."""
    settings = template.declarations.settings
    yield from _named(template, "samples", settings.samples, ("samples",))
    yield from _named(template, "functions", settings.functions, ("functions",))
    yield from _named(template, "encoding", settings.encoding, ("encoding",))
    if template.kind is Kind.EVALUATION:
        rows = template.declarations.data.get("path")
        if isinstance(rows, str) and rows.endswith(SUFFIXES):  # others are folders or hub datasets
            yield from _named(template, "dataset", rows, ("path",))
    for experiment, declared in settings.experiments.items():
        keys = ("experiments", experiment)
        yield from _named(template, "dataset", declared.dataset, (*keys, "dataset"))
        for index, name in enumerate(declared.models):
            yield from _named(template, "model", name, (*keys, "models", index))
        for index, name in enumerate(declared.metrics):
            yield from _named(template, "metric", name, (*keys, "metrics", index))
    for name, metric in settings.metrics.items():
        yield from _named(template, "metric", metric.use, ("metrics", name, "use"))
        yield from _named(template, "model", metric.model, ("metrics", name, "model"))


def named_value_at(template: Template, offset: int) -> NamedValue | None:
    """Return the value at `offset` that names something."""
    tree = template.declarations.tree
    if tree is None or not tree.span.touches(offset):
        return None
    return next((each for each in named_values(template) if each.span.touches(offset)), None)


def file_beside(path: str, name: str) -> str:
    """Return the path of a file named by the prompt file at `path`."""
    return str(Path(path).parent / name)


def named_metric(snapshot: Snapshot, path: str, name: str) -> NamedMetric | None:
    """Return the metric with options that has this name in the file or its project."""
    template = snapshot.template(path)
    own = template.declarations.settings.metrics if template is not None else {}
    return own.get(name) or snapshot.project(path).settings.metrics.get(name)


def metric_file(snapshot: Snapshot, path: str, value: NamedValue) -> tuple[str | None, str]:
    """Return the Python file of a metric, and the name of its function."""
    named = named_metric(snapshot, path, value.name)
    used = value._replace(name=named.use) if named is not None else value
    if used.file is not None:
        return file_beside(path, used.file), used.name.rpartition(":")[2]
    from promptls.metrics.builtin_metrics import BUILTIN_METRICS

    metric = BUILTIN_METRICS.get(used.name)
    return (inspect.getsourcefile(metric.function), metric.function.__name__) if metric else (None, "")


def _named(
    template: Template, kind: NamedKind, name: str | None, keys: tuple[str | int, ...]
) -> Iterator[NamedValue]:
    span = template.declarations.value_span(*keys) if name else None
    if name and span is not None:
        yield NamedValue(kind, name, bare_span(template, span, name) or span)


class DeclaredName(NamedTuple):
    """The name of a metric or model at `span`, without quotes.

    `role` is `definition` for a key of `metrics` or `models`, `threshold` for a key of `thresholds`, whose
    experiment has the metrics `beside`.
    """

    what: Literal["metric", "model"]
    role: Literal["use", "definition", "threshold"]
    name: str
    span: Span
    beside: tuple[str, ...] = ()


def settings_files(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the settings files that apply to the prompts of the workspace, sorted."""
    found = {snapshot.project(path).path for path in snapshot.known_paths}
    return tuple(sorted(str(path) for path in found if path is not None))


def declared_names(snapshot: Snapshot, path: str) -> Iterator[DeclaredName]:
    """Yield the names in a settings file, or in a prompt file's declarations."""
    template = snapshot.template(path)
    if template is None:
        return
    if is_settings_file(path):
        yield from _in_settings(template.source.text, path)
    else:
        for value in named_values(template):
            if value.kind in {"metric", "model"}:
                yield DeclaredName(value.kind, "use", value.name, value.span)
        tree, settings = template.declarations.tree, template.declarations.settings
        for entry in _entries(tree, "metrics"):
            yield from _key(template, entry, "definition")
        experiments = tree.value("experiments") if tree is not None else None
        for name, experiment in settings.experiments.items():
            declared = experiments.value(name) if isinstance(experiments, Mapping) else None
            for entry in _entries(declared, "thresholds"):
                yield from _key(template, entry, "threshold", tuple(experiment.metrics))


def _entries(node: object, key: str) -> tuple[Entry, ...]:
    below = node.value(key) if isinstance(node, Mapping) else None
    return tuple(below.entries) if isinstance(below, Mapping) else ()


def _key(
    template: Template,
    entry: Entry,
    role: Literal["definition", "threshold"],
    beside: tuple[str, ...] = (),
) -> Iterator[DeclaredName]:
    name = key_text(entry)
    span = bare_span(template, entry.key.span, name) if name is not None else None
    if name is not None and span is not None:
        yield DeclaredName("metric", role, name, span, beside)


def _in_settings(text: str, path: str) -> Iterator[DeclaredName]:
    names = list(setting_names(text, path))
    beside: dict[object, list[str]] = {}
    for each in names:
        match each.keys:
            case ("experiments", experiment, "metrics", int()) if not each.is_key:
                beside.setdefault(experiment, []).append(each.text)
    for each in names:
        match (each.is_key, *each.keys):
            case (True, "metrics", _):
                yield DeclaredName("metric", "definition", each.text, each.span)
            case (True, "models", _):
                yield DeclaredName("model", "definition", each.text, each.span)
            case (True, "experiments", experiment, "thresholds", _):
                metrics = tuple(beside.get(experiment, ()))
                yield DeclaredName("metric", "threshold", each.text, each.span, metrics)
            case (False, "metrics", _, "use") | (False, "experiments", _, "metrics", int()):
                yield DeclaredName("metric", "use", each.text, each.span)
            case (
                (False, "default_model" | "judge")
                | (False, "metrics", _, "model")
                | (False, "experiments", _, "models", int())
            ):
                yield DeclaredName("model", "use", each.text, each.span)


class Function(NamedTuple):
    """A function in the Python file `home`."""

    home: str
    name: str


NAMED_KINDS: Final = frozenset({"metric", "named metric", "model"})
"""Kinds of symbols that this module finds."""


def declared_symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the metric or model named at `offset` of a header or settings file."""
    for name in declared_names(snapshot, path):
        if name.span.touches(offset):
            found = _referenced_symbol(snapshot, path, name)
            return found if found is not None and found.span.touches(offset) else None
    return None


def declared_symbol_places(snapshot: Snapshot, symbol: Symbol) -> Iterator[Occurrence | None]:
    """Yield every occurrence of a metric or model; None separates the files."""
    prompts = yield from prompts_with(snapshot, symbol.name)
    for path in (*prompts, *settings_files(snapshot)):
        yield None
        for name in declared_names(snapshot, path) if path != symbol.home or symbol.kind != "metric" else ():
            found = _referenced_symbol(snapshot, path, name)
            if found is not None and _is_same(found, symbol):
                use: Use = "declaration" if name.role == "definition" else "read"
                yield Occurrence(path, found.span, use, "settings" if is_settings_file(path) else "header")
    if symbol.kind == "metric":
        yield from function_places(snapshot, symbol.home, symbol.name)


def is_named_anywhere(snapshot: Snapshot, home: str, name: str) -> Steps[bool]:
    """Return whether a header or settings file names a Python function as a metric."""
    key = ("metrics named", name)
    known: frozenset[str] | None = snapshot.memo.get(key)
    if known is None:
        found: set[str] = set()
        prompts = yield from prompts_with(snapshot, f":{name}")
        for path in (*prompts, *settings_files(snapshot)):
            yield
            for each in declared_names(snapshot, path):
                referenced = _referenced_symbol(snapshot, path, each) if each.what == "metric" else None
                if referenced is not None and referenced.kind == "metric" and referenced.name == name:
                    found.add(referenced.home)
        known = snapshot.memo[key] = frozenset(found)
    return home in known


def function_named(snapshot: Snapshot, path: str, name: str) -> Function | None:
    """Return the function that the file at `path` names as `file.py:function`; None if it does not exist."""
    home = _home_of_function(snapshot, path, name)
    return Function(home, name.rpartition(":")[2]) if home is not None else None


def _is_same(one: Symbol, other: Symbol) -> bool:
    return (one.kind, one.home, one.name) == (other.kind, other.home, other.name)


def _referenced_symbol(snapshot: Snapshot, path: str, named: DeclaredName) -> Symbol | None:
    """Return the symbol that a name in the file at `path` refers to.

    None if it refers to nothing with a name in the workspace.
    """
    if named.what == "model":
        home = _home_of_model(snapshot, path, named.name)
        return Symbol("model", named.name, path, named.span, home) if home is not None else None
    definer = path if named.role == "definition" else _defining_file(snapshot, path, named.name)
    if definer is not None:
        return Symbol("named metric", named.name, path, named.span, definer)
    if named.role == "threshold":
        return _of_threshold(snapshot, path, named)
    function = named.name.rpartition(":")[2]
    home = _home_of_function(snapshot, path, named.name)
    span = Span(named.span.end - len(function), named.span.end)
    return Symbol("metric", function, path, span, home) if home is not None else None


def _of_threshold(snapshot: Snapshot, path: str, named: DeclaredName) -> Symbol | None:
    """Return the function that a threshold applies to: that of the metric with the same name."""
    for metric in named.beside:
        home = _home_of_function(snapshot, path, metric)
        program = snapshot.template(home) if home is not None else None
        function = metric.rpartition(":")[2]
        if home is None or program is None or function != named.name:
            continue
        if functions_of(program.source.text).get(function):
            return Symbol("metric", function, path, named.span, home)
    return None


def _home_of_function(snapshot: Snapshot, path: str, name: str) -> str | None:
    """Return the Python file of a metric that is named as `file.py:function`.

    None if it has no such function.
    """
    file, _, function = name.rpartition(":")
    if not file.endswith(".py"):
        return None
    folders = [str(Path(path).parent)]
    if is_settings_file(path):  # paths are relative to the folders of the prompts that use its metrics
        prompts = sorted(snapshot.graph.paths)
        folders += [str(Path(each).parent) for each in prompts if str(snapshot.project(each).path) == path]
    for folder in dict.fromkeys(folders):
        home = os.path.normpath(Path(folder) / file)
        program = snapshot.template(home)
        if program is not None and function in functions_of(program.source.text):
            return home
    return None


def _defining_file(snapshot: Snapshot, path: str, name: str) -> str | None:
    """Return the file whose `metrics` define the name: the prompt file itself, or its settings file."""
    for file in _files_around(snapshot, path):
        if name in _defined(snapshot, file, "metric"):
            return file
    return None


def _home_of_model(snapshot: Snapshot, path: str, name: str) -> str | None:
    for file in _files_around(snapshot, path):
        if is_settings_file(file) and name in _defined(snapshot, file, "model"):
            return file
    return None


def _files_around(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    if is_settings_file(path):
        return (path,)
    settings = snapshot.project(path).path
    return (path, str(settings)) if settings is not None else (path,)


def _defined(snapshot: Snapshot, path: str, what: str) -> frozenset[str]:
    return frozenset(name for kind, name in snapshot.once(_definitions, path) if kind == what)


def _definitions(snapshot: Snapshot, path: str) -> frozenset[tuple[str, str]]:
    """Return what a header or settings file defines: the kind and the name of each."""
    names = declared_names(snapshot, path)
    return frozenset((each.what, each.name) for each in names if each.role == "definition")


_TEXT: Final = re.compile(r"([\"'])([^\"'\\\n]+)\1")


def reference_at(template: Template, offset: int) -> TemplateReference | None:
    """Return the reference to another template at `offset`; its span is relative to the file's start."""
    located = template.source.located(offset)
    for reference in template_references(located.chunk):
        if reference.span.touches(offset - located.start):
            return reference._replace(span=reference.span.shifted(located.start))
    return None


def name_span(reference: TemplateReference) -> Span:
    """Return the span of the file's name without its quotes; of all names if there are several."""
    return Span(reference.span.start + 1, max(reference.span.end - 1, reference.span.start + 1))


def include_places(snapshot: Snapshot, target: str) -> Iterator[Occurrence]:
    """Yield the includes, imports and `extends` of the workspace that refer to the file at `target`."""
    for path in sorted(snapshot.includers(target)):
        template = snapshot.template(path)
        for reference in template.references if template is not None else ():
            if snapshot.resolve(path, reference) == target:
                yield Occurrence(path, name_span(reference), "read")


def file_places(snapshot: Snapshot, target: str) -> Iterator[Occurrence | None]:
    """Yield the references to the file at `target`; None separates the files.

    These are includes, imports and `extends`, paths of samples, datasets and functions files in headers, and
    string literals in Python that load a template or a dataset.
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
    """A string literal in a Python file that names a file, at `span` without quotes."""

    name: str
    span: Span
    target: str


def files_named_in(snapshot: Snapshot, path: str) -> Iterator[NamedFile]:
    """Yield the templates and datasets that a Python file loads by a literal name.

    The name of a dataset is its file name without extension; the file must be a dataset of a prompt that an
    experiment in the Python file can be run on.
    """
    program = snapshot.template(path)
    text = program.source.text if program is not None else ""
    targets = {call.template: template_of(snapshot, call) for call in snapshot.calls.get(path, ())}
    written = snapshot.written.get(path)
    for stem in written.loaded if written is not None else ():
        found = {
            file
            for prompt in finish(prompts_with(snapshot, stem))
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
