"""promptls: a language server, a command line and a library for prompt templates."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptls.metrics.decorators import discrete_metric, numeric_metric, ranking_metric
    from promptls.metrics.result import MetricResult

__all__ = ["MetricResult", "__version__", "discrete_metric", "numeric_metric", "ranking_metric"]

__version__ = "0.1.0"

_HOME = {
    "MetricResult": "promptls.metrics.result",
    "discrete_metric": "promptls.metrics.decorators",
    "numeric_metric": "promptls.metrics.decorators",
    "ranking_metric": "promptls.metrics.decorators",
}


def __getattr__(name: str) -> Any:
    """The library's names, imported when they are asked for: the server starts without them."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
