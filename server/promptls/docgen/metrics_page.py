"""The page of the documentation that is made from the pages of the ready metrics."""

from __future__ import annotations

import re

from promptls.metrics.binding import asks_for
from promptls.metrics.judge import JUDGE
from promptls.metrics.metric import Metric
from promptls.metrics.ragas.registry import RAGAS_PAGES
from promptls.metrics.registry import READY_METRICS, page_of_metric

_INTRODUCTION = """\
# Metrics ready to use

An experiment names them under `metrics`.
A metric with options gets a name of its own, in the header or in the project's settings:

```yaml
metrics:
  polite:
    use: aspect_critic
    definition: Is the response polite to the customer?
    model: openai:gpt-4.1-mini
  right_priority:
    use: json_field_match
    field: priority
    columns: {expected: priority}
experiments:
  main:
    dataset: tickets.csv
    metrics: [polite, right_priority]
```

A parameter is the column of its name, or the one that `columns` says; `response` is the model's answer.
Of the columns `expected` and `reference`, the only one stands for both; where there is none,
the column of the prompt's `output_key` does.
Metrics that ask a judge ask the `model` that stands with them, else the project's `judge`:
what they ask keeps to rate limits, is kept in the cache, and counts for cost and budget.
A function of your own asks one too where it has a parameter `judge`
(`await judge.ask(messages, json_schema=…)`) or `embedder` (`await embedder.embed(texts)`).
"""


def metrics_page() -> str:
    """Every ready metric with its page, in Markdown."""
    listed = "\n".join(
        f"| [`{name}`](#{name}) | {_kind(metric)} | {'yes' if JUDGE in asks_for(metric) else ''} "
        f"| {_summary(name)} |"
        for name, metric in READY_METRICS.items()
    )
    own = "\n\n".join(_section(name) for name in READY_METRICS if name not in RAGAS_PAGES)
    ragas = "\n\n".join(_section(name) for name in RAGAS_PAGES)
    return (
        f"{_INTRODUCTION}\n| metric | kind | asks a judge | what it says |\n| --- | --- | --- | --- |\n"
        f"{listed}\n\n# Metrics of promptls\n\n{own}\n\n# Metrics of Ragas\n\n{ragas}\n"
    )


def _kind(metric: Metric) -> str:
    return f"{metric.kind}, less is better" if metric.lower_is_better else metric.kind


def _summary(name: str) -> str:
    """The first sentence of the page."""
    first = re.sub(r"\s+", " ", page_of_metric(name).split("\n\n")[0])
    return first.replace("|", "\\|")


def _section(name: str) -> str:
    return f"## {name}\n\n{page_of_metric(name).strip()}"
