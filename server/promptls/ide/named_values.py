"""What the values of a file's declarations name: files, metrics, models, encodings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from promptls.datasets.files import SUFFIXES
from promptls.ide.key_facts import bare_span
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.settings.header import NamedMetric

NamedKind = Literal["samples", "functions", "encoding", "dataset", "model", "metric"]


class NamedValue(NamedTuple):
    """A value that names something, at `span` without quotes; `experiment` is the one that it belongs to."""

    kind: NamedKind
    name: str
    span: Span
    experiment: str = ""

    @property
    def file(self) -> str | None:
        """The file that is named, as it is written; None if the value names none."""
        if self.kind in {"samples", "functions", "dataset"}:
            return self.name
        file, colon, _ = self.name.rpartition(":")
        return file if self.kind == "metric" and colon and file.endswith(".py") else None


def named_values(template: Template) -> Iterator[NamedValue]:
    """Yield the values of the file's declarations that name something, in no order."""
    settings = template.declarations.settings
    for kind, name in (
        ("samples", settings.samples),
        ("functions", settings.functions),
        ("encoding", settings.encoding),
    ):
        yield from _named(template, kind, name, (kind,))  # type: ignore[arg-type]  # the kinds stand above
    if template.kind is Kind.EVALUATION:
        rows = template.declarations.data.get("path")
        if isinstance(rows, str) and rows.endswith(SUFFIXES):  # any other name is a folder, or in a hub
            yield from _named(template, "dataset", rows, ("path",))
    for experiment, declared in (settings.experiments or {}).items():
        keys = ("experiments", experiment)
        yield from _named(template, "dataset", declared.dataset, (*keys, "dataset"), experiment)
        for index, name in enumerate(declared.models):
            yield from _named(template, "model", name, (*keys, "models", index), experiment)
        for index, name in enumerate(declared.metrics):
            yield from _named(template, "metric", name, (*keys, "metrics", index), experiment)
    for name, metric in (settings.metrics or {}).items():
        yield from _named(template, "metric", metric.use, ("metrics", name, "use"))
        yield from _named(template, "model", metric.model, ("metrics", name, "model"))


def named_value_at(template: Template, offset: int) -> NamedValue | None:
    """Return the value at `offset` that names something."""
    tree = template.declarations.tree
    if tree is None or not tree.span.contains(offset):
        return None
    return next((each for each in named_values(template) if each.span.contains(offset)), None)


def file_beside(path: str, name: str) -> str:
    """Return the path of a file that the prompt file at `path` names."""
    return str(Path(path).parent / name)


def named_metric(snapshot: Snapshot, path: str, name: str) -> NamedMetric | None:
    """Return the metric with options that the file, or its project, gives this name."""
    template = snapshot.template(path)
    own = template.declarations.settings.metrics if template is not None else None
    return (own or {}).get(name) or snapshot.project(path).settings.metrics.get(name)


def metric_file(snapshot: Snapshot, path: str, value: NamedValue) -> tuple[str | None, str]:
    """Return the Python file of a metric, and the name of its function there."""
    named = named_metric(snapshot, path, value.name)
    used = value._replace(name=named.use) if named is not None else value
    if used.file is not None:
        return file_beside(path, used.file), used.name.rpartition(":")[2]
    from promptls.metrics.registry import BUILTIN_METRICS

    metric = BUILTIN_METRICS.get(used.name)
    return (inspect.getsourcefile(metric.function), metric.function.__name__) if metric else (None, "")


def _named(
    template: Template, kind: NamedKind, name: str | None, keys: tuple[str | int, ...], experiment: str = ""
) -> Iterator[NamedValue]:
    span = template.declarations.value_span(*keys) if name else None
    if name and span is not None:
        yield NamedValue(kind, name, bare_span(template, span, name) or span, experiment)
