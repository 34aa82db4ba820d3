"""The experiments, metrics and thresholds that a file and its project declare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_type_hints

from promptls.lint.rule import Edit, File, Finding, Fix, RelatedInformation
from promptls.security.files import join_path, read_text
from promptls.semantic.template import Template
from promptls.settings.header import ExperimentKey
from promptls.syntax.yaml.nodes import Mapping as MappingNode
from promptls.text.errors import FilePlace
from promptls.text.format import in_code, lower_first
from promptls.text.positions import Span, line_end, line_starts
from promptls.text.suggest import is_close, nearest
from promptls.workspace.python_functions import function_in

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from promptls.settings.header import NamedMetric


class DeclaredExperiment(NamedTuple):
    """An experiment: its name, its declaration, and the absolute path of its dataset."""

    name: str
    declared: ExperimentKey
    dataset: Path

    def span(self, file: File, *path: str | int) -> Span | None:
        """Return the span of the value at a path of keys in the experiment."""
        return file.template.declarations.value_span("experiments", self.name, *path)


class NameProblem(NamedTuple):
    """A problem with a name in an experiment, and the name that was probably meant, if any."""

    message: str
    meant: str | None = None
    is_sure: bool = True
    """Whether this is the wrong one of the two names."""
    related: tuple[RelatedInformation, ...] = ()

    @classmethod
    def near(cls, message: str, name: str, candidates: Iterable[str]) -> NameProblem:
        """Return the problem with `name`, suggesting the most similar candidate."""
        meant = nearest(name, candidates)
        return cls(message, None if meant == name else meant)

    @property
    def text(self) -> str:
        """The message, with the suggestion if there is one."""
        return self.message if self.meant is None else f"{self.message}; did you mean `{self.meant}`?"

    def finding(self, file: File, span: Span) -> Finding:
        """Return a finding at the name, with a fix that inserts the suggestion."""
        if self.meant is None:
            return Finding(span, self.text, related=self.related)
        fix = _changed_to(file, span, self.meant)
        fix = replace(fix, preferred=fix.preferred and self.is_sure)
        return Finding(span, self.text, (fix,), related=self.related)


def place_in_data(path: Path, place: FilePlace | None, message: str) -> RelatedInformation:
    """Return a place in a data file up to the end of its line; the beginning of the file if it is unknown."""
    try:
        text = read_text(path)
    except (OSError, ValueError):
        text = ""
    starts = line_starts(text)
    line = (place.line if place else None) or 0
    start = starts[min(line, len(starts) - 1)]
    end = line_end(text, start)
    column = (place.column if place else None) or 0
    return RelatedInformation(str(path), Span(min(start + column, end), end), message)


def declared_experiments(file: File) -> Iterator[DeclaredExperiment]:
    """Yield the experiments that the file itself declares, in order."""
    for name, declared in file.template.declarations.settings.experiments.items():
        yield DeclaredExperiment(name, declared, join_path(Path(file.path).parent, declared.dataset))


def name_span(template: Template, name: str) -> Span | None:
    """Return the span of the experiment's name in the file's declarations."""
    tree = template.declarations.tree
    declared = tree.value("experiments") if tree else None
    entry = declared.entry(name) if isinstance(declared, MappingNode) else None
    return entry.key.span if entry else None


def _changed_to(file: File, span: Span, meant: str) -> Fix:
    """Return the fix that replaces a value, preserving its quotes."""
    written = file.template.source.slice(span)
    quote = written[:1] if written[:1] in {"'", '"'} else ""
    is_sure = is_close(written.strip("'\""), meant)
    return Fix(f"Change to `{meant}`", (Edit(span, f"{quote}{meant}{quote}"),), preferred=is_sure)


METRIC_DECORATORS: Final = frozenset({"discrete_metric", "numeric_metric", "ranking_metric"})
"""The decorators of a metric's function that do not change its parameters."""


_OTHER_KEYS: Final = ("columns", "model")
"""The keys of a metric that are not options."""


class MetricParameters(NamedTuple):
    """The parameters of a metric, without models that it uses; `takes_any` if it accepts any others too."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    takes_any: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters."""
        return (*self.required, *self.optional)


class WrongOption(NamedTuple):
    """An option that the metric does not accept; `below` is true if it is under `columns`."""

    name: str
    message: str
    meant: str | None
    below: bool


def named_metrics(file: File) -> dict[str, NamedMetric]:
    """Return the metrics with options that the file can use: its own, and those of its project."""
    own = file.template.declarations.settings.metrics
    return {**file.project.metrics, **own}


def taken_by(use: str, folder: Path) -> MetricParameters | None:
    """Return the parameters of a metric; None if unknown. Its file is relative to `folder`."""
    file, colon, attribute = use.rpartition(":")
    if not colon or not file.endswith(".py"):
        from promptls.metrics.builtin_metrics import BUILTIN_METRICS
        from promptls.metrics.metric_loading import metric_parameters

        ready = BUILTIN_METRICS.get(use)
        if ready is None:
            return None
        parameters = metric_parameters(ready)
        return MetricParameters(_without_models(parameters.required), _without_models(parameters.optional))
    function = function_in(folder / file, attribute)
    if function is None or not set(function.decorators) <= METRIC_DECORATORS:
        return None
    known = [each for each in function.parameters if each.kind in {"any", "keyword"}]
    required = [each.name for each in known if each.is_required]
    optional = [each.name for each in known if not each.is_required]
    takes_any = len(known) < len(function.parameters)
    return MetricParameters(_without_models(required), _without_models(optional), takes_any)


