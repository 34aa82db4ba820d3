"""promptls: a language server, command-line tool and library for prompt templates."""

# Under `python -m promptls`, a module that is imported here may come from the working folder.
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from promptls.api.evaluating import EvaluationResult, aevaluate, evaluate
    from promptls.api.evaluation import EvaluationPrompt, RenderedEvaluation
    from promptls.api.judge import Judge
    from promptls.api.loading import load
    from promptls.api.model_calls import PromptValue
    from promptls.api.pydantic_prompt import RAGAS_CACHE_HOME, Prompt
    from promptls.api.ragas_samples import EvaluationDataset, MultiTurnSample, SingleTurnSample
    from promptls.api.rendered import PromptError, RenderedPrompt, TokenCounts
    from promptls.api.template import PromptTemplate
    from promptls.datasets.backends import Backend
    from promptls.datasets.dataset import Dataset, DatasetStream
    from promptls.dialects.prompt_poet.prompt_parts import PromptPart, PromptSection
    from promptls.dialects.prompt_poet.vocabulary import Markers
    from promptls.experiments.python.functions import ExperimentResults, experiment
    from promptls.metrics.metric import MetricResult, discrete_metric, numeric_metric, ranking_metric

__all__ = [
    "RAGAS_CACHE_HOME",
    "Backend",
    "Dataset",
    "DatasetStream",
    "EvaluationDataset",
    "EvaluationPrompt",
    "EvaluationResult",
    "ExperimentResults",
    "Judge",
    "Markers",
    "MetricResult",
    "MultiTurnSample",
    "Prompt",
    "PromptError",
    "PromptPart",
    "PromptSection",
    "PromptTemplate",
    "PromptValue",
    "RenderedEvaluation",
    "RenderedPrompt",
    "SingleTurnSample",
    "TokenCounts",
    "__version__",
    "aevaluate",
    "discrete_metric",
    "evaluate",
    "experiment",
    "load",
    "numeric_metric",
    "ranking_metric",
]

__version__ = "0.1.0"

_HOME = {
    "Backend": "promptls.datasets.backends",
    "Dataset": "promptls.datasets.dataset",
    "DatasetStream": "promptls.datasets.dataset",
    "ExperimentResults": "promptls.experiments.python.functions",
    "experiment": "promptls.experiments.python.functions",
    "Markers": "promptls.dialects.prompt_poet.vocabulary",
    "MetricResult": "promptls.metrics.metric",
    "Prompt": "promptls.api.pydantic_prompt",
    "PromptError": "promptls.api.rendered",
    "PromptPart": "promptls.dialects.prompt_poet.prompt_parts",
    "PromptSection": "promptls.dialects.prompt_poet.prompt_parts",
    "PromptTemplate": "promptls.api.template",
    "PromptValue": "promptls.api.model_calls",
    "RAGAS_CACHE_HOME": "promptls.api.pydantic_prompt",
    "EvaluationDataset": "promptls.api.ragas_samples",
    "EvaluationPrompt": "promptls.api.evaluation",
    "EvaluationResult": "promptls.api.evaluating",
    "Judge": "promptls.api.judge",
    "MultiTurnSample": "promptls.api.ragas_samples",
    "SingleTurnSample": "promptls.api.ragas_samples",
    "aevaluate": "promptls.api.evaluating",
    "evaluate": "promptls.api.evaluating",
    "RenderedEvaluation": "promptls.api.evaluation",
    "RenderedPrompt": "promptls.api.rendered",
    "TokenCounts": "promptls.api.rendered",
    "load": "promptls.api.loading",
    "discrete_metric": "promptls.metrics.metric",
    "numeric_metric": "promptls.metrics.metric",
    "ranking_metric": "promptls.metrics.metric",
}


if not TYPE_CHECKING:  # a type checker reports names that it does not see here

    def __getattr__(name: str) -> object:
        """Return the library's names, imported when they are asked for: the server starts without them."""
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
