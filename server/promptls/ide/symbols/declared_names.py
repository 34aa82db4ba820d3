"""Metrics and models as headers and settings files name them: used, defined, or given a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from promptls.ide.key_facts import bare_span
from promptls.ide.named_values import named_values
from promptls.semantic.template import Template
from promptls.syntax.yaml.nodes import Entry, Mapping, key_text
from promptls.text.positions import Span
from promptls.workspace.settings import PYPROJECT_FILE, SETTINGS_FILE, toml_names
from promptls.workspace.snapshot import Snapshot


class DeclaredName(NamedTuple):
    """The name of a metric or model at `span`, without quotes.

    `role` is `definition` for a key of `metrics` or `models`, `threshold` for one of `thresholds`, whose
    experiment has the metrics `beside`.
    """

    what: Literal["metric", "model"]
    role: Literal["use", "definition", "threshold"]
    name: str
    span: Span
    beside: tuple[str, ...] = ()


def is_settings_file(path: str) -> bool:
    """Return whether a file of this name holds settings of promptls."""
    return Path(path).name in {SETTINGS_FILE, PYPROJECT_FILE}


def settings_files(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the settings files that hold for the prompts of the workspace, sorted."""
    found = {snapshot.project(path).path for path in (*snapshot.graph.paths, *snapshot.open_files)}
    return tuple(sorted(str(path) for path in found if path is not None))


def declared_names(snapshot: Snapshot, path: str) -> Iterator[DeclaredName]:
    """Yield the names in a settings file, or in what a prompt file declares."""
    template = snapshot.template(path)
    if template is None:
        return
    if is_settings_file(path):
        yield from _in_settings(template.source.text, PYPROJECT_FILE in path)
    else:
        yield from _in_header(template)


def _in_header(template: Template) -> Iterator[DeclaredName]:
    for value in named_values(template):
        if value.kind in {"metric", "model"}:
            yield DeclaredName(value.kind, "use", value.name, value.span)
    tree, settings = template.declarations.tree, template.declarations.settings
    for entry in _entries(tree, "metrics"):
        yield from _key(template, entry, "definition")
    experiments = tree.value("experiments") if tree is not None else None
    for name, experiment in (settings.experiments or {}).items():
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


def _in_settings(text: str, is_pyproject: bool) -> Iterator[DeclaredName]:
    root = ("tool", "promptls") if is_pyproject else ()
    names = [
        each._replace(keys=each.keys[len(root) :])
        for each in toml_names(text)
        if each.keys[: len(root)] == root
    ]
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
