"""One result of a run: what the model answered, and what the metrics say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from promptls.features.hover.hover import code

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary

_MOST_RESPONSE: Final = 400
_MOST_REASON: Final = 200


def result_text(run: RunSummary, cells: Mapping[str, str], experiment: str) -> str:
    """The result in one line of the run's table, in Markdown."""
    stale = ", stale" if run.stale else ""
    model = code(cells.get("model") or "")
    lines = [f"{code(experiment)}, last run {code(run.name)} with {model}{stale}:", ""]
    if cells.get("error"):
        lines.append(f"- failed: {cells['error']}")
    else:
        lines.append(f"- answer: {code(_cut(cells.get('response') or '', _MOST_RESPONSE))}")
    if cells.get("problem"):
        lines.append(f"- {cells['problem']}")
    for metric in run.metrics:
        score, reason = cells.get(metric.name), cells.get(f"{metric.name}_reason")
        if score:
            why = f": {_cut(reason, _MOST_REASON)}" if reason else ""
            lines.append(f"- {metric.name} {code(score)}{why}")
    return "\n".join(lines)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
