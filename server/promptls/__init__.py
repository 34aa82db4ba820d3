"""promptls: a language server, a command line and a library for prompt templates."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptls.datasets.backends.backend import Backend
    from promptls.datasets.table import Dataset, DatasetStream
    from promptls.experiments.written.decorator import experiment
    from promptls.experiments.written.results import ExperimentResults
    from promptls.library.error import PromptError
    from promptls.library.evaluation import EvaluationPrompt, RenderedEvaluation
    from promptls.library.prompt import RAGAS_CACHE_HOME, Prompt
    from promptls.library.prompt_value import PromptValue
    from promptls.library.rendered import RenderedPrompt, TokenCounts
    from promptls.library.template import PromptTemplate, load
    from promptls.metrics.decorators import discrete_metric, numeric_metric, ranking_metric
    from promptls.metrics.result import MetricResult
    from promptls.systems.prompt_poet.cleanup import Markers
    from promptls.systems.prompt_poet.parts import PromptPart
    from promptls.systems.prompt_poet.sections import PromptSection

__all__ = [
    "RAGAS_CACHE_HOME",
    "Backend",
    "Dataset",
    "DatasetStream",
    "EvaluationPrompt",
    "ExperimentResults",
    "Markers",
    "MetricResult",
    "Prompt",
    "PromptError",
    "PromptPart",
    "PromptSection",
    "PromptTemplate",
    "PromptValue",
    "RenderedEvaluation",
    "RenderedPrompt",
    "TokenCounts",
    "__version__",
    "discrete_metric",
    "experiment",
    "load",
    "numeric_metric",
    "ranking_metric",
]

__version__ = "0.1.0"

_HOME = {
    "Backend": "promptls.datasets.backends.backend",
    "Dataset": "promptls.datasets.table",
    "DatasetStream": "promptls.datasets.table",
    "ExperimentResults": "promptls.experiments.written.results",
    "experiment": "promptls.experiments.written.decorator",
    "Markers": "promptls.systems.prompt_poet.cleanup",
    "MetricResult": "promptls.metrics.result",
    "Prompt": "promptls.library.prompt",
    "PromptError": "promptls.library.error",
    "PromptPart": "promptls.systems.prompt_poet.parts",
    "PromptSection": "promptls.systems.prompt_poet.sections",
    "PromptTemplate": "promptls.library.template",
    "PromptValue": "promptls.library.prompt_value",
    "RAGAS_CACHE_HOME": "promptls.library.prompt",
    "EvaluationPrompt": "promptls.library.evaluation",
    "RenderedEvaluation": "promptls.library.evaluation",
    "RenderedPrompt": "promptls.library.rendered",
    "TokenCounts": "promptls.library.rendered",
    "load": "promptls.library.template",
    "discrete_metric": "promptls.metrics.decorators",
    "numeric_metric": "promptls.metrics.decorators",
    "ranking_metric": "promptls.metrics.decorators",
}


def __getattr__(name: str) -> Any:
    """The library's names, imported when they are asked for: the server starts without them."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
