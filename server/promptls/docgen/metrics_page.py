"""The page of the documentation generated from the pages of the built-in metrics."""

from __future__ import annotations

import re

from promptls.metrics.builtin_metrics import BUILTIN_METRICS, page_of_metric
from promptls.metrics.grading import JUDGE
from promptls.metrics.loading import asks_for
from promptls.metrics.metric import Metric
from promptls.metrics.ragas_metrics import RAGAS_PAGES

_INTRODUCTION = """\
# Built-in metrics

List them under `metrics` in an experiment.
To set options, define a named metric in the header or in the project's settings:

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

Each parameter reads the column of the same name, or the one set in `columns`.
`response` is the model's answer.
If only one of the columns `expected` and `reference` exists, it serves as both; if neither exists,
the column of the prompt's `output_key` does.

Metrics with a judge ask their `model`, or the project's `judge`. These calls respect rate limits,
are cached, and count toward cost and budget.

To ask a judge in your own function, give it a parameter `judge`
(`await judge.ask(messages, json_schema=…)`) or `embedder` (`await embedder.embed(texts)`).
"""


def metrics_page() -> str:
    """Return every built-in metric with its page, in Markdown."""
    listed = "\n".join(
        f"| [`{name}`](#{name}) | {_kind(metric)} | {'yes' if JUDGE in asks_for(metric) else ''} "
        f"| {_summary(name)} |"
        for name, metric in BUILTIN_METRICS.items()
    )
    own = "\n\n".join(_section(name) for name in BUILTIN_METRICS if name not in RAGAS_PAGES)
    ragas = "\n\n".join(_section(name) for name in RAGAS_PAGES)
    return (
        f"{_INTRODUCTION}\n| metric | kind | asks a judge | measures |\n| --- | --- | --- | --- |\n"
        f"{listed}\n\n# Metrics of promptls\n\n{own}\n\n# Metrics of Ragas\n\n{ragas}\n"
    )


def _kind(metric: Metric) -> str:
    return f"{metric.kind}, less is better" if metric.lower_is_better else metric.kind


def _summary(name: str) -> str:
    """Return the first sentence of the page."""
    first = re.sub(r"\s+", " ", page_of_metric(name).split("\n\n")[0])
    return first.replace("|", "\\|")


def _section(name: str) -> str:
    return f"## {name}\n\n{page_of_metric(name).strip()}"
