# `python -m promptls.docgen` writes this for type checkers: the names are loaded on first use.

from promptls.api.metric_objects import DiscreteMetric as DiscreteMetric
from promptls.api.metric_objects import NumericMetric as NumericMetric
from promptls.api.metric_objects import RankingMetric as RankingMetric
from promptls.api.metric_objects import AspectCritic as AspectCritic
from promptls.api.metric_objects import AgentGoalAccuracy as AgentGoalAccuracy
from promptls.api.metric_objects import AgentGoalAccuracyWithReference as AgentGoalAccuracyWithReference
from promptls.api.metric_objects import AgentGoalAccuracyWithoutReference as AgentGoalAccuracyWithoutReference
from promptls.api.metric_objects import BleuScore as BleuScore
from promptls.api.metric_objects import RougeScore as RougeScore
from promptls.api.metric_objects import CHRFScore as CHRFScore
from promptls.api.metric_objects import ExactMatch as ExactMatch
from promptls.api.metric_objects import StringPresence as StringPresence
from promptls.api.metric_objects import DistanceMeasure as DistanceMeasure
from promptls.api.metric_objects import NonLLMStringSimilarity as NonLLMStringSimilarity
from promptls.api.metric_objects import SemanticSimilarity as SemanticSimilarity
from promptls.api.metric_objects import ReadyMetric

class AnswerAccuracy(ReadyMetric):
    """Agreement of the response with the reference answer."""

class AnswerCorrectness(ReadyMetric):
    """Correctness of the response: facts shared with the reference, and similarity in meaning."""

class AnswerRelevancy(ReadyMetric):
    """Relevance of the response: compares the question with questions that the response would answer."""

class ContextRelevance(ReadyMetric):
    """Relevance of the retrieved contexts to the question."""

class ContextPrecision(ReadyMetric):
    """Whether retrieved contexts that support the reference answer are ranked first."""

class ContextPrecisionWithoutReference(ReadyMetric):
    """Whether retrieved contexts that support the response are ranked first."""

class ContextRecall(ReadyMetric):
    """Share of the reference answer that the retrieved contexts support."""

class ContextEntityRecall(ReadyMetric):
    """Share of the reference's entities that occur in the retrieved contexts."""

class Faithfulness(ReadyMetric):
    """Share of the response's claims that follow from the retrieved contexts."""

class ResponseGroundedness(ReadyMetric):
    """Degree to which the retrieved contexts support the response."""

class NoiseSensitivity(ReadyMetric):
    """Share of the response's claims that are wrong because of retrieved contexts; less is better."""

class FactualCorrectness(ReadyMetric):
    """Overlap of the claims of the response and the reference."""

class SummaryScore(ReadyMetric):
    """Quality of a summary of the contexts: questions about them that it answers, and its length."""

class TopicAdherence(ReadyMetric):
    """Whether the agent keeps to its topics."""

class ToolCallAccuracy(ReadyMetric):
    """Whether the agent calls the tools of the reference, with the same arguments and in the same order."""

class ToolCallF1(ReadyMetric):
    """F1 of the agent's tool calls compared with those of the reference."""

class SQLSemanticEquivalence(ReadyMetric):
    """Whether the SQL queries of the response and the reference return the same rows."""

class DataCompyScore(ReadyMetric):
    """Overlap of the CSV tables of the response and the reference."""

class ResponseRelevancy(ReadyMetric):
    """Relevance of the response: compares the question with questions that the response would answer."""

class ContextUtilization(ReadyMetric):
    """Whether retrieved contexts that support the response are ranked first."""

class ContextPrecisionWithReference(ReadyMetric):
    """Whether retrieved contexts that support the reference answer are ranked first."""

class LLMContextPrecisionWithReference(ReadyMetric):
    """Whether retrieved contexts that support the reference answer are ranked first."""

class LLMContextPrecisionWithoutReference(ReadyMetric):
    """Whether retrieved contexts that support the response are ranked first."""

class LLMContextRecall(ReadyMetric):
    """Share of the reference answer that the retrieved contexts support."""

class TopicAdherenceScore(ReadyMetric):
    """Whether the agent keeps to its topics."""

class LLMSQLEquivalence(ReadyMetric):
    """Whether the SQL queries of the response and the reference return the same rows."""

class SummarizationScore(ReadyMetric):
    """Quality of a summary of the contexts: questions about them that it answers, and its length."""

class SimpleCriteriaScore(ReadyMetric):
    """Let a judge grade the response by one criterion, from 1 to 5."""

class RubricsScore(ReadyMetric):
    """Let a judge grade the response by rubrics that define each grade."""

class DomainSpecificRubrics(ReadyMetric):
    """Let a judge grade the response by rubrics that define each grade."""

class InstanceRubrics(ReadyMetric):
    """Let a judge grade the response by the row's own rubrics."""

class MultiModalFaithfulness(ReadyMetric):
    """Check whether texts and images of the retrieved contexts support the response."""

class MultiModalRelevance(ReadyMetric):
    """Check whether the response answers the question in line with texts and images of the contexts."""

class InstanceSpecificRubrics(ReadyMetric):
    """Let a judge grade the response by the row's own rubrics."""

ChrfScore = CHRFScore

