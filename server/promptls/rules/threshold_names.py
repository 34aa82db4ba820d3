"""Thresholds of an experiment for metrics that it does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.rules.declared_experiments import Objection
from promptls.settings.header import ExperimentKey
from promptls.text.nearest import nearest
from promptls.workspace.python_names import functions_in

_NAME: Final = re.compile(r"\bname\s*=(?!=)\s*(?:([\"'])(\w+)\1)?")
"""Where a decorator gives a metric another name than its function's; the name, where it is written out."""


def wrong_thresholds(declared: ExperimentKey, folder: Path) -> Iterator[tuple[str, Objection]]:
    """The keys of `thresholds` that are no metric of the experiment, whose files count from `folder`.

    None where a metric may have a name that only running its file would tell.
    """
    missing = [name for name in declared.thresholds if name not in declared.metrics]
    metrics: list[str] = []
    for metric in declared.metrics if missing else ():
        names = _names(metric, folder)
        if not names:
            return
        metrics += names
    for name in missing:
        if name not in metrics:
            yield name, Objection(f"the experiment has no metric `{name}`", nearest(name, metrics))


def _names(metric: str, folder: Path) -> list[str]:
    """The names that a metric may have; none where reading its file does not tell."""
    file, colon, attribute = metric.rpartition(":")
    if not colon:
        return [metric]
    path = folder / file
    try:
        written = [match[2] for match in _NAME.finditer(path.read_text("utf-8"))]
    except (OSError, ValueError):
        return []
    functions = functions_in(str(path)) or ()
    is_function = any(each.name == attribute and each.signature for each in functions)
    return [attribute, *written] if is_function and all(written) else []
