# `python -m promptls.docgen` writes this for type checkers: the names are loaded on first use.

from promptls.metrics.collections import AnswerAccuracy as AnswerAccuracy
from promptls.metrics.collections import AnswerCorrectness as AnswerCorrectness
from promptls.metrics.collections import AnswerRelevancy as AnswerRelevancy
from promptls.metrics.collections import ContextRelevance as ContextRelevance
from promptls.metrics.collections import ContextPrecision as ContextPrecision
from promptls.metrics.collections import ContextPrecisionWithoutReference as ContextPrecisionWithoutReference
from promptls.metrics.collections import ContextRecall as ContextRecall
from promptls.metrics.collections import ContextEntityRecall as ContextEntityRecall
from promptls.metrics.collections import Faithfulness as Faithfulness
from promptls.metrics.collections import ResponseGroundedness as ResponseGroundedness
from promptls.metrics.collections import NoiseSensitivity as NoiseSensitivity
from promptls.metrics.collections import FactualCorrectness as FactualCorrectness
from promptls.metrics.collections import SummaryScore as SummaryScore
from promptls.metrics.collections import TopicAdherence as TopicAdherence
from promptls.metrics.collections import ToolCallAccuracy as ToolCallAccuracy
from promptls.metrics.collections import ToolCallF1 as ToolCallF1
from promptls.metrics.collections import SQLSemanticEquivalence as SQLSemanticEquivalence
from promptls.metrics.collections import DataCompyScore as DataCompyScore
from promptls.metrics.collections import ResponseRelevancy as ResponseRelevancy
from promptls.metrics.collections import ContextUtilization as ContextUtilization
from promptls.metrics.collections import ContextPrecisionWithReference as ContextPrecisionWithReference
from promptls.metrics.collections import LLMContextPrecisionWithReference as LLMContextPrecisionWithReference
from promptls.metrics.collections import LLMContextPrecisionWithoutReference as LLMContextPrecisionWithoutReference
from promptls.metrics.collections import LLMContextRecall as LLMContextRecall
from promptls.metrics.collections import TopicAdherenceScore as TopicAdherenceScore
from promptls.metrics.collections import LLMSQLEquivalence as LLMSQLEquivalence
from promptls.metrics.collections import SummarizationScore as SummarizationScore
from promptls.metrics.collections import SimpleCriteriaScore as SimpleCriteriaScore
from promptls.metrics.collections import RubricsScore as RubricsScore
from promptls.metrics.collections import DomainSpecificRubrics as DomainSpecificRubrics
from promptls.metrics.collections import InstanceRubrics as InstanceRubrics
from promptls.metrics.collections import MultiModalFaithfulness as MultiModalFaithfulness
from promptls.metrics.collections import MultiModalRelevance as MultiModalRelevance
from promptls.metrics.collections import InstanceSpecificRubrics as InstanceSpecificRubrics
from promptls.metrics.collections import DiscreteMetric as DiscreteMetric
from promptls.metrics.collections import NumericMetric as NumericMetric
from promptls.metrics.collections import RankingMetric as RankingMetric
from promptls.metrics.collections import AspectCritic as AspectCritic
from promptls.metrics.collections import AgentGoalAccuracy as AgentGoalAccuracy
from promptls.metrics.collections import AgentGoalAccuracyWithReference as AgentGoalAccuracyWithReference
from promptls.metrics.collections import AgentGoalAccuracyWithoutReference as AgentGoalAccuracyWithoutReference
from promptls.metrics.collections import BleuScore as BleuScore
from promptls.metrics.collections import RougeScore as RougeScore
from promptls.metrics.collections import CHRFScore as CHRFScore
from promptls.metrics.collections import ExactMatch as ExactMatch
from promptls.metrics.collections import StringPresence as StringPresence
from promptls.metrics.collections import DistanceMeasure as DistanceMeasure
from promptls.metrics.collections import NonLLMStringSimilarity as NonLLMStringSimilarity
from promptls.metrics.collections import SemanticSimilarity as SemanticSimilarity
from promptls.metrics.collections import ChrfScore as ChrfScore
from promptls.metrics.metric import Metric as Metric
from promptls.metrics.metric import MetricResult as MetricResult
from promptls.metrics.metric import aggregate as aggregate
from promptls.metrics.metric import discrete_metric as discrete_metric
from promptls.metrics.metric import numeric_metric as numeric_metric
from promptls.metrics.metric import ranking_metric as ranking_metric
from typing import Any

OF_METRIC: frozenset[str]

def metric_class(name: str, module: str) -> Any: ...
