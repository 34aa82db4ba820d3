"""The metrics of Ragas as metrics of ours, made of the table."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, Final

from promptls.metrics.judge import EMBEDDER, EMBEDDINGS, JUDGE
from promptls.metrics.metric import Metric
from promptls.metrics.ragas.table import DOCUMENTATION, RAGAS_METRICS, RagasMetric


def _metric(row: RagasMetric) -> Metric:
    return Metric(row.name, "numeric", None, _function(row), lower_is_better=row.lower_is_better)


def _function(row: RagasMetric) -> Callable[..., Any]:
    async def score(**given: Any) -> Any:
        from promptls.metrics.ragas.scoring import scored

        return await scored(row, given)

    function: Any = score
    # `inspect` reads it: the function itself takes whatever it is given.
    function.__signature__ = _signature(row)
    function.__name__ = row.name
    function.__doc__ = row.summary
    return score


def _signature(row: RagasMetric) -> Signature:
    needed = [*row.needs, *([JUDGE] if row.asks else []), *([EMBEDDER] if row.embeds else [])]
    defaults = {**dict.fromkeys(row.may), **row.options, **({EMBEDDINGS: None} if row.embeds else {})}
    return Signature(
        [
            *(Parameter(name, Parameter.KEYWORD_ONLY) for name in needed),
            *(Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in defaults.items()),
        ]
    )


def _page(row: RagasMetric) -> str:
    needs = ", ".join(f"`{name}`" for name in (*row.needs, *row.may))
    options = [*row.options.items(), *([(EMBEDDINGS, None)] if row.embeds else [])]
    lines = [row.summary, ""]
    lines.append(
        f'Scored by `{row.kind}` of the package ragas (`pip install "promptls[ragas]"`), from 0 to 1. '
        f"It reads {needs}; where a column has another name, `columns` says so. "
        "A list may be text in JSON."
    )
    if row.asks:
        lines.append(f"It asks the judge model about {row.calls} times a row.")
    else:
        lines.append("It asks no judge.")
    if row.notes:
        lines.append(row.notes)
    if options:
        lines += ["", "| option | default |", "| --- | --- |"]
        lines += [f"| `{name}` | {'' if value is None else f'`{value}`'} |" for name, value in options]
    lines += ["", f"Source: [Ragas]({DOCUMENTATION})."]
    return "\n".join(lines)


READY_RAGAS_METRICS: Final[dict[str, Metric]] = {row.name: _metric(row) for row in RAGAS_METRICS}
"""By name, in the order of the documentation."""

RAGAS_PAGES: Final[dict[str, str]] = {row.name: _page(row) for row in RAGAS_METRICS}
"""The page of each, in Markdown."""

RAGAS_CALLS: Final[dict[str, int]] = {row.name: row.calls for row in RAGAS_METRICS}
"""About how often each asks the judge about one row."""