def wrong_options(metric: NamedMetric, folder: Path) -> Iterator[WrongOption]:
    """Yield the options, and the keys under `columns`, that the metric does not accept."""
    yield from _wrong_values(metric)
    taken = taken_by(metric.use, folder)
    if taken is None or taken.takes_any:
        return
    for below, names in ((False, metric.options), (True, metric.columns)):
        for name in names:
            if name not in taken.names and name not in {"judge", "embedder"}:
                meant = nearest(name, taken.names if below else (*taken.names, *_OTHER_KEYS))
                listed = in_code(taken.names)
                message = f"`{metric.use}` takes no `{name}`"
                yield WrongOption(name, message if meant else f"{message}: it takes {listed}", meant, below)


def _wrong_values(metric: NamedMetric) -> Iterator[WrongOption]:
    """Yield the options of a built-in metric whose values it does not accept."""
    from pydantic import ValidationError

    for name, value in metric.options.items():
        accepted = _option_type(metric.use, name)
        try:
            if accepted is not None:
                accepted.validate_python(value)
        except ValidationError as failure:
            reason = failure.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            reason = lower_first(reason)
            yield WrongOption(name, f"`{metric.use}` refuses this `{name}`: {reason}", None, below=False)


@lru_cache
def _option_type(use: str, name: str) -> TypeAdapter[Any] | None:
    """Return the type of a parameter of a built-in metric; None if there is no such parameter."""
    from pydantic import TypeAdapter

    from promptls.metrics.builtin_metrics import BUILTIN_METRICS
    from promptls.metrics.grading import MODEL_PARAMETERS

    metric = BUILTIN_METRICS.get(use) if name not in MODEL_PARAMETERS else None
    hints = get_type_hints(metric.function, include_extras=True) if metric is not None else {}
    return TypeAdapter(hints[name]) if name in hints else None


def needed_columns(name: str, named: Mapping[str, NamedMetric], folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the parameters that a metric takes from a row, each with the name of the column."""
    chosen = named.get(name)
    taken = taken_by(chosen.use if chosen else name, folder)
    for parameter in taken.required if taken else ():
        if chosen is None:
            yield parameter, parameter
        elif parameter not in chosen.options:
            yield parameter, chosen.columns.get(parameter, parameter)


def _without_models(names: Iterable[str]) -> tuple[str, ...]:
    from promptls.metrics.grading import MODEL_PARAMETERS

    return tuple(name for name in names if name not in MODEL_PARAMETERS)


_NAME: Final = re.compile(r"\bname\s*=(?!=)\s*(?:([\"'])(\w+)\1)?")
"""The `name` argument of a decorator that renames a metric, with the name if it is a literal."""


def wrong_thresholds(
    declared: ExperimentKey, folder: Path, named: Mapping[str, NamedMetric]
) -> Iterator[tuple[str, NameProblem]]:
    """Yield the keys of `thresholds` that are not metrics of the experiment, or that no score can reach.

    Files are relative to `folder`, and `named` are the metrics with options. Unknown names are not reported if a metric may have a name that is only
    known after running its file.
    """
    yield from _unreachable_thresholds(declared, folder, named)
    ready = {metric for metric in declared.metrics if ":" not in metric}
    missing = [name for name in declared.thresholds if name not in ready]
    names: set[str] = set()
    renamed: dict[str, str] = {}
    for metric in declared.metrics if missing else ():
        name = _name(metric, folder)
        if name is None:
            return
        names.add(name)
        renamed |= {metric: name, metric.rpartition(":")[2]: name}
    for name in missing:
        if name not in names:
            meant = renamed.get(name) or nearest(name, names)
            yield name, NameProblem(f"the experiment has no metric `{name}`", meant)


def _unreachable_thresholds(
    declared: ExperimentKey, folder: Path, named: Mapping[str, NamedMetric]
) -> Iterator[tuple[str, NameProblem]]:
    for name, threshold in declared.thresholds.items():
        limits = next(
            (
                _limits(named[metric].use if metric in named else metric, folder)
                for metric in declared.metrics
                if name in {metric, metric.rpartition(":")[2]}
            ),
            None,
        )
        if limits is not None and not limits[0] <= threshold <= limits[1]:
            message = (
                f"`{name}` is between {limits[0]:g} and {limits[1]:g}, and the threshold is {threshold:g}"
            )
            yield name, NameProblem(message)


def _limits(metric: str, folder: Path) -> tuple[float, float] | None:
    """Return the lowest and the highest score of a metric, if they are known without running its file."""
    from promptls.metrics.builtin_metrics import BUILTIN_METRICS

    file, colon, attribute = metric.rpartition(":")
    if colon:
        found = function_in(folder / file, attribute)
        return (0, 1) if found is not None and "discrete_metric" in found.decorators else None
    builtin = BUILTIN_METRICS.get(metric)
    if builtin is None or builtin.kind == "ranking":
        return None
    if builtin.kind == "numeric":
        limits = builtin.allowed_values
        return (limits[0], limits[1]) if isinstance(limits, tuple) else None
    return (0, 1)


def _name(metric: str, folder: Path) -> str | None:
    """Return the name of a metric in results; None if it cannot be determined from its file."""
    file, colon, attribute = metric.rpartition(":")
    if not colon:
        return metric
    path = folder / file
    try:
        names = [match[2] for match in _NAME.finditer(read_text(path))]
    except (OSError, ValueError):
        return None
    function = function_in(path, attribute)
    if function is None or not function.signature or not all(names):
        return None
    return function.metric_name or attribute
