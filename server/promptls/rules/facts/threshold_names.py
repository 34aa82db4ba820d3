"""Thresholds of an experiment for metrics that it does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.rules.facts.declared_experiments import Objection
from promptls.settings.header import ExperimentKey
from promptls.text.nearest import nearest
from promptls.workspace.python_names import functions_in

_NAME: Final = re.compile(r"\bname\s*=(?!=)\s*(?:([\"'])(\w+)\1)?")
"""Where a decorator gives a metric another name than its function's; the name, where it is written out."""


def wrong_thresholds(declared: ExperimentKey, folder: Path) -> Iterator[tuple[str, Objection]]:
    """The keys of `thresholds` that are no metric of the experiment, whose files count from `folder`.

    None where a metric may have a name that only running its file would tell.
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
    """The name of a metric in results; None where reading its file does not tell."""
    file, colon, attribute = metric.rpartition(":")
    if not colon:
        return metric
    path = folder / file
    try:
        written = [match[2] for match in _NAME.finditer(path.read_text("utf-8"))]
    except (OSError, ValueError):
        return None
    function = next((each for each in functions_in(str(path)) or () if each.name == attribute), None)
    if function is None or not function.signature or not all(written):
        return None
    return function.metric_name or attribute
