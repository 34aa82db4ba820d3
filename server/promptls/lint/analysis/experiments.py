"""The experiments, metrics and thresholds that a file and its project declare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from promptls.lint.rule import Edit, File, Finding, Fix
from promptls.security.files import read_text
from promptls.semantic.template import Template
from promptls.settings.header import ExperimentKey
from promptls.syntax.yaml.nodes import Mapping as MappingNode
from promptls.text.positions import Span
from promptls.text.suggest import is_close, nearest
from promptls.workspace.python_functions import functions_in

if TYPE_CHECKING:
    from promptls.lint.rule import File
    from promptls.settings.header import ExperimentKey, NamedMetric


class DeclaredExperiment(NamedTuple):
    """An experiment: its name, what is declared, and its dataset's absolute path."""

    name: str
    declared: ExperimentKey
    dataset: Path

    def span(self, file: File, *path: str | int) -> Span | None:
        """Return where the value under a key of the experiment stands."""
        return file.template.declarations.value_span("experiments", self.name, *path)


class Objection(NamedTuple):
    """What is wrong with a name in an experiment, and the name that was probably meant, if any."""

    message: str
    meant: str | None = None

    @classmethod
    def near(cls, message: str, name: str, candidates: Iterable[str]) -> Objection:
        """Return what is wrong with `name`; the nearest of the candidates was probably meant."""
        meant = nearest(name, candidates)
        return cls(message, None if meant == name else meant)

    @property
    def text(self) -> str:
        """The message, with a question for what was meant."""
        return self.message if self.meant is None else f"{self.message}; did you mean `{self.meant}`?"

    def finding(self, file: File, span: Span) -> Finding:
        """Return the finding at the name, which offers what was meant."""
        fixes = () if self.meant is None else (_changed_to(file, span, self.meant),)
        return Finding(span, self.text, fixes)


def declared_experiments(file: File) -> Iterator[DeclaredExperiment]:
    """Yield the experiments of the file itself, in order; none that the project declares."""
    for name, declared in (file.template.declarations.settings.experiments or {}).items():
        yield DeclaredExperiment(name, declared, Path(file.path).parent / declared.dataset)


def name_span(template: Template, name: str) -> Span | None:
    """Return where the file declares the experiment: the place of its name."""
    tree = template.declarations.tree
    declared = tree.value("experiments") if tree else None
    entry = declared.entry(name) if isinstance(declared, MappingNode) else None
    return entry.key.span if entry else None


def _changed_to(file: File, span: Span, meant: str) -> Fix:
    """Return the fix that puts another value in the place of one, between the same quotes."""
    written = file.template.source.slice(span)
    quote = written[:1] if written[:1] in {"'", '"'} else ""
    is_sure = is_close(written.strip("'\""), meant)
    return Fix(f"Change to `{meant}`", (Edit(span, f"{quote}{meant}{quote}"),), preferred=is_sure)


_DECORATORS: Final = frozenset({"discrete_metric", "numeric_metric", "ranking_metric"})
"""What may decorate a metric's function without changing what it takes."""


_KEYS: Final = ("columns", "model")
"""What a metric with options may have beside them."""


class Taken(NamedTuple):
    """The parameters of a metric, without the models that it asks; `takes_any` where it takes others too."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    takes_any: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.required, *self.optional)


class WrongOption(NamedTuple):
    """An option that the metric does not take; `below` says whether it stands under `columns`."""

    name: str
    message: str
    meant: str | None
    below: bool


def named_metrics(file: File) -> dict[str, NamedMetric]:
    """Return the metrics with options that the file may use: its own, then those of its project."""
    own = file.template.declarations.settings.metrics or {}
    return {**file.project.metrics, **own}


def taken_by(use: str, folder: Path) -> Taken | None:
    """Return what the metric takes; None if reading its file, which counts from `folder`, does not tell."""
    from promptls.metrics.grading import ASKED

    file, colon, attribute = use.rpartition(":")
    if not colon or not file.endswith(".py"):
        from promptls.metrics.loading import metric_parameters
        from promptls.metrics.registry import BUILTIN_METRICS

        ready = BUILTIN_METRICS.get(use)
        if ready is None:
            return None
        parameters = metric_parameters(ready)
        return Taken(_without(parameters.required, ASKED), _without(parameters.optional, ASKED))
    for function in functions_in(str(folder / file)) or ():
        if function.name == attribute and set(function.decorators) <= _DECORATORS:
            known = [each for each in function.parameters if each.kind in {"any", "keyword"}]
            required = [each.name for each in known if each.is_required]
            optional = [each.name for each in known if not each.is_required]
            takes_any = len(known) < len(function.parameters)
            return Taken(_without(required, ASKED), _without(optional, ASKED), takes_any)
    return None


def wrong_options(metric: NamedMetric, folder: Path) -> Iterator[WrongOption]:
    """Yield the options, and the keys under `columns`, that the metric does not take."""
    taken = taken_by(metric.use, folder)
    if taken is None or taken.takes_any:
        return
    for below, names in ((False, metric.options), (True, metric.columns)):
        for name in names:
            if name not in taken.names and name not in {"judge", "embedder"}:
                meant = nearest(name, taken.names if below else (*taken.names, *_KEYS))
                listed = ", ".join(f"`{each}`" for each in taken.names)
                message = f"`{metric.use}` takes no `{name}`"
                yield WrongOption(name, message if meant else f"{message}: it takes {listed}", meant, below)


def needed_columns(name: str, named: Mapping[str, NamedMetric], folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the parameters that a row has to give to the metric, each with the column that is to give it."""
    chosen = named.get(name)
    taken = taken_by(chosen.use if chosen else name, folder)
    for parameter in taken.required if taken else ():
        if chosen is None:
            yield parameter, parameter
        elif parameter not in chosen.options:
            yield parameter, chosen.columns.get(parameter, parameter)


def _without(names: Iterable[str], left_out: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in set(left_out))


_NAME: Final = re.compile(r"\bname\s*=(?!=)\s*(?:([\"'])(\w+)\1)?")
"""Where a decorator gives a metric another name than its function's; the name, where it is written out."""


def wrong_thresholds(declared: ExperimentKey, folder: Path) -> Iterator[tuple[str, Objection]]:
    """Yield the keys of `thresholds` that are no metric of the experiment, whose files count from `folder`.

    None if a metric may have a name that only running its file would tell.
    """
    ready = {metric for metric in declared.metrics if ":" not in metric}
    missing = [name for name in declared.thresholds if name not in ready]
    names: set[str] = set()
    written: dict[str, str] = {}
    for metric in declared.metrics if missing else ():
        name = _name(metric, folder)
        if name is None:
            return
        names.add(name)
        written |= {metric: name, metric.rpartition(":")[2]: name}
    for name in missing:
        if name not in names:
            meant = written.get(name) or nearest(name, names)
            yield name, Objection(f"the experiment has no metric `{name}`", meant)


def _name(metric: str, folder: Path) -> str | None:
    """Return the name of a metric in results; None if reading its file does not tell."""
    file, colon, attribute = metric.rpartition(":")
    if not colon:
        return metric
    path = folder / file
    try:
        written = [match[2] for match in _NAME.finditer(read_text(path))]
    except (OSError, ValueError):
        return None
    function = next((each for each in functions_in(str(path)) or () if each.name == attribute), None)
    if function is None or not function.signature or not all(written):
        return None
    return function.metric_name or attribute
