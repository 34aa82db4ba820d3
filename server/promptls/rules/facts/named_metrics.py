"""The metrics with options that a file and its project name, and what a metric takes as far as reading tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from promptls.text.nearest import nearest
from promptls.workspace.python_names import functions_in

if TYPE_CHECKING:
    from promptls.rules.rule import FileContext
    from promptls.settings.header import NamedMetric

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


def named_metrics(context: FileContext) -> dict[str, NamedMetric]:
    """The metrics with options that the file may use: its own, then those of its project."""
    own = context.template.declarations.settings.metrics or {}
    return {**context.project.metrics, **own}


def taken_by(use: str, folder: Path) -> Taken | None:
    """What the metric takes; None where reading its file, which counts from `folder`, does not tell."""
    from promptls.metrics.judge import ASKED

    file, colon, attribute = use.rpartition(":")
    if not colon or not file.endswith(".py"):
        from promptls.metrics.loading import metric_parameters
        from promptls.metrics.registry import READY_METRICS

        ready = READY_METRICS.get(use)
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
    """The options, and the keys under `columns`, that the metric does not take."""
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
    """The parameters that a row has to give to the metric, each with the column that is to give it."""
    chosen = named.get(name)
    taken = taken_by(chosen.use if chosen else name, folder)
    for parameter in taken.required if taken else ():
        if chosen is None:
            yield parameter, parameter
        elif parameter not in chosen.options:
            yield parameter, chosen.columns.get(parameter, parameter)


def _without(names: Iterable[str], left_out: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in set(left_out))
